#include "base/process.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

extern char** environ;

namespace zkapex {

namespace {

std::string reason(int code) { return std::generic_category().message(code); }

struct Pipe {
  int read = -1, write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write();
    if (read >= 0) ::close(read);
  }
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

Result<std::string> read_all(int file) {
  std::string out;
  char buffer[4096];
  while (true) {
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error("{}", reason(errno));
    if (count == 0) return out;
    out.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

Result<std::string> run_program(const Path& program, const std::vector<std::string>& arguments) {
  Pipe pipe;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return error("{} cannot be started: {}", program.string(), reason(errno));
  pipe.read = ends[0];
  pipe.write = ends[1];
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.write, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return error("{} cannot be started: {}", program.string(), reason(failed));
  pipe.close_write();  // else the end of what the child writes would never be seen
  Result<std::string> out = read_all(pipe.read);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return error("{} was lost: {}", program.string(), reason(errno));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return error("'{}' {}", fmt::join(words, " "),
                 WIFEXITED(status) ? fmt::format("ended with {}", WEXITSTATUS(status))
                                   : fmt::format("was stopped by signal {}", WTERMSIG(status)));
  }
  return out;
}

}  // namespace zkapex
