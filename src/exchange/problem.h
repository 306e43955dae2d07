// Why a request was refused: RFC 9457 problem+json with a reason that programs can tell apart.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

enum class ProblemKind {
  kMalformed,      // 400: not understood
  kSignature,      // 403: not signed by who it has to be signed by
  kCode,           // 403: the enrolment code is unknown, used or expired
  kClient,         // 403: no such client is enrolled
  kNotFound,       // 404: there is nothing of that name
  kMethod,         // 405: not to be done with this resource
  kTimeout,        // 408: it took too long
  kTaken,          // 409: the name or the key belongs to another client
  kRegistered,     // 409: the client has another registration
  kRegistration,   // 409: the client has no such registration
  kWindowOpen,     // 409: a window is open that this registration or update may not join
  kNotOpen,        // 409: the window does not open until later
  kDeadline,       // 409: the window's deadline has passed
  kModel,          // 409: starts from another model than the client's current one
  kPending,        // 409: something else of this client waits for its verdict
  kStale,          // 409: the checkpoint that the client saw is not one of this log
  kState,          // 409: what the client carries for the provider has to come first
  kLengthMissing,  // 411: no Content-Length
  kTooLarge,       // 413: longer than anything that is expected here
  kEncoding,       // 415: chunked, compressed or of another type
  kLength,         // 422: not as long as was announced
  kDigest,         // 422: not the file that was announced
  kTooMany,        // 429: slow down
  kInternal,       // 500: the provider's trouble
  kBusy,           // 503: later
};

[[nodiscard]] std::string_view name(ProblemKind kind);   // "malformed"
[[nodiscard]] int status(ProblemKind kind);              // of HTTP
[[nodiscard]] std::string_view title(ProblemKind kind);  // one sentence, always the same
// Whether the same request may be answered otherwise later.
[[nodiscard]] bool worth_retrying(ProblemKind kind);

struct Problem {
  static constexpr size_t kMaxBytes = 16'384;

  ProblemKind kind = ProblemKind::kInternal;
  std::string detail;

  // {"type": "urn:zkapex:problem:malformed", "title": …, "status": 400, "detail": …}
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<Problem> decode(std::string_view json);
};

}  // namespace zkapex
