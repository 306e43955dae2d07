// The role `work` in processes of its own, as a provider would run it beside the others.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/files.h"

namespace zkapex::cli {

class WorkerProcesses {
 public:
  // All have started when it returns. `folder` is the provider's; what they say goes into files in `scratch`.
  [[nodiscard]] static Result<WorkerProcesses> start(const Path& folder, const Path& scratch, unsigned count,
                                                     size_t threads);
  WorkerProcesses(WorkerProcesses&&) = default;
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;
  ~WorkerProcesses();

  // Ends them in order; the most memory that one of them had.
  [[nodiscard]] Result<uint64_t> end();

 private:
  WorkerProcesses() = default;
  std::vector<pid_t> processes_;
};

}  // namespace zkapex::cli
