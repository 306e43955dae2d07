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
  kOrder,          // starts from a model that was admitted after the request was published
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
    case Reason::kOrder:
      return "order";
    case Reason::kFile:
      return "file";
  }
  return "unknown";
}

// What to do about it, in one sentence; docs/reasons.md has them all.
[[nodiscard]] constexpr std::string_view advice(Reason reason) {
  switch (reason) {
    case Reason::kLength:
      return "Ask the client to make the proof again with this version and with the deployment and mask that you "
             "published.";
    case Reason::kVersion:
      return "Use the same version of zkapex on both sides, and ask for the proof again.";
    case Reason::kScalar:
    case Reason::kPoint:
      return "No honest client sends such bytes: ask for the file again, and treat a second one like it as an attempt "
             "to cheat.";
    case Reason::kZeroChallenge:
      return "Ask the client to make the proof again: its randomness is fresh each time.";
    case Reason::kEquation:
      return "What the client claims is false: do not count it as having unlearned; it may prove the same window "
             "again.";
    case Reason::kStatement:
      return "Ask the client to make the file again with the deployment that you published.";
    case Reason::kDeployment:
      return "Ask the client for a file that was made for the deployment of your ledger.";
    case Reason::kRegistration:
      return "Admit the client's registration first (zkapex admit); a proof counts only under the one that your ledger "
             "has.";
    case Reason::kClient:
      return "A name belongs to the client that took it first: ask the sender to register under a name of its own.";
    case Reason::kMask:
      return "Give the mask that was published for this window, made with mask --after the one before.";
    case Reason::kWindow:
      return "This client's window was accepted before: the client settles that proof as accepted, and this one counts "
             "for nothing.";
    case Reason::kModel:
      return "Ask for windows and updates in their order: the client made one that you have not accepted, or settled "
             "one that you rejected.";
    case Reason::kOrder:
      return "The client chose its model or curvature with the request in sight: it answers requests that you publish "
             "from now on.";
    case Reason::kFile:
      return "Ask the client to send the file again, as a plain file.";
  }
  return "See docs/reasons.md.";
}

struct Rejection {
  Reason reason;
  std::string detail;
};

using Verdict = Result<Done, Rejection>;

}  // namespace zkapex
