// Requests and answers as handlers see them: no socket and no parser.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/result.h"
#include "exchange/problem.h"

namespace zkapex {

struct HttpRequest {
  std::string method;                          // "GET"
  std::string route;                           // the pattern that it matched: "/v1/uploads/{}"
  std::vector<std::string> parameters;         // what stands for each {} and the *, decoded
  std::map<std::string, std::string> query;    // decoded; of a name that comes twice the first
  std::map<std::string, std::string> headers;  // names in lower case; of several the last
  std::optional<uint64_t> content_length;
  std::string body;  // empty for routes that receive it piece by piece

  [[nodiscard]] std::string_view header(const std::string& lower_case) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<const FileReader> file;  // sent in place of `body`
  bool close = false;                      // the connection ends with it
};

[[nodiscard]] HttpResponse problem(ProblemKind kind, std::string detail);
// "Not Found"; of a status that is not used here "Status".
[[nodiscard]] std::string_view status_phrase(unsigned status);

// Status line and fields, with the empty line; `common` are fields of all answers.
[[nodiscard]] std::string response_head(const HttpResponse& response, uint64_t length,
                                        const std::vector<std::pair<std::string, std::string>>& common,
                                        bool keep_alive);

// `response`, or 304 where the request says that it has it. `etag` without quotes.
[[nodiscard]] HttpResponse with_etag(const HttpRequest& request, std::string_view etag, HttpResponse response);

// Text of a form or a query: %XX and + decoded; an error where it is not valid UTF-8 or has control characters.
[[nodiscard]] Result<std::string> decode_percent(std::string_view text, bool plus_is_space);
// a=b&c=d
[[nodiscard]] Result<std::map<std::string, std::string>> parse_form(std::string_view text);

// A body that is taken piece by piece, in order. Destroyed without `finish` it leaves nothing behind.
class Reception {
 public:
  virtual ~Reception() = default;
  // False where no more can be taken: the answer of `finish` then says why.
  [[nodiscard]] virtual bool write(ByteView piece) = 0;
  [[nodiscard]] virtual HttpResponse finish() = 0;
};

}  // namespace zkapex
