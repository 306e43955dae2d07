// What is filed about one window: a table of who complied, and the signed statements that show it.
#pragma once

#include "exchange/audit_log.h"

namespace zkapex::cli {

struct ExportReport {
  std::string broken;  // as LogReading has it; nothing is written then
  uint64_t accepted = 0, rejected = 0, waiting = 0;
  uint64_t envelopes = 0, findings = 0;
};

// Into a new folder, which appears with all its files or not at all: clients.csv, envelopes.jsonl, checkpoint, policy,
// deployment.tlog-proof, window.tlog-proof.
[[nodiscard]] Result<ExportReport> export_window(TileSource& source, const Policy& policy, const std::string& window,
                                                 const Path& folder);

// One line of each proof that was handed in, after a line of names.
[[nodiscard]] std::string compliance_table(const LogAudit::LoggedWindow& window);

}  // namespace zkapex::cli
