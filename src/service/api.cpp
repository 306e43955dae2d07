#include "service/api.h"

namespace zkapex {

HttpResponse answer(const ApiContext& context, const ApiResult<HttpResponse>& result) {
  if (result.ok()) return *result;
  if (result.error().kind != ProblemKind::kInternal) return problem(result.error().kind, result.error().detail);
  context.log.write("error", "trouble", {{"detail", result.error().detail}});
  return problem(ProblemKind::kInternal, "the provider has a problem of its own; nothing was decided, try again later");
}

ApiFailure failure_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kNoCode:
      return {ProblemKind::kCode, "there is no such enrolment code"};
    case Refusal::kCodeUsed:
      return {ProblemKind::kCode, "the enrolment code was used, for another key"};
    case Refusal::kCodeExpired:
      return {ProblemKind::kCode, "the enrolment code has expired"};
    case Refusal::kNameTaken:
      return {ProblemKind::kTaken, "another client has this pseudonym"};
    case Refusal::kKeyTaken:
      return {ProblemKind::kTaken, "this key is, or was, a client's already"};
    case Refusal::kKeyRetired:
      return {ProblemKind::kSignature, "the key is not the client's current one any more"};
    case Refusal::kKeyNumber:
      return {ProblemKind::kMalformed, "a new key has the number of those before it as its rotation"};
    case Refusal::kNoClient:
      return {ProblemKind::kClient, "no such client is enrolled"};
    case Refusal::kRegistered:
      return {ProblemKind::kRegistered, "the client has a registration; a model that learned on is sent as an update"};
    case Refusal::kNotRegistered:
      return {ProblemKind::kRegistration, "the client has no accepted registration"};
    case Refusal::kNoWindow:
      return {ProblemKind::kNotFound, "there is no such window"};
    case Refusal::kWindowTaken:
      return {ProblemKind::kTaken, "a window of this name was published before"};
    case Refusal::kNotOpen:
      return {ProblemKind::kNotOpen, "the window is not open yet"};
    case Refusal::kLate:
      return {ProblemKind::kDeadline, "the window's deadline has passed"};
    case Refusal::kNotDue:
      return {ProblemKind::kRegistration, "the client was registered, or updated, after the window was published"};
    case Refusal::kDone:
      return {ProblemKind::kModel, "the client's answer to this window was accepted before"};
    case Refusal::kUndecided:
      return {ProblemKind::kPending, "something else of this client waits for its verdict"};
    case Refusal::kWindowOpen:
      return {ProblemKind::kWindowOpen, "a window waits for this client's answer first"};
    case Refusal::kTooMany:
      return {ProblemKind::kTooMany, "too many attempts of this client for one purpose"};
    case Refusal::kNoDelivery:
      return {ProblemKind::kNotFound, "nothing was announced under this identifier"};
    case Refusal::kNoState:
      return {ProblemKind::kState, "files of the client's own state have to come first: its ticket names them"};
    case Refusal::kRemoving:
      return {ProblemKind::kBusy, "an earlier file of this client is being removed just now; try again later"};
  }
  return {ProblemKind::kInternal, "a refusal without a reason"};
}

}  // namespace zkapex
