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
  kDeployment,     // made for another deployment
  kRegistration,   // made under another registration
  kClient,         // made by another client
  kMask,           // made for another mask, or the mask is not one of this deployment
  kWindow,         // a window that was applied already
  kModel,          // starts from another committed model than the current one
  kOperator,       // another operator than the one that is due
  kCertificate,    // no curvature certificate, where one is asked for
  kFile,           // a file that is missing, damaged, or something else
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
    case Reason::kDeployment:
      return "deployment";
    case Reason::kRegistration:
      return "registration";
    case Reason::kClient:
      return "client";
    case Reason::kMask:
      return "mask";
    case Reason::kWindow:
      return "window";
    case Reason::kModel:
      return "model";
    case Reason::kOperator:
      return "operator";
    case Reason::kCertificate:
      return "certificate";
    case Reason::kFile:
      return "file";
  }
  return "unknown";
}

struct Rejection {
  Reason reason;
  std::string detail;
};

using Verdict = Result<Done, Rejection>;

}  // namespace zkapex
