#include "service/http_message.h"

#include "base/names.h"
#include "exchange/paths.h"

namespace zkapex {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view HttpRequest::header(const std::string& lower_case) const {
  const auto found = headers.find(lower_case);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view status_phrase(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

HttpResponse problem(ProblemKind kind, std::string detail) {
  HttpResponse response;
  response.status = static_cast<unsigned>(status(kind));
  response.type = paths::kProblem;
  response.body = Problem{kind, std::move(detail)}.encode() + "\n";
  response.headers.emplace_back("Cache-Control", "no-store");
  if (worth_retrying(kind)) response.headers.emplace_back("Retry-After", "5");
  return response;
}

std::string response_head(const HttpResponse& response, uint64_t length,
                          const std::vector<std::pair<std::string, std::string>>& common, bool keep_alive) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, status_phrase(response.status));
  for (const auto* fields : {&common, &response.headers}) {
    for (const auto& [name, value] : *fields) out += fmt::format("{}: {}\r\n", name, value);
  }
  if (response.status != 304 && response.status != 204)
    out += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", response.type, length);
  if (!keep_alive) out += "Connection: close\r\n";
  return out + "\r\n";
}

HttpResponse with_etag(const HttpRequest& request, std::string_view etag, HttpResponse response) {
  const std::string quoted = fmt::format("\"{}\"", etag);
  const std::string_view held = request.header("if-none-match");
  if (held == "*" || held.find(quoted) != std::string_view::npos) {
    response.status = 304;
    response.body.clear();
    response.file.reset();
  }
  response.headers.emplace_back("ETag", quoted);
  return response;
}

Result<std::string> decode_percent(std::string_view text, bool plus_is_space) {
  if (text.size() > 3 * kMaxName) return error("a part of the address is longer than {} bytes", kMaxName);
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '+' && plus_is_space) {
      out.push_back(' ');
    } else if (text[k] != '%') {
      out.push_back(text[k]);
    } else {
      const int high = k + 1 < text.size() ? hex_digit(text[k + 1]) : -1;
      const int low = k + 2 < text.size() ? hex_digit(text[k + 2]) : -1;
      if (high < 0 || low < 0) return error("a % is not followed by two hexadecimal digits");
      out.push_back(static_cast<char>(high * 16 + low));
      k += 2;
    }
  }
  // What is decoded are names and numbers; what is no name is nothing.
  if (!out.empty()) {
    ZKAPEX_CHECK(check_name(out, "a part of the address"));
  }
  return out;
}

Result<std::map<std::string, std::string>> parse_form(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), field.size() + 1));
    const size_t equals = field.find('=');
    ZKAPEX_TRY(std::string name, decode_percent(field.substr(0, equals), true));
    ZKAPEX_TRY(std::string value,
               decode_percent(equals == field.npos ? std::string_view() : field.substr(equals + 1), true));
    if (!name.empty()) out.emplace(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace zkapex
