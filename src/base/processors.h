// How many processors there are for this process: fewer than the machine has, in a container or under taskset.
#pragma once

#include <optional>
#include <string_view>

namespace zkapex {

// Those that it may run on, within the quota of its control groups (of version 2); at least one.
[[nodiscard]] unsigned usable_processors();

// Processors that nobody else uses just now, of those, at least one; all of those where the system does not tell. Takes
// a twentieth of a second.
[[nodiscard]] unsigned free_processors();

// Threads that run or wait for a processor, out of the text of /proc/loadavg.
[[nodiscard]] std::optional<unsigned> runnable_threads(std::string_view loadavg);

// As many processors as a control group's cpu.max lets work all the time, rounded up; nothing where it sets no limit.
[[nodiscard]] std::optional<unsigned> processors_of_quota(std::string_view cpu_max);

}  // namespace zkapex
