// How clients and providers work: what all of their steps share.
#pragma once

#include "argument/generators.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/threads.h"

namespace zkapex {

struct WorkSettings {
  ThreadPool* pool = nullptr;
  Path cache;                             // of generators
  uint64_t memory = uint64_t{640} << 20;  // see parties/memory_plan.h
  ProgressStyle progress = ProgressStyle::kSilent;
  bool force = false;  // replace outputs that exist
};

// Generators for at least `count` positions; small sets are not worth a file.
[[nodiscard]] Generators load_generators(size_t count, const WorkSettings& settings);

}  // namespace zkapex
