#include "exchange/audit.h"

#include "base/names.h"

namespace zkapex {

namespace {

std::string_view text_in(ByteView entry) { return {reinterpret_cast<const char*>(entry.data()), entry.size()}; }

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

StatementKind kind_of(const Statement& statement) {
  return std::visit([](const auto& notice) { return notice.kKind; }, statement);
}

}  // namespace

std::optional<Statement> LogAudit::add(ByteView entry) {
  const uint64_t index = tree_.size();
  Result<Statement> out = error("");
  if (Result<Envelope> envelope = Envelope::decode(text_in(entry)); !envelope) {
    out = envelope.error();
  } else if (envelope->encode() != text_in(entry)) {
    out = error("the envelope is not in its one form");
  } else {
    out = take(*envelope);
  }
  tree_.add(leaf_hash(entry));
  if (out) {
    ++counts_[kind_of(*out)];
    return *std::move(out);
  }
  ++finding_count_;
  if (findings_.size() < kMaxFindings) findings_.push_back({index, out.error().message});
  return std::nullopt;
}

Result<Statement> LogAudit::take(const Envelope& envelope) {
  ZKAPEX_TRY(Statement statement, decode_statement(envelope.payload));
  if (!deployment_ && !std::holds_alternative<DeploymentNotice>(statement))
    return error("a {} stands before the deployment", name(kind_of(statement)));
  ZKAPEX_CHECK(
      std::visit(Overloaded{[&](const DeploymentNotice& notice) { return take_deployment(envelope, notice); },
                            [&](const ClientNotice& notice) { return take_client(envelope, notice); },
                            [&](const WindowNotice& notice) { return take_window(envelope, notice); },
                            [&](const RegistrationNotice& notice) { return take_handed_in(envelope, notice); },
                            [&](const UpdateNotice& notice) { return take_handed_in(envelope, notice); },
                            [&](const SubmissionNotice& notice) { return take_handed_in(envelope, notice); },
                            [&](const VerdictNotice& notice) { return take_verdict(envelope, notice); },
                            [&](const UploadNotice&) { return Status(error("an upload's receipt is not logged")); }},
                 statement));
  return statement;
}

Status LogAudit::take_deployment(const Envelope& envelope, const DeploymentNotice& notice) {
  if (deployment_) return error("there is a second deployment");
  if (tree_.size() != 0) return error("the deployment is not the first entry");
  if (notice.log != log_) return error("the deployment names another log, {}", in_quotes(notice.log.name));
  ZKAPEX_CHECK(verify_envelope(envelope, notice.provider));
  deployment_ = notice;
  return Done{};
}

Status LogAudit::check_deployment(const Sha256::Digest& deployment) const {
  if (deployment != deployment_->deployment) return error("it is made for another deployment");
  return Done{};
}

Status LogAudit::check_seen(const SeenTree& seen) const {
  if (seen.size > tree_.size()) return error("it names a checkpoint of {} entries, which is later", seen.size);
  if (seen.root != tree_.root(seen.size))
    return error("its signer saw another log of {} entries: the log has been forked", seen.size);
  return Done{};
}

Status LogAudit::take_client(const Envelope& envelope, const ClientNotice& notice) {
  ZKAPEX_CHECK(check_deployment(notice.deployment));
  ZKAPEX_CHECK(verify_envelope(envelope, deployment_->provider));
  const auto at = clients_.find(notice.client);
  const bool known = at != clients_.end();
  if (known && notice.rotation != at->second.rotation + 1)
    return error("the client {} has had {} keys, and this is number {}", notice.client, at->second.rotation + 1,
                 notice.rotation + 1);
  if (!known && notice.rotation != 0) return error("the client {} is unknown, and has a new key", notice.client);
  ZKAPEX_TRY(const ClientNotice opened, open_client_statement(envelope, known ? &at->second.key : nullptr));
  if (!keys_.insert(opened.key.id()).second) return error("the key belonged to a client before");
  if (known) {
    at->second.key = opened.key;
    at->second.rotation = opened.rotation;
  } else {
    clients_.emplace(opened.client, ClientState{.key = opened.key, .registration = {}, .windows = {}});
  }
  return Done{};
}

LogAudit::LoggedWindow* LogAudit::window_named(const std::string& name) {
  const auto at =
      std::find_if(windows_.begin(), windows_.end(), [&](const auto& w) { return w.notice.window == name; });
  return at == windows_.end() ? nullptr : &*at;
}
const LogAudit::LoggedWindow* LogAudit::window_named(const std::string& name) const {
  return const_cast<LogAudit*>(this)->window_named(name);
}

Status LogAudit::take_window(const Envelope& envelope, const WindowNotice& notice) {
  ZKAPEX_CHECK(verify_envelope(envelope, deployment_->provider));
  ZKAPEX_CHECK(check_deployment(notice.deployment));
  ZKAPEX_CHECK(check_seen(notice.seen));
  const auto& allowed = deployment_->operators;
  if (std::find(allowed.begin(), allowed.end(), notice.op) == allowed.end())
    return error("the deployment has no windows of the operator {}", name(notice.op));
  bool follows = notice.predecessor == Sha256::Digest{};
  for (const LoggedWindow& window : windows_) {
    if (window.notice.window == notice.window || window.notice.mask == notice.mask)
      return error("the window {} was published before", in_quotes(notice.window));
    follows = follows || window.notice.mask == notice.predecessor;
  }
  if (!follows) return error("the window {} follows one that is not in the log", in_quotes(notice.window));
  windows_.push_back({tree_.size(), notice, {}});
  return Done{};
}

Status LogAudit::check_window_of(const SubmissionNotice& notice) const {
  const LoggedWindow* window = window_named(notice.window);
  if (window == nullptr) return error("no window {} stands before it", in_quotes(notice.window));
  if (window->notice.mask != notice.mask) return error("it is for another mask than that of its window");
  return Done{};
}

template <class Notice>
Status LogAudit::take_handed_in(const Envelope& envelope, const Notice& notice) {
  const auto client = clients_.find(notice.client);
  if (client == clients_.end()) return error("the client {} is not enrolled", notice.client);
  ZKAPEX_CHECK(verify_envelope(envelope, client->second.key));
  ZKAPEX_CHECK(check_deployment(notice.deployment));
  if constexpr (std::is_same_v<Notice, RegistrationNotice>) {
    ZKAPEX_CHECK(check_seen(notice.seen));
  }
  if constexpr (std::is_same_v<Notice, SubmissionNotice>) {
    ZKAPEX_CHECK(check_window_of(notice));
  }
  const HandedIn handed_in{.index = tree_.size(), .notice = notice, .judged = false};
  if (!handed_in_.emplace(envelope.payload_digest(), handed_in).second) return error("the same was handed in before");
  if constexpr (std::is_same_v<Notice, SubmissionNotice>)
    window_named(notice.window)->records.push_back({notice.client, tree_.size(), {}, {}});
  return Done{};
}

Status LogAudit::take_verdict(const Envelope& envelope, const VerdictNotice& verdict) {
  ZKAPEX_CHECK(verify_envelope(envelope, deployment_->provider));
  ZKAPEX_CHECK(check_deployment(verdict.deployment));
  const auto judged = handed_in_.find(verdict.id);
  if (judged == handed_in_.end()) return error("what the verdict is about does not stand before it");
  if (judged->second.judged) return error("there is a second verdict on entry {}", judged->second.index);
  ZKAPEX_CHECK(check_verdict(verdict, judged->second));
  if (verdict.passed()) {
    ZKAPEX_CHECK(check_chain(verdict, judged->second));
  }
  judged->second.judged = true;
  ++(verdict.passed() ? accepted_ : rejected_);
  if (verdict.passed()) move_on(verdict, judged->second);
  if (LoggedWindow* window = verdict.of == StatementKind::kSubmission ? window_named(verdict.window) : nullptr) {
    for (WindowRecord& record : window->records) {
      if (record.submission != judged->second.index) continue;
      record.verdict = tree_.size();
      record.outcome = verdict;
    }
  }
  return Done{};
}

// The verdict repeats what was handed in, and keeps its promises.
Status LogAudit::check_verdict(const VerdictNotice& verdict, const HandedIn& judged) const {
  const auto same = std::visit(
      [&](const auto& notice) {
        using Notice = std::decay_t<decltype(notice)>;
        bool out = verdict.of == notice.kKind && verdict.client == notice.client && verdict.file == notice.file &&
                   verdict.registration == notice.registration;
        if constexpr (!std::is_same_v<Notice, RegistrationNotice>)
          out = out && verdict.starts_from == notice.starts_from;
        if constexpr (std::is_same_v<Notice, SubmissionNotice>)
          out = out && verdict.window == notice.window && verdict.mask == notice.mask;
        return out;
      },
      judged.notice);
  if (!same) return error("the verdict says something else than entry {}, which it is about", judged.index);
  if (verdict.submission && *verdict.submission != judged.index)
    return error("the verdict names entry {} in place of {}", *verdict.submission, judged.index);
  if (verdict.time < verdict.received ||
      verdict.time - verdict.received > static_cast<UnixTime>(deployment_->verdict_seconds))
    return error("the verdict came {} s after the upload; {} were promised", verdict.time - verdict.received,
                 deployment_->verdict_seconds);
  const bool nothing_compensated = verdict.op == Operator::kMaskOnly;
  if (verdict.certified_error != (nothing_compensated ? "0" : deployment_->certified_error))
    return error("the verdict certifies another error than the deployment's");
  if (verdict.of != StatementKind::kSubmission) return Done{};
  const LoggedWindow& window = *window_named(verdict.window);
  if (verdict.window_index && *verdict.window_index != window.index)
    return error("the verdict names entry {} as its window, which is {}", *verdict.window_index, window.index);
  if (verdict.op != window.notice.op) return error("the verdict is on another operator than its window's");
  return Done{};
}

// One registration, then from model to model; each window once, between its opening and its deadline, and of a client
// that was committed before the window was published.
Status LogAudit::check_chain(const VerdictNotice& verdict, const HandedIn& judged) const {
  const ClientState& client = clients_.at(verdict.client);
  if (verdict.of == StatementKind::kRegistration) {
    if (client.registration) return error("the client {} has been registered already", verdict.client);
    if (deployment_->certificate && !std::get<RegistrationNotice>(judged.notice).certificate)
      return error("a registration without a certificate was accepted");
    return Done{};
  }
  if (client.registration != verdict.registration) return error("it is under another registration than the client's");
  if (verdict.starts_from != client.current) return error("it starts from another model than the client's current one");
  if (verdict.of == StatementKind::kUpdate) return Done{};
  const LoggedWindow& window = *window_named(verdict.window);
  if (client.windows.contains(verdict.window))
    return error("the window {} was accepted of this client before", in_quotes(verdict.window));
  if (client.committed_at > window.index)
    return error("the client chose its model after the window {} was published", in_quotes(verdict.window));
  if (verdict.received < window.notice.opens || verdict.received >= window.notice.deadline)
    return error("it was accepted at {}, outside of its window", to_rfc3339(verdict.received));
  return Done{};
}

void LogAudit::move_on(const VerdictNotice& verdict, const HandedIn& judged) {
  ClientState& client = clients_.at(verdict.client);
  client.current = verdict.leads_to->commitment;
  if (verdict.of == StatementKind::kRegistration) client.registration = verdict.registration;
  if (verdict.of == StatementKind::kSubmission) {
    client.windows.insert(verdict.window);
  } else {
    client.committed_at = judged.index;
  }
}

AuditTotals LogAudit::totals() const {
  AuditTotals out{.entries = counts_, .accepted = accepted_, .rejected = rejected_, .waiting = 0};
  for (const auto& [id, handed_in] : handed_in_) out.waiting += handed_in.judged ? 0 : 1;
  return out;
}

}  // namespace zkapex
