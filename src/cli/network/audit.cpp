// zkapex audit: what anybody can check of a provider's log.
#include <fmt/format.h>

#include <memory>

#include "agent/log_view.h"
#include "base/names.h"
#include "base/temporaries.h"
#include "cli/network/audit_export.h"
#include "cli/network/names.h"
#include "cli/work.h"
#include "exchange/audit_log.h"
#include "exchange/receipt_audit.h"
#include "exchange/reverify.h"

namespace zkapex::cli {

namespace {

struct ReceiptOptions {
  CommonFlags common;
  Path receipt, policy, deployment, entry;
};

struct LogOptions {
  CommonFlags common;
  std::string log;
  Path policy, since, files, base;
};

struct ExportOptions {
  CommonFlags common;
  std::string log, window;
  Path policy, out;
};

// A folder, or a server.
class LogSource {
 public:
  explicit LogSource(const std::string& log) {
    if (log.starts_with("http://") || log.starts_with("https://")) {
      web_ = make_web_client();
      tiles_ = std::make_unique<WebTiles>(*web_, log.ends_with('/') ? log.substr(0, log.size() - 1) : log);
    } else {
      tiles_ = std::make_unique<TileFolder>(log);
    }
  }
  [[nodiscard]] TileSource& tiles() { return *tiles_; }

 private:
  std::unique_ptr<WebClient> web_;
  std::unique_ptr<TileSource> tiles_;
};

Result<Outcome> report_rejected(const CommonFlags& flags, const std::string& why) {
  Report{fmt::format("rejected: {}", why), rejected_as_json(why)}.print(flags.json);
  return Outcome::kRejected;
}

std::string text_of_bytes(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

Result<OpenedReceipt> read_receipt(const Path& file, const Path& entry_file) {
  Bytes entry;
  if (!entry_file.empty()) {
    ZKAPEX_TRY(entry, read_file(entry_file, kMaxEntryBytes));
  }
  ZKAPEX_TRY(const Bytes bytes, read_file(file, Receipt::kMaxFileBytes));
  Result<OpenedReceipt> out = open_receipt(text_of_bytes(bytes), entry);
  if (!out) return out.error().within(file.string());
  return out;
}

Result<Outcome> run_receipt(const ReceiptOptions& options) {
  ZKAPEX_TRY(const Policy policy, Policy::read(options.policy));
  ZKAPEX_TRY(const OpenedReceipt receipt, read_receipt(options.receipt, options.entry));
  std::optional<OpenedReceipt> deployment;
  if (!options.deployment.empty()) {
    ZKAPEX_TRY(deployment, read_receipt(options.deployment, {}));
  }
  const Result<ReceiptAudit> audit = audit_receipt(receipt, policy, deployment ? &*deployment : nullptr);
  if (!audit) return report_rejected(options.common, audit.error().message);
  Report report{"the entry is in the log", as_json(*audit)};
  if (audit->verdict() != nullptr && !audit->provider_checked)
    report.warnings.emplace_back("the provider's signature was not checked: give --deployment");
  report.print(options.common.json);
  return Outcome::kDone;
}

nlohmann::ordered_json as_json(const std::vector<AuditFinding>& findings) {
  auto out = nlohmann::ordered_json::array();
  for (const AuditFinding& finding : findings) out.push_back({{"index", finding.index}, {"what", finding.what}});
  return out;
}

Result<std::optional<Note>> read_note(const Path& file) {
  if (file.empty()) return std::optional<Note>();
  ZKAPEX_TRY(const Bytes bytes, read_file(file, kMaxNoteBytes));
  ZKAPEX_TRY(Note out, Note::parse(text_of_bytes(bytes)));
  return std::optional(std::move(out));
}

Result<Outcome> report_log(const LogOptions& options, const LogReading& reading, const Reverifier* proofs) {
  if (!reading.broken.empty()) return report_rejected(options.common, reading.broken);
  std::vector<AuditFinding> findings = reading.audit->findings();
  uint64_t count = reading.audit->finding_count();
  if (proofs != nullptr) {
    findings.insert(findings.end(), proofs->findings().begin(), proofs->findings().end());
    count += proofs->findings().size();
  }
  const AuditTotals totals = reading.audit->totals();
  Report report{count == 0 ? "the log keeps its rules" : fmt::format("rejected: {} entries break a rule", count), {}};
  report.values["verdict"] = count == 0 ? "accepted" : "rejected";
  report.values["log"] = reading.opened->checkpoint.origin;
  report.values["size"] = reading.opened->checkpoint.size;
  report.values["root"] = to_hex(reading.opened->checkpoint.root);
  report.values["witnesses"] = reading.opened->seen_by.size();
  for (const auto& [kind, number] : totals.entries) report.values[fmt::format("{}_entries", name(kind))] = number;
  report.values["accepted"] = totals.accepted;
  report.values["rejected"] = totals.rejected;
  report.values["waiting"] = totals.waiting;
  if (proofs != nullptr) {
    report.values["verified_again"] = proofs->verified();
    report.values["not_at_hand"] = proofs->missing();
  }
  if (options.common.json) {
    report.values["findings"] = as_json(findings);
  } else {
    for (const AuditFinding& finding : findings)
      report.warnings.push_back(fmt::format("entry {}: {}", finding.index, finding.what));
  }
  report.print(options.common.json);
  return count == 0 ? Outcome::kDone : Outcome::kRejected;
}

Result<Outcome> run_log(const LogOptions& options) {
  ZKAPEX_TRY(const Policy policy, Policy::read(options.policy));
  ZKAPEX_TRY(const std::optional<Note> since, read_note(options.since));
  LogSource source(options.log);
  if (options.files.empty()) {
    ZKAPEX_TRY(const LogReading reading, read_log(source.tiles(), policy, since ? &*since : nullptr));
    return report_log(options, reading, nullptr);
  }
  // A ledger of one's own, gone with this command.
  ZKAPEX_TRY(const TemporaryName scratch,
             TemporaryName::beside(std::filesystem::temp_directory_path() / "zkapex-audit"));
  Work work(options.common);
  Reverifier proofs(options.files, options.base, scratch.path(), work.settings());
  Result<LogReading> reading =
      read_log(source.tiles(), policy, since ? &*since : nullptr,
               [&](uint64_t index, ByteView entry, const Statement& s) { return proofs.add(index, entry, s); });
  std::error_code ignored;
  std::filesystem::remove_all(scratch.path(), ignored);
  if (!reading) return reading.error();
  return report_log(options, *reading, &proofs);
}

Result<Outcome> run_export(const ExportOptions& options) {
  ZKAPEX_TRY(const Policy policy, Policy::read(options.policy));
  LogSource source(options.log);
  ZKAPEX_TRY(const ExportReport exported, export_window(source.tiles(), policy, options.window, options.out));
  if (!exported.broken.empty()) return report_rejected(options.common, exported.broken);
  Report report{fmt::format("window {}: {} accepted, {} rejected, {} waiting", in_quotes(options.window),
                            exported.accepted, exported.rejected, exported.waiting),
                {}};
  report.values = {{"window", options.window},      {"accepted", exported.accepted},   {"rejected", exported.rejected},
                   {"waiting", exported.waiting},   {"envelopes", exported.envelopes}, {"findings", exported.findings},
                   {"folder", options.out.string()}};
  report.print(options.common.json);
  return exported.findings == 0 ? Outcome::kDone : Outcome::kRejected;
}

}  // namespace

void add_audit(Command parent, Action& action) {
  const Command audit = parent.add_command(kAudit.name, kAudit.about);
  audit.needs_command();

  const auto receipt = std::make_shared<ReceiptOptions>();
  const Command one = audit.add_command("receipt", "Check offline that an entry is in a log, and say what it is");
  one.add_option("receipt", receipt->receipt, "A receipt (.tlog-proof), as a client keeps it").required();
  one.add_option("--policy", receipt->policy, "Which logs and witnesses are trusted").required();
  one.add_option("--deployment", receipt->deployment,
                 "The receipt of the log's first entry: a verdict must be signed by the provider that it names");
  one.add_option("--entry", receipt->entry, "The entry, where the receipt does not have it");
  receipt->common.offer_json(one);
  one.footer(
      "Exit status 1 where the receipt proves nothing: another log, too few witnesses, another entry, a false "
      "signature.\nWhat a verdict says is told in its result: a receipt of a rejection is as good as one of an "
      "acceptance.\n\n"
      "Example:\n"
      "  zkapex audit receipt verdict.tlog-proof --policy policy --deployment deployment.tlog-proof");
  one.runs(action, [receipt] { return run_receipt(*receipt); });

  const auto log = std::make_shared<LogOptions>();
  const Command whole = audit.add_command("log", "Read a whole log and check every entry of it");
  whole.add_option("log", log->log, "The log's folder, or its address (https://host/log)").required();
  whole.add_option("--policy", log->policy, "Which logs and witnesses are trusted").required();
  whole.add_option("--since", log->since, "A checkpoint that was seen before, which the log has to continue");
  whole.add_option("--files", log->files, "A folder with files by their SHA-256: verdicts on them are made again");
  whole.add_option("--base", log->base, "The base model, where the deployment has an anchor");
  log->common.offer_json(whole);
  log->common.offer_quiet(whole);
  log->common.offer_threads(whole);
  log->common.offer_memory(whole);
  whole.footer(
      "Checks the checkpoint's signatures, every tile, who signed each entry, that each client's models follow each "
      "other\nwithout a gap, each window once and in time, each verdict once and within the promised delay, and that "
      "clients were\ncommitted before the request was published. docs/log.md lists the rules. Exit status 1 where one "
      "is broken.\n\n"
      "Examples:\n"
      "  zkapex audit log https://provider.example/log --policy policy\n"
      "  zkapex audit log provider/log --policy policy --files provider/blobs");
  whole.runs(action, [log] { return run_log(*log); });

  const auto exported = std::make_shared<ExportOptions>();
  const Command file = audit.add_command("export", "Write what is to be filed about one window");
  file.add_option("log", exported->log, "The log's folder, or its address").required();
  file.add_option("--policy", exported->policy, "Which logs and witnesses are trusted").required();
  file.add_option("--window", exported->window, "The window's identifier").required();
  file.add_option("-o,--out", exported->out, "A new folder").required();
  exported->common.offer_json(file);
  file.footer(
      "Writes clients.csv (one line for each proof that was handed in), envelopes.jsonl (the signed statements that "
      "belong\nto it), the checkpoint, the policy, and receipts of the deployment and of the window.");
  file.runs(action, [exported] { return run_export(*exported); });
}

}  // namespace zkapex::cli
