// What a log must be like for its verdicts to mean something, checked entry by entry by somebody who trusts neither the
// provider nor the clients: who signed what, in which order, once, and from which model to which. docs/log.md lists the
// rules.
#pragma once

#include <map>
#include <set>

#include "exchange/statement.h"
#include "log/growing_tree.h"

namespace zkapex {

// An entry that breaks a rule.
struct AuditFinding {
  uint64_t index = 0;
  std::string what;
};

struct AuditTotals {
  std::map<StatementKind, uint64_t> entries;
  uint64_t accepted = 0, rejected = 0;  // verdicts
  uint64_t waiting = 0;                 // handed in, and without a verdict so far
};

// One line of a window's record: what a client handed in for it.
struct WindowRecord {
  std::string client;
  uint64_t submission = 0;               // its place in the log
  std::optional<uint64_t> verdict;       // the verdict's
  std::optional<VerdictNotice> outcome;  // none: waiting
};

class LogAudit {
 public:
  static constexpr size_t kMaxFindings = 1000;  // those after them are counted only

  // `log`: whose checkpoint the entries are of.
  explicit LogAudit(NoteKey log) : log_(std::move(log)) {}

  // The next entry. Gives back its statement where it is well formed and signed by whom it has to be.
  std::optional<Statement> add(ByteView entry);

  [[nodiscard]] const GrowingTree& tree() const { return tree_; }
  [[nodiscard]] const std::vector<AuditFinding>& findings() const { return findings_; }
  [[nodiscard]] uint64_t finding_count() const { return finding_count_; }
  [[nodiscard]] AuditTotals totals() const;
  [[nodiscard]] const std::optional<DeploymentNotice>& deployment() const { return deployment_; }

  // The window of that name, its place, and what was handed in for it, in the order of the log.
  struct LoggedWindow {
    uint64_t index = 0;
    WindowNotice notice;
    std::vector<WindowRecord> records;
  };
  [[nodiscard]] const std::vector<LoggedWindow>& windows() const { return windows_; }

 private:
  struct ClientState {
    PublicKey key;
    uint64_t rotation = 0;
    std::optional<Sha256::Digest> registration;  // accepted
    uint64_t committed_at = 0;                   // the place of the last model of its own choice: that, or an update
    Sha256::Digest current{};                    // the commitment after the last verdict that passed
    std::set<std::string> windows;               // done
  };
  struct HandedIn {
    uint64_t index = 0;
    std::variant<RegistrationNotice, UpdateNotice, SubmissionNotice> notice;
    bool judged = false;
  };

  [[nodiscard]] Result<Statement> take(const Envelope& envelope);
  [[nodiscard]] Status take_deployment(const Envelope& envelope, const DeploymentNotice& notice);
  [[nodiscard]] Status take_client(const Envelope& envelope, const ClientNotice& notice);
  [[nodiscard]] Status take_window(const Envelope& envelope, const WindowNotice& notice);
  template <class Notice>
  [[nodiscard]] Status take_handed_in(const Envelope& envelope, const Notice& notice);
  [[nodiscard]] Status check_window_of(const SubmissionNotice& notice) const;
  [[nodiscard]] Status take_verdict(const Envelope& envelope, const VerdictNotice& verdict);
  [[nodiscard]] Status check_verdict(const VerdictNotice& verdict, const HandedIn& judged) const;
  [[nodiscard]] Status check_chain(const VerdictNotice& verdict, const HandedIn& judged) const;
  void move_on(const VerdictNotice& verdict, const HandedIn& judged);
  [[nodiscard]] Status check_deployment(const Sha256::Digest& deployment) const;
  [[nodiscard]] Status check_seen(const SeenTree& seen) const;
  [[nodiscard]] LoggedWindow* window_named(const std::string& name);
  [[nodiscard]] const LoggedWindow* window_named(const std::string& name) const;

  NoteKey log_;
  GrowingTree tree_;
  std::vector<AuditFinding> findings_;
  uint64_t finding_count_ = 0;
  std::map<StatementKind, uint64_t> counts_;
  uint64_t accepted_ = 0, rejected_ = 0;
  std::optional<DeploymentNotice> deployment_;
  std::map<std::string, ClientState> clients_;
  std::set<std::string> keys_;  // that some client has or had
  std::map<Sha256::Digest, HandedIn> handed_in_;
  std::vector<LoggedWindow> windows_;
};

}  // namespace zkapex
