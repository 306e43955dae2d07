// When an agent does what. Times are seconds since 1970; `chance` is a random number from 0 up to, but not, 1, so that
// agents that were started together do not stay together.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace zkapex {

using Chance = std::function<double()>;

// Between half of the interval and one and a half of it from now.
[[nodiscard]] int64_t next_poll(int64_t now, int64_t interval, double chance);

// After so many failures in a row: from half of to all of 4, 8, 16, … seconds, at most an hour, and not before the
// other side asked for.
[[nodiscard]] int64_t next_try(int64_t now, uint64_t failures, uint64_t retry_after, double chance);

// Where in the first two thirds of a window's time an agent begins: always the same for the same agent and window.
[[nodiscard]] int64_t own_start(int64_t opens, int64_t deadline, std::string_view agent, std::string_view window);

// Uniform, from the operating system; 0 where that has none.
[[nodiscard]] double system_chance();

}  // namespace zkapex
