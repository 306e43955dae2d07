#include "agent/status.h"

namespace zkapex {

namespace {

bool has_file(const Path& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

Result<std::string> registration_status(const AgentFolder& folder) {
  const DeliveryFiles files = registration_delivery(folder);
  if (has_file(files.verdict)) {
    ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(files));
    return std::string(verdict.passed() ? "accepted" : "rejected");
  }
  if (has_file(files.received)) return std::string("received");
  return std::string(has_file(ClientFolder{folder.client()}.secret()) ? "made" : "none");
}

// None where the agent has moved the window on in the meantime.
Result<std::optional<WindowStatus>> window_status(const WindowFolder& window) {
  const Result<WindowNotice> request = read_request(window);
  if (!request && !has_file(window.folder)) return std::optional<WindowStatus>();
  if (!request) return request.error();
  WindowStatus out{.window = request->window, .state = window.state, .deadline = request->deadline};
  out.earlier = count_earlier(window);
  const DeliveryFiles files = delivery_of(window);
  if (window.state == WindowState::kReceived) {
    ZKAPEX_TRY(const UploadNotice promise, read_upload_receipt(files));
    out.verdict_due = promise.verdict_due;
  }
  if (window.state == WindowState::kRejected && has_file(window.refusal())) out.reason = "deadline";
  if (window.state == WindowState::kRejected && has_file(files.verdict)) {
    ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(files));
    if (verdict.rejection) out.reason = name(verdict.rejection->reason);
  }
  return std::optional(std::move(out));
}

// None where there is none, or the agent has moved it away in the meantime.
Result<std::optional<UpdateStatus>> update_status(const UpdateFolder& update) {
  const Result<std::optional<UpdateState>> state = update.state();
  if (!has_file(update.folder)) return std::optional<UpdateStatus>();
  if (!state) return state.error();
  UpdateStatus out{.state = state->value_or(UpdateState::kOrdered)};
  if (out.state == UpdateState::kRejected) {
    ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(update.delivery()));
    out.reason = name(verdict.rejection->reason);
  }
  if (out.state == UpdateState::kFailed) {
    ZKAPEX_TRY(const Bytes why, read_file(update.failure(), UpdateFolder::kMaxFailure));
    out.reason.assign(why.begin(), why.end());
    while (out.reason.ends_with('\n')) out.reason.pop_back();
  }
  return std::optional(std::move(out));
}

}  // namespace

Result<AgentStatus> read_status(const AgentFolder& folder) {
  ZKAPEX_TRY(const AgentConfig config, read_config(folder));
  AgentStatus out{.client = config.client, .provider = config.provider};
  out.enrolled = has_file(folder.enrolment());
  if (out.enrolled) {
    ZKAPEX_TRY(const Envelope enrolled, read_envelope(folder.enrolment()));
    ZKAPEX_TRY(const ClientNotice notice, ClientNotice::decode(enrolled.payload));
    out.key = notice.key.id();
    out.key_is_ordered = has_file(folder.next_key());
  }
  ZKAPEX_TRY(out.registration, registration_status(folder));
  out.split = has_file(folder.split_view());
  if (has_file(folder.checkpoint())) {
    ZKAPEX_TRY(const Policy policy, Policy::read(folder.policy()));
    ZKAPEX_TRY(const std::optional<LogSight> sight, last_sight(folder, policy));
    if (sight) out.log_size = sight->head.size;
  }
  std::vector<UpdateFolder> updates = past_updates(folder);
  updates.push_back({folder.update()});
  for (const UpdateFolder& update : updates) {
    ZKAPEX_TRY(std::optional<UpdateStatus> status, update_status(update));
    if (status) out.updates.push_back(*std::move(status));
  }
  if (!has_file(folder.windows())) return out;
  ZKAPEX_TRY(const std::vector<WindowFolder> windows, Journal(folder.windows()).windows());
  for (const WindowFolder& window : windows) {
    ZKAPEX_TRY(std::optional<WindowStatus> status, window_status(window));
    if (status) out.windows.push_back(*std::move(status));
  }
  return out;
}

}  // namespace zkapex
