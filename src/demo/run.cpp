#include "demo/run.h"

#include <fmt/format.h>

#include <cstdio>

namespace zkapex::demo {

void Narrator::step(std::string_view who, std::string_view what) {
  ++step_;
  say(fmt::format("{:>2}. {:<9} {}", step_, who, what));
}

void Narrator::say(std::string_view line) const {
  if (silent_) return;
  fmt::print("{}\n", line);
  std::fflush(stdout);  // between lines of progress on the other stream
}

}  // namespace zkapex::demo
