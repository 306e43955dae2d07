#include "cli/service/bench_workers.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

extern char** environ;

namespace zkapex::cli {

namespace {

constexpr size_t kMostOutput = size_t{1} << 20;

// This program, with other arguments; its standard output goes into a file.
Result<pid_t> start_process(std::vector<std::string> words, const Path& output) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return error("a worker cannot be started: {}", std::generic_category().message(failed));
  return child;
}

// Until it says so itself.
Status wait_until_started(pid_t process, const Path& output) {
  for (int round = 0; round < 15'000; ++round) {
    ZKAPEX_TRY(const Bytes said, read_file(output, kMostOutput));
    const std::string_view text(reinterpret_cast<const char*>(said.data()), said.size());
    if (text.find("\"started\"") != std::string_view::npos) return Done{};
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)
      return error("a worker ended before it had started");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return error("a worker does not start");
}

}  // namespace

Result<WorkerProcesses> WorkerProcesses::start(const Path& folder, const Path& scratch, unsigned count,
                                               size_t threads) {
  WorkerProcesses out;
  std::vector<Path> outputs;
  for (unsigned k = 0; k < count; ++k) {
    outputs.push_back(scratch / fmt::format("worker-{}.log", k));
    ZKAPEX_TRY(const pid_t process, start_process({"zkapex", "provider", "run", "--folder", folder.string(), "--role",
                                                   "work", "--threads", std::to_string(threads), "--log-json"},
                                                  outputs.back()));
    out.processes_.push_back(process);
  }
  for (unsigned k = 0; k < count; ++k) ZKAPEX_CHECK(wait_until_started(out.processes_[k], outputs[k]));
  return out;
}

Result<uint64_t> WorkerProcesses::end() {
  uint64_t most = 0;
  bool all = true;
  for (const pid_t process : processes_) ::kill(process, SIGTERM);
  for (const pid_t process : std::exchange(processes_, {})) {
    int status = 0;
    rusage used{};
    if (::wait4(process, &status, 0, &used) < 0 || status != 0) all = false;
    most = std::max(most, static_cast<uint64_t>(used.ru_maxrss) * 1024);
  }
  if (!all) return error("a worker did not end as it should");
  return most;
}

WorkerProcesses::~WorkerProcesses() { static_cast<void>(end().ok()); }

}  // namespace zkapex::cli
