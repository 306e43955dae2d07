#include "cli/network/audit_export.h"

#include "base/names.h"
#include "base/temporaries.h"
#include "log/receipt.h"

namespace zkapex::cli {

namespace {

// The entries that the record of a window consists of.
class EntriesOfWindow {
 public:
  explicit EntriesOfWindow(std::string window) : window_(std::move(window)) {}

  Status add(uint64_t index, ByteView entry, const Statement& statement) {
    std::string line(entry.begin(), entry.end());
    if (const auto* client = std::get_if<ClientNotice>(&statement)) {
      keys_[client->client].emplace_back(index, std::move(line));
    } else if (std::holds_alternative<DeploymentNotice>(statement) || belongs(statement)) {
      lines_.emplace(index, std::move(line));
    }
    return Done{};
  }

  // With the keys of the clients that are in the record.
  [[nodiscard]] std::map<uint64_t, std::string> with_keys(const LogAudit::LoggedWindow& window) const {
    std::map<uint64_t, std::string> out = lines_;
    for (const WindowRecord& record : window.records) {
      const auto keys = keys_.find(record.client);
      if (keys != keys_.end()) out.insert(keys->second.begin(), keys->second.end());
    }
    return out;
  }

 private:
  [[nodiscard]] bool belongs(const Statement& statement) const {
    if (const auto* notice = std::get_if<WindowNotice>(&statement)) return notice->window == window_;
    if (const auto* notice = std::get_if<SubmissionNotice>(&statement)) return notice->window == window_;
    if (const auto* notice = std::get_if<VerdictNotice>(&statement)) return notice->window == window_;
    return false;
  }

  std::string window_;
  std::map<uint64_t, std::string> lines_;
  std::map<std::string, std::vector<std::pair<uint64_t, std::string>>> keys_;
};

const LogAudit::LoggedWindow* find_window(const LogAudit& audit, const std::string& name) {
  for (const LogAudit::LoggedWindow& window : audit.windows()) {
    if (window.notice.window == name) return &window;
  }
  return nullptr;
}

Status write_text(TemporaryFolder& folder, const std::string& name, const std::string& text) {
  return write_file(folder.file(name), view(text));
}

}  // namespace

std::string compliance_table(const LogAudit::LoggedWindow& window) {
  std::string out = "client,submission_index,verdict_index,result,reason,received,verified,proof_sha256,leads_to\n";
  for (const WindowRecord& record : window.records) {
    out += fmt::format("{},{},", record.client, record.submission);
    if (!record.outcome) {
      out += ",WAITING,,,,,\n";
      continue;
    }
    const VerdictNotice& verdict = *record.outcome;
    out += fmt::format("{},{},{},{},{},{},{}\n", *record.verdict, verdict.passed() ? "PASSED" : "FAILED",
                       verdict.passed() ? "" : name(verdict.rejection->reason), to_rfc3339(verdict.received),
                       to_rfc3339(verdict.time), to_hex(verdict.file.sha256),
                       verdict.passed() ? to_hex(verdict.leads_to->commitment) : "");
  }
  return out;
}

Result<ExportReport> export_window(TileSource& source, const Policy& policy, const std::string& window,
                                   const Path& folder) {
  ZKAPEX_TRY(TemporaryFolder out, TemporaryFolder::create(folder));
  EntriesOfWindow entries(window);
  ZKAPEX_TRY(const Note checkpoint, read_checkpoint(source));
  ZKAPEX_TRY(const LogReading reading,
             read_log(source, policy, nullptr, [&](uint64_t index, ByteView entry, const Statement& statement) {
               return entries.add(index, entry, statement);
             }));
  ExportReport report;
  report.broken = reading.broken;
  if (!report.broken.empty()) return report;
  const LogAudit::LoggedWindow* found = find_window(*reading.audit, window);
  if (found == nullptr) return error("the log has no window {}", in_quotes(window));
  std::string lines;
  for (const auto& [index, line] : entries.with_keys(*found)) {
    lines += line + "\n";
    ++report.envelopes;
  }
  for (const WindowRecord& record : found->records)
    ++(!record.outcome ? report.waiting : record.outcome->passed() ? report.accepted : report.rejected);
  report.findings = reading.audit->finding_count();
  ZKAPEX_TRY(const Receipt deployment, make_receipt(source, 0, checkpoint));
  ZKAPEX_TRY(const Receipt published, make_receipt(source, found->index, checkpoint));
  ZKAPEX_CHECK(write_text(out, "clients.csv", compliance_table(*found)));
  ZKAPEX_CHECK(write_text(out, "envelopes.jsonl", lines));
  ZKAPEX_CHECK(write_text(out, "checkpoint", checkpoint.encode()));
  ZKAPEX_CHECK(write_text(out, "policy", policy.text()));
  ZKAPEX_CHECK(write_text(out, "deployment.tlog-proof", deployment.encode()));
  ZKAPEX_CHECK(write_text(out, "window.tlog-proof", published.encode()));
  ZKAPEX_CHECK(out.commit());
  return report;
}

}  // namespace zkapex::cli
