// What the commands that register, unlearn and verify share: how they work and how they report.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/command.h"
#include "parties/output_check.h"
#include "parties/report_values.h"
#include "parties/work.h"

namespace zkapex::cli {

// Threads and settings as the flags say.
class Work {
 public:
  explicit Work(const CommonFlags& flags);

  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] const WorkSettings& settings() const { return settings_; }

 private:
  ThreadPool pool_;
  WorkSettings settings_;
};

// One line, and named values: the same for people and for programs. Warnings are lines on stderr, and in the JSON a
// list.
struct Report {
  std::string headline;  // text only
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  std::vector<std::string> warnings = {};

  void print(bool json) const;
};

// What --estimate asks for.
[[nodiscard]] Report estimate_report(const Estimate& estimate);

void print_warnings(const std::vector<std::string>& warnings);

[[nodiscard]] std::string report_as_text(const Report& report);

}  // namespace zkapex::cli
