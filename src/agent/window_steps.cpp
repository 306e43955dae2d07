#include "agent/window_steps.h"

#include <algorithm>

#include "agent/schedule.h"
#include "attestation/inputs.h"
#include "parties/settle.h"
#include "parties/unlearn.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

using Kind = WindowStep::Kind;

bool file_is_there(const Path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

Status move_file(const Path& from, const Path& to) {
  std::error_code failed;
  if (!fs::exists(from, failed)) return Done{};
  fs::rename(from, to, failed);
  if (failed) return error("cannot rename {} to {}: {}", from.string(), to.string(), failed.message());
  return flush_folder_of(to);
}

Status remove_file(const Path& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) return error("cannot remove {}: {}", path.string(), failed.message());
  return Done{};
}

Path earlier_attempts(const WindowFolder& window) { return window.folder / "earlier"; }

}  // namespace

DeliveryFiles delivery_of(const WindowFolder& window) {
  return {.file = window.proof(),
          .statement = window.submission(),
          .received = window.upload_receipt(),
          .verdict = window.verdict(),
          .receipt = window.receipt()};
}

Result<WindowNotice> read_request(const WindowFolder& window) {
  ZKAPEX_TRY(const Envelope envelope, read_envelope(window.entry()));
  return WindowNotice::decode(envelope.payload);
}

size_t count_earlier(const WindowFolder& window) {
  size_t out = 0;
  while (file_is_there(earlier_attempts(window) / std::to_string(out + 1) / "verdict.json")) ++out;
  return out;
}

bool worth_proving_again(Reason reason) {
  switch (reason) {
    case Reason::kScalar:
    case Reason::kPoint:
    case Reason::kZeroChallenge:
    case Reason::kEquation:
    case Reason::kFile:
      return true;
    default:
      return false;
  }
}

Result<WindowStep> WindowSteps::advance(WindowFolder& window, const LogSight& sight, UnixTime now) {
  switch (window.state) {
    case WindowState::kSeen:
      return compute(window, now);
    case WindowState::kComputed:
      return submit(window, now);
    case WindowState::kSubmitted:
      return upload(window, now);
    case WindowState::kReceived:
      return hear(window, sight, now);
    case WindowState::kAccepted:
      return WindowStep{Kind::kSettled};
    case WindowState::kRejected:
      break;
  }
  return prove_again(window, now);
}

Result<WindowStep> WindowSteps::move(WindowFolder& window, WindowState state) {
  changed();
  ZKAPEX_CHECK(journal_.move(window, state));
  changed();
  return WindowStep{Kind::kMoved};
}

Status WindowSteps::drop_attempts(const std::string& name) {
  const ClientFolder client{folder_.client()};
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(client));
  if (std::ranges::none_of(attempts, [&](const Attempt& attempt) { return attempt.window == name; })) return Done{};
  ZKAPEX_CHECK(settle({.client = client.folder,
                       .accepted = false,
                       .window = name,
                       .proof = {},
                       .all = true,
                       .between_changes = between_changes_}));
  return Done{};
}

Result<WindowStep> WindowSteps::compute(WindowFolder& window, UnixTime now) {
  ZKAPEX_TRY(const WindowNotice request, read_request(window));
  if (now >= request.deadline) return WindowStep{.kind = Kind::kMissed};
  const UnixTime start = agent_.config.at_once
                             ? request.opens
                             : own_start(request.opens, request.deadline, agent_.config.client, request.window);
  if (now < start) return WindowStep{.kind = Kind::kWaits, .until = start};
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder_.deployment()));
  ZKAPEX_TRY(const Mask mask, read_mask(window.psi(), deployment));
  ZKAPEX_CHECK(check_limits(mask, agent_.config));
  // Of a run that was stopped: nobody has its proof.
  ZKAPEX_CHECK(drop_attempts(request.window));
  WorkSettings settings = settings_;
  settings.force = true;
  ZKAPEX_CHECK(unlearn({.client = folder_.client(),
                        .mask = window.psi(),
                        .model_out = window.model(),
                        .proof_out = window.proof(),
                        .model = {},
                        .store = {},
                        .max_guide = agent_.config.max_guide,
                        .between_changes = between_changes_},
                       settings));
  return move(window, WindowState::kComputed);
}

Result<WindowStep> WindowSteps::submit(WindowFolder& window, UnixTime now) {
  if (!file_is_there(window.submission())) {
    ZKAPEX_TRY(const Bytes bytes, read_file(window.proof(), kMaxPublicFile));
    ZKAPEX_TRY(const ProofFile proof, ProofFile::decode(bytes));
    const SubmissionNotice notice{.file = reference_to(bytes),
                                  .client = proof.client,
                                  .window = proof.window,
                                  .deployment = proof.deployment,
                                  .mask = proof.mask,
                                  .registration = proof.registration,
                                  .starts_from = proof.model};
    ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), agent_.key));
    ZKAPEX_CHECK(write_envelope(window.submission(), envelope));
    changed();
  }
  ZKAPEX_TRY(const Refused problem, courier_.announce(delivery_of(window)));
  if (problem) return refused(window, *problem, now);
  return move(window, WindowState::kSubmitted);
}

Result<WindowStep> WindowSteps::upload(WindowFolder& window, UnixTime now) {
  ZKAPEX_TRY(const Refused problem, courier_.upload(delivery_of(window)));
  if (problem) return refused(window, *problem, now);
  return move(window, WindowState::kReceived);
}

// What the provider has signed for, or holds, is not refused: this was never handed in, and can only be too late. A
// refusal is not signed, so it ends nothing before this machine's clock agrees; and a proof that was sent may yet be
// accepted, so what belongs to it goes aside.
Result<WindowStep> WindowSteps::refused(WindowFolder& window, const Problem& problem, UnixTime now) {
  if (problem.kind != ProblemKind::kDeadline || file_is_there(window.upload_receipt())) return as_error(problem);
  ZKAPEX_TRY(const WindowNotice request, read_request(window));
  if (now < request.deadline) return as_error(problem);
  if (window.state != WindowState::kComputed) {
    ZKAPEX_CHECK(put_aside(window, request.window));
  }
  ZKAPEX_CHECK(write_file(window.refusal(), view(problem.encode()), {.overwrite = true, .secret = true}));
  return reject(window, request.window);
}

Status WindowSteps::put_aside(const WindowFolder& window, const std::string& name) {
  const ClientFolder client{folder_.client()};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(client.folder));
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(client));
  ZKAPEX_CHECK(make_private_folder(window.aside()));
  for (const Attempt& attempt : attempts) {
    if (attempt.window != name) continue;
    ZKAPEX_CHECK(move_file(attempt.folder, window.aside() / attempt.id));
    changed();
  }
  ZKAPEX_CHECK(move_file(window.model(), window.aside() / window.model().filename()));
  changed();
  return Done{};
}

Result<WindowStep> WindowSteps::hear(WindowFolder& window, const LogSight& sight, UnixTime now) {
  ZKAPEX_TRY(const WindowNotice request, read_request(window));
  const DeliveryFiles files = delivery_of(window);
  std::optional<VerdictNotice> verdict;
  if (file_is_there(files.verdict)) {
    ZKAPEX_TRY(verdict, read_verdict(files));
  } else {
    ZKAPEX_TRY(Courier::Outcome heard, courier_.ask_for_verdict(files, sight));
    if (heard.refused) return refused(window, *heard.refused, now);
    verdict = std::move(heard.verdict);
    changed();
  }
  if (verdict) return verdict->passed() ? accept(window, request.window) : reject(window, request.window);
  ZKAPEX_TRY(const UploadNotice promise, read_upload_receipt(files));
  WindowStep waits{.kind = Kind::kWaits};
  if (now > promise.verdict_due)
    waits.trouble = fmt::format("the provider promised a verdict until {}, and there is none; {} is the evidence",
                                to_rfc3339(promise.verdict_due), files.received.string());
  return waits;
}

Result<WindowStep> WindowSteps::accept(WindowFolder& window, const std::string& name) {
  ZKAPEX_CHECK(settle({.client = folder_.client(),
                       .accepted = true,
                       .window = name,
                       .proof = window.proof(),
                       .between_changes = between_changes_}));
  changed();
  ZKAPEX_CHECK(move_file(window.model(), folder_.model()));
  return move(window, WindowState::kAccepted);
}

Result<WindowStep> WindowSteps::reject(WindowFolder& window, const std::string& name) {
  ZKAPEX_CHECK(drop_attempts(name));
  changed();
  ZKAPEX_CHECK(remove_file(window.model()));
  return move(window, WindowState::kRejected);
}

// What belongs to the attempt goes aside, its verdict last: while that is here, nothing has been decided.
Result<WindowStep> WindowSteps::prove_again(WindowFolder& window, UnixTime now) {
  if (file_is_there(window.refusal())) return WindowStep{.kind = Kind::kSettled};
  const size_t earlier = count_earlier(window);
  Path aside = earlier_attempts(window) / std::to_string(earlier + 1);
  if (file_is_there(window.verdict())) {
    ZKAPEX_TRY(const WindowNotice request, read_request(window));
    ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(delivery_of(window)));
    if (!verdict.rejection || !worth_proving_again(verdict.rejection->reason) || now >= request.deadline ||
        earlier + 1 >= kMostAttempts)
      return WindowStep{.kind = Kind::kSettled};
    ZKAPEX_CHECK(make_private_folder(aside));
    changed();
    for (const Path& file :
         {window.proof(), window.submission(), window.upload_receipt(), window.receipt(), window.verdict()}) {
      ZKAPEX_CHECK(move_file(file, aside / file.filename()));
      changed();
    }
  }
  return move(window, WindowState::kSeen);
}

}  // namespace zkapex
