// How clients and providers work: what all of their steps share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "argument/generators.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/threads.h"
#include "parties/estimate.h"

namespace zkapex {

// Hears how far work is, from the thread that asked for it; its error ends the work.
using WorkObserver = std::function<Status(std::string_view label, uint64_t done, uint64_t total)>;

struct WorkSettings {
  ThreadPool* pool = nullptr;
  Path cache;  // of generators
  // A budget to stay within, or to be refused for: parties/memory_plan.h. Without one, what is usual is kept to where
  // it can be.
  static constexpr uint64_t kUsualMemory = uint64_t{280} << 20;
  std::optional<uint64_t> memory = {};
  std::function<void(const Estimate&)> announce = {};  // hears what the work will take before it begins
  ProgressStyle progress = ProgressStyle::kSilent;
  bool force = false;         // replace outputs that exist
  WorkObserver observe = {};  // beside what is shown; none where it is empty
};

// Progress that is shown, and told to the observer.
class WorkProgress {
 public:
  WorkProgress(const WorkSettings& settings, std::string label, std::string unit, uint64_t total);

  // From one thread. An error if the observer wants no more.
  [[nodiscard]] Status advance(uint64_t count = 1);

 private:
  const WorkObserver& observe_;
  std::string label_;
  uint64_t done_ = 0, total_;
  Progress shown_;
};

// $ZKAPEX_CACHE, else $XDG_CACHE_HOME/zkapex, else ~/.cache/zkapex; empty (no cache) without any of them.
[[nodiscard]] Path cache_folder();

// Generators for at least `count` positions; small sets are not worth a file.
[[nodiscard]] Generators load_generators(size_t count, const WorkSettings& settings);

}  // namespace zkapex
