// The provider's HTTP interface, as exchange/paths.h has it.
#pragma once

#include <optional>

#include "agent/web_client.h"
#include "exchange/problem.h"

namespace zkapex {

struct Reply {
  int status = 0;
  std::string etag = {};
  Bytes body = {};
  std::optional<Problem> refusal = std::nullopt;  // the same request would be refused again

  [[nodiscard]] bool unchanged() const { return status == 304; }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(body.data()), body.size()}; }
};

class ProviderLink {
 public:
  ProviderLink(WebClient& web, std::string address) : web_(&web), address_(std::move(address)) {}

  // Errors may pass by themselves: nobody there, too busy, an answer that is none. A redirection is one of them.
  [[nodiscard]] Result<Reply> get(std::string_view path, size_t max_answer, const std::string& etag = {});
  [[nodiscard]] Result<Reply> post_json(std::string_view path, const std::string& json);
  [[nodiscard]] Result<Reply> put_file(std::string_view path, Bytes file);

 private:
  [[nodiscard]] Result<Reply> send(const WebRequest& request);

  WebClient* web_;
  std::string address_;
};

// The refusal as an error, for where it is the end of it.
[[nodiscard]] Error as_error(const Problem& problem);

}  // namespace zkapex
