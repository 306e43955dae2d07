// What else the machine is busy with.
#pragma once

#include <optional>
#include <string_view>

namespace zkapex {

// Threads that run or wait for a processor, out of the text of /proc/loadavg.
[[nodiscard]] std::optional<unsigned> runnable_threads(std::string_view loadavg);

// Processors that nobody else uses just now, at least one; all of them where the system does not tell. Takes a
// twentieth of a second.
[[nodiscard]] unsigned free_processors();

}  // namespace zkapex
