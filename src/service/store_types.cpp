#include "service/store_types.h"

namespace zkapex {

std::string_view name(DeliveryKind kind) {
  switch (kind) {
    case DeliveryKind::kRegistration:
      return "registration";
    case DeliveryKind::kUpdate:
      return "update";
    case DeliveryKind::kSubmission:
      return "submission";
  }
  return "unknown";
}

std::string_view name(DeliveryState state) {
  switch (state) {
    case DeliveryState::kAnnounced:
      return "announced";
    case DeliveryState::kReceived:
      return "received";
    case DeliveryState::kAccepted:
      return "accepted";
    case DeliveryState::kRejected:
      return "rejected";
  }
  return "unknown";
}

std::string_view name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kNoCode:
      return "no-code";
    case Refusal::kCodeUsed:
      return "code-used";
    case Refusal::kCodeExpired:
      return "code-expired";
    case Refusal::kNameTaken:
      return "name-taken";
    case Refusal::kKeyTaken:
      return "key-taken";
    case Refusal::kKeyRetired:
      return "key-retired";
    case Refusal::kKeyNumber:
      return "key-number";
    case Refusal::kNoClient:
      return "no-client";
    case Refusal::kRegistered:
      return "registered";
    case Refusal::kNotRegistered:
      return "not-registered";
    case Refusal::kNoWindow:
      return "no-window";
    case Refusal::kWindowTaken:
      return "window-taken";
    case Refusal::kNotOpen:
      return "not-open";
    case Refusal::kLate:
      return "late";
    case Refusal::kNotDue:
      return "not-due";
    case Refusal::kDone:
      return "done";
    case Refusal::kUndecided:
      return "undecided";
    case Refusal::kWindowOpen:
      return "window-open";
    case Refusal::kTooMany:
      return "too-many";
    case Refusal::kNoDelivery:
      return "no-delivery";
    case Refusal::kNoState:
      return "no-state";
    case Refusal::kRemoving:
      return "removing";
  }
  return "unknown";
}

}  // namespace zkapex
