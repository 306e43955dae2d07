// A verifier's answer: accepted, or one typed reason.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

enum class Reason {
  kLength,         // not exactly as long as the public parameters imply
  kVersion,        // another format or version
  kScalar,         // a scalar that is not canonical
  kPoint,          // bytes that are no group element, or the identity
  kZeroChallenge,  // a challenge that no honest run meets
  kEquation,       // the final equation does not hold: what was claimed is false
  kStatement,      // public inputs that do not fit together
};

[[nodiscard]] constexpr std::string_view name(Reason reason) {
  switch (reason) {
    case Reason::kLength:
      return "length";
    case Reason::kVersion:
      return "version";
    case Reason::kScalar:
      return "scalar";
    case Reason::kPoint:
      return "point";
    case Reason::kZeroChallenge:
      return "zero challenge";
    case Reason::kEquation:
      return "equation";
    case Reason::kStatement:
      return "statement";
  }
  return "unknown";
}

struct Rejection {
  Reason reason;
  std::string detail;
};

using Verdict = Result<Done, Rejection>;

}  // namespace zkapex
