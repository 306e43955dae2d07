// What the commands that register, unlearn and verify share: how they work and how they report.
#pragma once

#include <string>

#include "attestation/files.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "parties/work.h"

namespace zkapex::cli {

// $ZKAPEX_CACHE, else $XDG_CACHE_HOME/zkapex, else ~/.cache/zkapex; empty (no cache) without any of them.
[[nodiscard]] Path cache_folder();

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

void print_warnings(const std::vector<std::string>& warnings);

// About a mask that removes all there is.
[[nodiscard]] std::vector<std::string> mask_warnings(uint64_t masked, uint64_t covered);

[[nodiscard]] std::string report_as_text(const Report& report);

[[nodiscard]] nlohmann::ordered_json timings_as_json(const Timings& timings);
[[nodiscard]] nlohmann::ordered_json history_as_json(const History& history);

// Refuses at once, before any work is done: what exists without `force`, and with it what the command reads or what
// opens a client's commitments. An empty path is no output.
[[nodiscard]] Status check_output(const Path& path, bool force, const std::vector<Path>& inputs = {});

}  // namespace zkapex::cli
