#include "exchange/problem.h"

#include <algorithm>
#include <array>

#include "log/strict_json.h"

namespace zkapex {

namespace {

constexpr std::string_view kTypePrefix = "urn:zkapex:problem:";

struct ProblemEntry {
  ProblemKind kind;
  std::string_view name;
  int status;
  std::string_view title;
};

constexpr std::array kProblems = {
    ProblemEntry{ProblemKind::kMalformed, "malformed", 400, "The request is not understood."},
    ProblemEntry{ProblemKind::kSignature, "signature", 403, "The signature is not of whom it has to be."},
    ProblemEntry{ProblemKind::kCode, "code", 403, "The enrolment code is unknown, used or expired."},
    ProblemEntry{ProblemKind::kClient, "client", 403, "No such client is enrolled."},
    ProblemEntry{ProblemKind::kNotFound, "not-found", 404, "There is nothing of that name."},
    ProblemEntry{ProblemKind::kMethod, "method", 405, "This cannot be done with this resource."},
    ProblemEntry{ProblemKind::kTimeout, "timeout", 408, "The request took too long."},
    ProblemEntry{ProblemKind::kTaken, "taken", 409, "The name or the key belongs to another client."},
    ProblemEntry{ProblemKind::kRegistered, "registered", 409, "The client has another registration."},
    ProblemEntry{ProblemKind::kRegistration, "registration", 409, "The client has no such registration."},
    ProblemEntry{ProblemKind::kWindowOpen, "window-open", 409, "A window is open that this may not join."},
    ProblemEntry{ProblemKind::kNotOpen, "not-open", 409, "The window is not open yet."},
    ProblemEntry{ProblemKind::kDeadline, "deadline", 409, "The window's deadline has passed."},
    ProblemEntry{ProblemKind::kModel, "model", 409, "It starts from another model than the client's current one."},
    ProblemEntry{ProblemKind::kPending, "pending", 409, "Something else of this client waits for its verdict."},
    ProblemEntry{ProblemKind::kStale, "stale", 409, "The checkpoint that the client saw is not one of this log."},
    ProblemEntry{ProblemKind::kState, "state", 409, "What the client keeps for the provider has to come first."},
    ProblemEntry{ProblemKind::kLengthMissing, "length-missing", 411, "The request has no Content-Length."},
    ProblemEntry{ProblemKind::kTooLarge, "too-large", 413, "The body is longer than anything that is expected here."},
    ProblemEntry{ProblemKind::kEncoding, "encoding", 415, "The body is chunked, compressed or of another type."},
    ProblemEntry{ProblemKind::kLength, "length", 422, "The body is not as long as was announced."},
    ProblemEntry{ProblemKind::kDigest, "digest", 422, "The body is not the file that was announced."},
    ProblemEntry{ProblemKind::kTooMany, "too-many", 429, "There are too many requests."},
    ProblemEntry{ProblemKind::kInternal, "internal", 500, "The provider has a problem of its own."},
    ProblemEntry{ProblemKind::kBusy, "busy", 503, "The provider cannot answer now."},
};

const ProblemEntry& entry_of(ProblemKind kind) {
  return *std::find_if(kProblems.begin(), kProblems.end(), [&](const ProblemEntry& e) { return e.kind == kind; });
}

}  // namespace

std::string_view name(ProblemKind kind) { return entry_of(kind).name; }
int status(ProblemKind kind) { return entry_of(kind).status; }
std::string_view title(ProblemKind kind) { return entry_of(kind).title; }

bool worth_retrying(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kTimeout:
    case ProblemKind::kNotOpen:
    case ProblemKind::kPending:
    case ProblemKind::kState:
    case ProblemKind::kTooMany:
    case ProblemKind::kInternal:
    case ProblemKind::kBusy:
      return true;
    default:
      return false;
  }
}

std::string Problem::encode() const {
  nlohmann::ordered_json out;
  out["type"] = fmt::format("{}{}", kTypePrefix, name(kind));
  out["title"] = title(kind);
  out["status"] = status(kind);
  out["detail"] = detail;
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Problem> Problem::decode(std::string_view json) {
  if (json.size() > kMaxBytes) return error("a problem has at most {} bytes", kMaxBytes);
  ZKAPEX_TRY(const nlohmann::json parsed, parse_strict_json(json));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(parsed, "the problem"));
  Problem out;
  ZKAPEX_TRY(const std::string type, object.text("type", 128));
  ZKAPEX_TRY(out.detail, object.text("detail", kMaxBytes));
  const auto at = std::find_if(kProblems.begin(), kProblems.end(),
                               [&](const ProblemEntry& e) { return type == fmt::format("{}{}", kTypePrefix, e.name); });
  if (at == kProblems.end()) return error("a problem of an unknown type");
  out.kind = at->kind;
  return out;
}

}  // namespace zkapex
