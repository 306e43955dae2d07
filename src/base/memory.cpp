#include "base/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>

#include "base/files.h"

namespace zkapex {

namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

// The number of "VmHWM:    1234 kB" in /proc/self/status, in bytes.
Result<uint64_t> field(std::string_view status, std::string_view name) {
  size_t at = status.find(name);
  if (at == std::string_view::npos) return error("/proc/self/status has no {}", name);
  at = status.find_first_of("0123456789", at + name.size());
  uint64_t kibibytes = 0;
  if (at == std::string_view::npos ||
      std::from_chars(status.data() + at, status.data() + status.size(), kibibytes).ec != std::errc()) {
    return error("/proc/self/status has no number for {}", name);
  }
  return kibibytes * 1024;
}

}  // namespace

uint64_t physical_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<MemoryUse> memory_use() {
  ZKAPEX_TRY(const Bytes bytes, read_file("/proc/self/status", size_t{1} << 20));
  const std::string_view status(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  MemoryUse use;
  ZKAPEX_TRY(use.resident, field(status, "VmRSS:"));
  ZKAPEX_TRY(use.peak, field(status, "VmHWM:"));
  return use;
}

void reset_memory_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

MemoryMeter::MemoryMeter() {
  reset_memory_peak();
  const Result<MemoryUse> use = memory_use();
  if (use.ok()) before_ = use->resident;
}

uint64_t MemoryMeter::most_added() const {
  const Result<MemoryUse> use = memory_use();
  return use.ok() && use->peak > before_ ? use->peak - before_ : 0;
}

void give_memory_back_early() {
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kLarge);
#endif
}

Result<uint64_t> parse_size(std::string_view text) {
  uint64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::result_out_of_range) return error("the size {} is too large", text);
  std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (unit.size() == 3 && unit.ends_with("iB")) unit.remove_suffix(2);
  const size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit) + 1;
  if (code != std::errc() || unit.size() > 1 || (!unit.empty() && power == 0)) {
    return error("'{}' is not a size; write bytes, or a number with K, M, G or T, such as 512M", text);
  }
  if (number == 0) return error("a size of 0 makes no sense here");
  const unsigned shift = static_cast<unsigned>(10 * power);
  if (number > (kMax >> shift)) return error("the size {} is too large", text);
  return number << shift;
}

std::string format_size(uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Result<MemoryBudget> MemoryBudget::parse(std::string_view text) {
  ZKAPEX_TRY(const uint64_t bytes, parse_size(text));
  if (text.find_first_of("KMGT") == text.npos)  // a forgotten letter, more often than bytes
    return error("'{}' has no unit; write 512M or 2G", text);
  return MemoryBudget(bytes);
}

Result<size_t> MemoryBudget::items_that_fit(uint64_t item_bytes, uint64_t fixed_bytes) const {
  item_bytes = std::max<uint64_t>(item_bytes, 1);
  const uint64_t room = bytes_ > fixed_bytes ? bytes_ - fixed_bytes : 0;
  if (room < item_bytes) {
    const uint64_t needed = item_bytes > kMax - fixed_bytes ? kMax : fixed_bytes + item_bytes;
    return error("at least {} of memory are needed, but the budget is {}; raise it with --memory", format_size(needed),
                 format_size(bytes_));
  }
  return static_cast<size_t>(room / item_bytes);
}

}  // namespace zkapex
