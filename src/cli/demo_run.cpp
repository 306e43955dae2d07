#include "cli/demo_run.h"

#include <fmt/format.h>

#include <cstdio>

namespace zkapex::cli {

void Narrator::step(std::string_view who, std::string_view what) {
  ++step_;
  say(fmt::format("{:>2}. {:<9} {}", step_, who, what));
}

void Narrator::say(std::string_view line) const {
  if (silent_) return;
  fmt::print("{}\n", line);
  std::fflush(stdout);  // between lines of progress on the other stream
}

Status make_folder(const Path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder.string(), failed.message());
  return Done{};
}

Status replace_file(const Path& from, const Path& to) {
  ZKAPEX_CHECK(make_folder(to.parent_path()));
  std::error_code failed;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return error("cannot copy {} to {}: {}", from.string(), to.string(), failed.message());
  return Done{};
}

}  // namespace zkapex::cli
