#include "agent/agent.h"

#include <algorithm>

#include "agent/enrolment.h"
#include "attestation/inputs.h"
#include "base/names.h"
#include "exchange/paths.h"

namespace zkapex {

namespace {

bool exists_already(const Path& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// What tells one order from the next; empty where there is none.
std::string orders_in(const AgentFolder& folder) {
  std::error_code failed;
  std::string out;
  for (const Path& order : {UpdateFolder{folder.update()}.order(), folder.next_key()}) {
    const auto time = std::filesystem::last_write_time(order, failed);
    if (!failed) out += fmt::format("{} {}\n", order.filename().string(), time.time_since_epoch().count());
  }
  return out;
}

// Whether a window is under way, or waits for its time. By this machine's clock: the provider's has the last word.
Result<bool> is_any_open(const Journal& journal, UnixTime now) {
  ZKAPEX_TRY(const std::vector<WindowFolder> windows, journal.windows());
  for (const WindowFolder& window : windows) {
    if (is_settled(window.state)) continue;
    ZKAPEX_TRY(const WindowNotice request, read_request(window));
    if (window.state != WindowState::kSeen || now < request.deadline) return true;
  }
  return false;
}

// Windows in the order of the log.
Result<std::vector<WindowFolder>> in_order(const Journal& journal) {
  ZKAPEX_TRY(const std::vector<WindowFolder> windows, journal.windows());
  std::vector<std::pair<uint64_t, WindowFolder>> places;
  for (const WindowFolder& window : windows) {
    ZKAPEX_TRY(const Bytes bytes, read_file(window.inclusion(), Receipt::kMaxFileBytes));
    const Result<Receipt> receipt = Receipt::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!receipt) return receipt.error().within(window.inclusion().string());
    places.emplace_back(receipt->index, window);
  }
  std::ranges::sort(places, {}, [](const auto& place) { return place.first; });
  std::vector<WindowFolder> out;
  for (auto& [index, window] : places) out.push_back(std::move(window));
  return out;
}

}  // namespace

DeliveryFiles registration_delivery(const AgentFolder& folder) {
  const Path at = folder.registration();
  return {.file = ClientFolder{folder.client()}.registration(),
          .statement = at / "statement.json",
          .received = at / "received.json",
          .verdict = at / "verdict.json",
          .receipt = at / "verdict.tlog-proof"};
}

Agent::Agent(AgentFolder folder, FolderLock lock, AgentIdentity identity, WebClient& web, AgentOptions options)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      identity_(std::move(identity)),
      options_(std::move(options)),
      web_(std::make_unique<ListeningClient>(web)),
      link_(*web_, identity_.config.provider),
      log_(*web_, identity_.config.provider + std::string(paths::kLog)),
      journal_(folder_.windows()) {}

Result<Agent> Agent::open(const AgentFolder& folder, WebClient& web, AgentOptions options) {
  ZKAPEX_CHECK(read_config(folder));  // says what to do where there is no agent
  ZKAPEX_TRY(FolderLock lock, FolderLock::take(folder.folder));
  ZKAPEX_TRY(AgentIdentity identity, AgentIdentity::read(folder));
  remove_stale_temporaries(folder.folder);
  ZKAPEX_CHECK(make_private_folder(folder.registration()));
  remove_stale_temporaries(folder.registration());
  ZKAPEX_CHECK(Journal(folder.windows()).open());
  return Agent(folder, std::move(lock), std::move(identity), web, std::move(options));
}

std::string StateChange::text() const {
  return window.empty() ? fmt::format("{}: {}", subject, state)
                        : fmt::format("{} {}: {}", subject, in_quotes(window), state);
}

bool Agent::has_new_order() const {
  const std::string orders = orders_in(folder_);
  return !orders.empty() && orders != orders_;
}

Round Agent::once(UnixTime now) {
  Round round;
  orders_ = orders_in(folder_);
  start_ = 0;
  round.split = exists_already(folder_.split_view());
  if (!round.split) {
    if (const Status done = work(now, round); !done) round.troubles.push_back(done.error().message);
  }
  plan(round, now);
  return round;
}

void Agent::plan(Round& round, UnixTime now) {
  failures_ = round.troubles.empty() ? 0 : failures_ + 1;
  waits_ = round.waiting ? waits_ + 1 : 0;
  round.next = next_poll(now, identity_.config.poll_seconds, options_.chance());
  if (failures_ + waits_ > 0)
    round.next = std::min(round.next, next_try(now, std::max(failures_, waits_), 0, options_.chance()));
  if (start_ > now) round.next = std::min(round.next, start_);
  round.next = std::max(round.next, now + static_cast<UnixTime>(web_->take_retry_after()));
}

Status Agent::work(UnixTime now, Round& round) {
  ZKAPEX_TRY(const LogSight sight, look_at_log(folder_, identity_.policy, log_));
  changed();
  if (sight.split) {
    round.split = true;
    tell({"log", {}, "split"});
    return Done{};
  }
  ZKAPEX_TRY(const KeyReplacement replaced, replace_key(folder_, identity_, link_, options_.between_changes));
  // Where the provider will not have the new key, the old one does for now.
  if (replaced.refused) round.troubles.push_back(as_error(*replaced.refused).within("the new key").message);
  if (replaced.done) tell({"key", {}, "replaced"});
  ZKAPEX_TRY(const std::optional<uint64_t> registered, advance_registration(sight));
  if (!registered) {
    round.waiting = true;
    return Done{};
  }
  ZKAPEX_CHECK(look_for_windows(sight, *registered, now, round));
  // Of one model there is one successor. An update that the provider may have comes before all windows, and all windows
  // that are known come before an update that it cannot have.
  Courier courier(link_, log_, identity_, folder_.client());
  UpdateSteps update(folder_, identity_, courier, options_.work, options_.between_changes);
  ZKAPEX_TRY(const bool sent, update.is_sent());
  if (sent) {
    ZKAPEX_TRY(const UpdateStep::Kind kind, advance_update(update, sight, now, round));
    if (kind == UpdateStep::Kind::kWaits) return Done{};
  }
  ZKAPEX_TRY(bool open, is_any_open(journal_, now));
  if (open) {
    ZKAPEX_CHECK(update.set_back());
  }
  ZKAPEX_CHECK(advance_windows(sight, courier, now, round));
  ZKAPEX_TRY(open, is_any_open(journal_, now));
  if (open) return Done{};
  ZKAPEX_TRY(const UpdateStep::Kind kind, advance_update(update, sight, now, round));
  if (kind == UpdateStep::Kind::kRefused)
    round.troubles.emplace_back("update: the provider waits for the answer to a window first");
  return Done{};
}

Result<UpdateStep::Kind> Agent::advance_update(UpdateSteps& steps, const LogSight& sight, UnixTime now, Round& round) {
  using Kind = UpdateStep::Kind;
  UpdateStep step{.kind = Kind::kMoved};
  while (step.kind == Kind::kMoved) {
    const Result<UpdateStep> next = steps.advance(sight, now);
    if (!next) return next.error().within("update");
    step = *next;
    if (step.kind == Kind::kMoved) tell({"update", {}, std::string(name(step.state))});
    if (!step.trouble.empty()) round.troubles.push_back(fmt::format("update: {}", step.trouble));
  }
  if (step.kind == Kind::kWaits) round.waiting = true;
  return step.kind;
}

Result<std::optional<uint64_t>> Agent::advance_registration(const LogSight& sight) {
  const DeliveryFiles files = registration_delivery(folder_);
  Courier courier(link_, log_, identity_, folder_.client());
  if (!exists_already(files.statement)) {
    ZKAPEX_TRY(const Bytes bytes, read_file(files.file, kMaxPublicFile));
    ZKAPEX_TRY(const RegistrationFile file, RegistrationFile::decode(bytes));
    const RegistrationNotice notice{.file = reference_to(bytes),
                                    .client = file.client,
                                    .deployment = file.deployment,
                                    .registration = file.digest(),
                                    .certificate = false,
                                    .seen = {sight.head.size, sight.head.root}};
    ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), identity_.key));
    ZKAPEX_CHECK(write_envelope(files.statement, envelope));
    changed();
  }
  if (!exists_already(files.received)) {
    ZKAPEX_TRY(Refused refused, courier.announce(files));
    changed();
    if (!refused) {
      ZKAPEX_TRY(refused, courier.upload(files));
    }
    if (refused) return as_error(*refused).within("registration");
    changed();
    tell({"registration", {}, "received"});
  }
  if (!exists_already(files.verdict)) {
    ZKAPEX_TRY(const Courier::Outcome heard, courier.ask_for_verdict(files, sight));
    if (heard.refused) return as_error(*heard.refused).within("registration");
    if (!heard.verdict) return std::optional<uint64_t>();
    changed();
    tell({"registration", {}, heard.verdict->passed() ? "accepted" : "rejected"});
  }
  ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(files));
  if (verdict.rejection)
    return error("the registration was rejected ({}): {}; register another model, in another folder",
                 name(verdict.rejection->reason), in_quotes(verdict.rejection->detail));
  if (!verdict.submission) return error("the verdict does not say where the registration is in the log");
  return verdict.submission;
}

Status Agent::look_for_windows(const LogSight& sight, uint64_t registered, UnixTime now, Round& round) {
  ZKAPEX_TRY(const Reply reply, link_.get(paths::kWindows, kMaxAnswerBytes, windows_etag_));
  if (reply.refusal) return as_error(*reply.refusal);
  if (reply.unchanged()) return Done{};
  ZKAPEX_TRY(const WindowsAnswer answer, WindowsAnswer::decode(reply.text()));
  bool all_known = true;
  for (const LoggedEnvelope& logged : answer.windows) {
    const Result<Request> request = open_request(logged, identity_);
    if (!request) {
      round.troubles.push_back(request.error().message);
      continue;
    }
    const std::string& window = request->notice.window;
    if (!logged.index) all_known = false;  // it will get its place
    ZKAPEX_TRY(const std::optional<WindowFolder> known, journal_.find(window));
    if (known || !concerns(*request, registered) || now >= request->notice.deadline) continue;
    if (*logged.index >= sight.head.size) {  // logged since the log was looked at
      all_known = false;
      continue;
    }
    // That the registration is where the verdict says matters once there is something to do.
    ZKAPEX_TRY(const Envelope own, read_envelope(registration_delivery(folder_).statement));
    ZKAPEX_CHECK(prove_logged({own, registered}, sight, identity_.policy, log_));
    if (const Status taken = take(*request, sight); !taken) {
      round.troubles.push_back(taken.error().within(fmt::format("window {}", in_quotes(window))).message);
      all_known = false;
      continue;
    }
    tell({"window", window, std::string(name(WindowState::kSeen))});
  }
  windows_etag_ = all_known ? reply.etag : std::string();
  return Done{};
}

Status Agent::take(const Request& request, const LogSight& sight) {
  ZKAPEX_TRY(const Receipt receipt, prove_request(request, sight, identity_, log_));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder_.deployment()));
  const FileReference& file = request.notice.file;
  if (file.bytes > longest_request_file(deployment)) return error("its file has {} bytes: too many", file.bytes);
  ZKAPEX_TRY(const Reply reply, link_.get(paths::window_file(request.notice.mask), file.bytes));
  if (reply.refusal) return as_error(*reply.refusal);
  ZKAPEX_CHECK(check_request_file(reply.body, request.notice, deployment));
  const WindowFolder window = journal_.at(request.notice.window, WindowState::kSeen);
  ZKAPEX_TRY(TemporaryFolder folder, TemporaryFolder::create(window.folder));
  ZKAPEX_CHECK(write_envelope(folder.file(window.entry().filename()), request.logged.envelope));
  changed();
  ZKAPEX_CHECK(write_file(folder.file(window.inclusion().filename()), view(receipt.encode()), {.secret = true}));
  changed();
  ZKAPEX_CHECK(write_file(folder.file(window.psi().filename()), reply.body, {.secret = true}));
  changed();
  ZKAPEX_CHECK(folder.commit());
  changed();
  return Done{};
}

Status Agent::advance_windows(const LogSight& sight, Courier& courier, UnixTime now, Round& round) {
  using Kind = WindowStep::Kind;
  WindowSteps steps(folder_, identity_, courier, options_.work, options_.between_changes);
  ZKAPEX_TRY(std::vector<WindowFolder> windows, in_order(journal_));
  for (WindowFolder& window : windows) {
    ZKAPEX_TRY(const WindowNotice request, read_request(window));
    const std::string what = fmt::format("window {}", in_quotes(request.window));
    Kind kind = Kind::kMoved;
    while (kind == Kind::kMoved) {
      const Result<WindowStep> step = steps.advance(window, sight, now);
      if (!step) return step.error().within(what);
      kind = step->kind;
      if (kind == Kind::kMoved) tell({"window", request.window, std::string(name(window.state))});
      if (!step->trouble.empty()) round.troubles.push_back(fmt::format("{}: {}", what, step->trouble));
      start_ = std::max(start_, step->until);
    }
    // The next window starts from what becomes of this one.
    if (kind == Kind::kWaits) {
      round.waiting = start_ == 0;
      return Done{};
    }
  }
  return Done{};
}

}  // namespace zkapex
