#include "agent/provider_link.h"

#include <algorithm>

#include "base/names.h"
#include "exchange/answers.h"
#include "exchange/paths.h"

namespace zkapex {

namespace {

bool is_success(int status) { return (status >= 200 && status < 300) || status == 304; }

}  // namespace

Error as_error(const Problem& problem) {
  return error("the provider refuses ({}): {}", name(problem.kind),
               problem.detail.empty() ? std::string(title(problem.kind)) : in_quotes(problem.detail));
}

Result<Reply> ProviderLink::send(const WebRequest& request) {
  ZKAPEX_TRY(WebAnswer answer, web_->send(request));
  Reply reply{answer.status, std::move(answer.etag), std::move(answer.body)};
  if (is_success(reply.status)) return reply;
  const Result<Problem> problem = Problem::decode(reply.text());
  if (!problem || status(problem->kind) != reply.status)
    return error("{} answers with status {}", request.url, reply.status);
  if (worth_retrying(problem->kind)) return as_error(*problem);
  reply.refusal = *problem;
  return reply;
}

Result<Reply> ProviderLink::get(std::string_view path, size_t max_answer, const std::string& etag) {
  return send(
      {.url = address_ + std::string(path), .etag = etag, .max_answer = std::max(max_answer, Problem::kMaxBytes)});
}

Result<Reply> ProviderLink::post_json(std::string_view path, const std::string& json) {
  return send({.method = WebMethod::kPost,
               .url = address_ + std::string(path),
               .type = std::string(paths::kJson),
               .body = Bytes(json.begin(), json.end()),
               .max_answer = kMaxEntryBytes + Problem::kMaxBytes});
}

Result<Reply> ProviderLink::put_file(std::string_view path, Bytes file) {
  return send({.method = WebMethod::kPut,
               .url = address_ + std::string(path),
               .type = std::string(paths::kBinary),
               .body = std::move(file),
               .max_answer = kMaxEntryBytes + Problem::kMaxBytes});
}

}  // namespace zkapex
