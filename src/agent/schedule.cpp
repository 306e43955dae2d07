#include "agent/schedule.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/random.h"

namespace zkapex {

namespace {

constexpr int64_t kFirstWait = 4;
constexpr int64_t kLongestWait = 3600;
constexpr uint64_t kMostDoublings = 20;

// From 0 up to, but not, 1: the first 53 bits.
double fraction(ByteView bytes) {
  uint64_t bits = 0;
  for (size_t k = 0; k < 8; ++k) bits = bits << 8 | bytes[k];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

int64_t next_poll(int64_t now, int64_t interval, double chance) {
  return now + interval / 2 + static_cast<int64_t>(static_cast<double>(interval) * chance);
}

int64_t next_try(int64_t now, uint64_t failures, uint64_t retry_after, double chance) {
  const int64_t wait = std::min(kLongestWait, kFirstWait << std::min(failures, kMostDoublings) >> 1);
  const int64_t own = wait - static_cast<int64_t>(static_cast<double>(wait) / 2 * chance);
  return now + std::max(own, static_cast<int64_t>(std::min<uint64_t>(retry_after, INT32_MAX)));
}

int64_t own_start(int64_t opens, int64_t deadline, std::string_view agent, std::string_view window) {
  if (deadline <= opens) return opens;
  ByteWriter message;
  message.text(agent);
  message.text(window);
  const double part = fraction(sha256(message.bytes()));
  return opens + static_cast<int64_t>(static_cast<double>(deadline - opens) * 2 / 3 * part);
}

double system_chance() {
  const auto bytes = random_array<8>();
  return bytes ? fraction(*bytes) : 0;
}

}  // namespace zkapex
