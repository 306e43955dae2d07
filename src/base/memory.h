// How much memory the process uses, and how much it may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

struct MemoryUse {
  uint64_t resident = 0;  // bytes in memory now
  uint64_t peak = 0;      // the most there ever were
};

// Bytes that the machine has.
[[nodiscard]] uint64_t physical_memory();

// Fails where the system does not tell (no /proc).
[[nodiscard]] Result<MemoryUse> memory_use();
// Where the system allows it, the peak counts from here on.
void reset_memory_peak();

// From here on a large block that is freed goes back to the system at once, where the C library can: it keeps blocks up
// to 32 MB otherwise, and what was needed once counts for ever.
void give_memory_back_early();

// How much memory a piece of work needs beside what the process has already: the peak since construction less what was
// resident then. Zero where the system does not tell.
class MemoryMeter {
 public:
  MemoryMeter();
  [[nodiscard]] uint64_t most_added() const;

 private:
  uint64_t before_ = 0;
};

// "1536", "512M", "2G", "2GiB": bytes, or with K, M, G, T multiples of 1024. Zero and what overflows are errors.
[[nodiscard]] Result<uint64_t> parse_size(std::string_view text);
// "512 B", "1.5 GiB"
[[nodiscard]] std::string format_size(uint64_t bytes);

// A limit that decides how large a piece of work is cut.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : bytes_(bytes) {}
  [[nodiscard]] static Result<MemoryBudget> parse(std::string_view text);

  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // How many items of `item_bytes` (0 counts as 1) fit beside `fixed_bytes` that are needed in any case. Not even one:
  // an error that says how much is needed.
  [[nodiscard]] Result<size_t> items_that_fit(uint64_t item_bytes, uint64_t fixed_bytes = 0) const;

 private:
  uint64_t bytes_;
};

}  // namespace zkapex
