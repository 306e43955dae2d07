#include "agent/update_steps.h"

#include "attestation/inputs.h"
#include "parties/settle.h"
#include "parties/update.h"

namespace zkapex {

namespace {

using UpdateKind = UpdateStep::Kind;

Result<UpdateOrder> read_order(const UpdateFolder& update) {
  ZKAPEX_TRY(const Bytes bytes, read_file(update.order(), UpdateOrder::kMaxFileBytes));
  Result<UpdateOrder> order = UpdateOrder::decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!order) return order.error().within(update.order().string());
  return order;
}

UpdateStep moved_to(UpdateState state) { return {UpdateKind::kMoved, state}; }

}  // namespace

Result<bool> UpdateSteps::is_sent() const {
  ZKAPEX_TRY(const std::optional<UpdateState> state, update_.state());
  return state && *state != UpdateState::kOrdered && *state != UpdateState::kComputed;
}

Result<UpdateStep> UpdateSteps::advance(const LogSight& sight, UnixTime now) {
  ZKAPEX_TRY(const std::optional<UpdateState> state, update_.state());
  if (!state) return UpdateStep{};
  switch (*state) {
    case UpdateState::kOrdered:
      return compute();
    case UpdateState::kComputed:
      return sign();
    case UpdateState::kSent:
      return hand_in();
    case UpdateState::kReceived:
      return hear(sight, now);
    case UpdateState::kAccepted:
      return accept();
    case UpdateState::kRejected:
      ZKAPEX_CHECK(drop_pending());
      break;
    case UpdateState::kFailed:
      ZKAPEX_CHECK(put_away_pending());
      break;
  }
  return end(*state);
}

Status UpdateSteps::remove(const Path& file) {
  std::error_code failed;
  if (!std::filesystem::remove(file, failed) && !failed) return Done{};
  if (failed) return error("cannot remove {}: {}", file.string(), failed.message());
  changed();
  return Done{};
}

// What was sent stays, aside: a refusal is not signed, so the provider may have the update all the same, and accept it.
// Then this is the only way on.
Status UpdateSteps::put_away_pending() {
  std::error_code failed;
  if (!std::filesystem::exists(update_.delivery().statement, failed) &&
      !std::filesystem::exists(update_.refused(), failed))
    return drop_pending();
  const ClientFolder client{folder_.client()};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(client.folder));
  ZKAPEX_TRY(const std::vector<std::string> attempts, pending_updates(client));
  for (const std::string& attempt : attempts) {
    ZKAPEX_CHECK(make_private_folder(update_.aside()));
    const Path to = update_.aside() / attempt;
    std::filesystem::rename(client.pending_updates() / attempt, to, failed);
    if (failed) return error("cannot keep the update {} as {}: {}", attempt, to.string(), failed.message());
    ZKAPEX_CHECK(flush_folder_of(to));
    changed();
  }
  return Done{};
}

// All of them: nobody has them, or their verdict says no.
Status UpdateSteps::drop_pending() {
  const ClientFolder client{folder_.client()};
  ZKAPEX_TRY(const std::vector<std::string> attempts, pending_updates(client));
  if (attempts.empty()) return Done{};
  ZKAPEX_CHECK(
      settle_update({.client = client.folder, .accepted = false, .update = {}, .between_changes = between_changes_}));
  return Done{};
}

// What a run that was stopped left of windows whose deadline has passed since: nobody has their proofs.
Status UpdateSteps::drop_missed_windows() {
  const ClientFolder client{folder_.client()};
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(client));
  for (const Attempt& attempt : attempts) {
    ZKAPEX_CHECK(settle({.client = client.folder,
                         .accepted = false,
                         .window = attempt.window,
                         .proof = attempt.proof(),
                         .between_changes = between_changes_}));
  }
  return Done{};
}

Status UpdateSteps::set_back() {
  ZKAPEX_TRY(const std::optional<UpdateState> state, update_.state());
  if (!state) return Done{};
  ZKAPEX_CHECK(remove(update_.delivery().file));
  return put_away_pending();
}

Result<UpdateStep> UpdateSteps::compute() {
  ZKAPEX_CHECK(put_away_pending());  // of a run that was stopped
  ZKAPEX_CHECK(drop_missed_windows());
  ZKAPEX_TRY(const UpdateOrder order, read_order(update_));
  WorkSettings settings = settings_;
  settings.force = true;
  const auto done = update({.client = folder_.client(),
                            .model = order.model,
                            .store = order.store,
                            .base = order.base,
                            .out = update_.delivery().file,
                            .between_changes = between_changes_},
                           settings);
  if (done) return moved_to(UpdateState::kComputed);
  ZKAPEX_CHECK(fail(done.error().message));
  return moved_to(UpdateState::kFailed);
}

// The same order would fail again. Another one, with another model, may follow.
Status UpdateSteps::fail(const std::string& why) {
  ZKAPEX_CHECK(write_file(update_.failure(), view(why + "\n"), {.overwrite = true, .secret = true}));
  changed();
  return Done{};
}

Result<UpdateStep> UpdateSteps::sign() {
  const DeliveryFiles files = update_.delivery();
  ZKAPEX_TRY(const Bytes bytes, read_file(files.file, kMaxPublicFile));
  ZKAPEX_TRY(const UpdateFile file, UpdateFile::decode(bytes));
  const UpdateNotice notice{.file = reference_to(bytes),
                            .client = file.client,
                            .deployment = file.deployment,
                            .registration = file.registration,
                            .update = file.digest(),
                            .starts_from = file.model,
                            .curvature = file.curvature};
  ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), agent_.key));
  ZKAPEX_CHECK(write_envelope(files.statement, envelope));
  changed();
  return moved_to(UpdateState::kSent);
}

// Announced once more where it was stopped in between: the same again is the same.
Result<UpdateStep> UpdateSteps::hand_in() {
  ZKAPEX_TRY(Refused problem, courier_.announce(update_.delivery()));
  if (!problem) {
    ZKAPEX_TRY(problem, courier_.upload(update_.delivery()));
  }
  if (problem) return refused(*problem);
  changed();
  return moved_to(UpdateState::kReceived);
}

// What the provider has signed for, or holds, is not refused.
Result<UpdateStep> UpdateSteps::refused(const Problem& problem) {
  const DeliveryFiles files = update_.delivery();
  std::error_code failed;
  if (std::filesystem::exists(files.received, failed)) return as_error(problem);
  // The provider may have the next key already.
  if (problem.kind == ProblemKind::kSignature && std::filesystem::exists(folder_.next_key(), failed))
    return as_error(problem);
  if (problem.kind == ProblemKind::kWindowOpen) {
    std::filesystem::rename(files.statement, update_.refused(), failed);
    if (failed) return error("cannot rename {}: {}", files.statement.string(), failed.message());
    ZKAPEX_CHECK(flush_folder_of(files.statement));
    changed();
    return UpdateStep{UpdateKind::kRefused};
  }
  ZKAPEX_CHECK(fail(as_error(problem).message));
  return moved_to(UpdateState::kFailed);
}

Result<UpdateStep> UpdateSteps::hear(const LogSight& sight, UnixTime now) {
  const DeliveryFiles files = update_.delivery();
  ZKAPEX_TRY(const Courier::Outcome heard, courier_.ask_for_verdict(files, sight));
  if (heard.refused) return refused(*heard.refused);
  if (heard.verdict) {
    changed();
    return moved_to(heard.verdict->passed() ? UpdateState::kAccepted : UpdateState::kRejected);
  }
  ZKAPEX_TRY(const UploadNotice promise, read_upload_receipt(files));
  UpdateStep waits{.kind = UpdateKind::kWaits, .state = UpdateState::kReceived};
  if (now > promise.verdict_due)
    waits.trouble = fmt::format("the provider promised a verdict until {}, and there is none; {} is the evidence",
                                to_rfc3339(promise.verdict_due), files.received.string());
  return waits;
}

Result<UpdateStep> UpdateSteps::accept() {
  ZKAPEX_CHECK(settle_update({.client = folder_.client(),
                              .accepted = true,
                              .update = update_.delivery().file,
                              .between_changes = between_changes_}));
  changed();
  return end(UpdateState::kAccepted);
}

Result<UpdateStep> UpdateSteps::end(UpdateState state) {
  ZKAPEX_CHECK(make_private_folder(folder_.updates()));
  const Path to = folder_.updates() / std::to_string(past_updates(folder_).size() + 1);
  std::error_code failed;
  std::filesystem::rename(update_.folder, to, failed);
  if (failed) return error("cannot rename {} to {}: {}", update_.folder.string(), to.string(), failed.message());
  ZKAPEX_CHECK(flush_folder_of(to));
  ZKAPEX_CHECK(flush_folder_of(update_.folder));
  changed();
  return UpdateStep{UpdateKind::kNone, state};
}

}  // namespace zkapex
