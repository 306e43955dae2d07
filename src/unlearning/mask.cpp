#include "unlearning/mask.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/names.h"
#include "unlearning/bounds.h"
#include "unlearning/deployment.h"

namespace zkapex {

namespace {

// Rice's code of gaps g: g >> k ones, a zero, then the low k bits of g, the lowest first, all in bits of bytes from the
// lowest on. k is the best one for gaps that are spread at random, 2^k ≤ 11/16 of their mean (ln 2 is 0.69).
unsigned rice_bits(std::span<const uint64_t> support) {
  if (support.empty()) return 0;
  const uint64_t mean = (support.back() - (support.size() - 1)) / support.size();
  return static_cast<unsigned>(std::bit_width(std::max<uint64_t>(1, mean / 2 + mean / 8 + mean / 16))) - 1;
}

class BitWriter {
 public:
  // The low bits, 56 of them at most.
  void put(uint64_t bits, unsigned count) {
    waiting_ |= bits << count_;
    for (count_ += count; count_ >= 8; count_ -= 8, waiting_ >>= 8) out_.push_back(static_cast<uint8_t>(waiting_));
  }
  Bytes take() {
    if (count_ > 0) out_.push_back(static_cast<uint8_t>(waiting_));
    return std::move(out_);
  }

 private:
  Bytes out_;
  uint64_t waiting_ = 0;
  unsigned count_ = 0;  // of bits that wait for a whole byte: below 8
};

// Reads zeros after the end, and then says so.
class BitReader {
 public:
  explicit BitReader(ByteView bytes) : bytes_(bytes) {}

  // Up to the zero after them.
  uint64_t ones() {
    uint64_t count = 0;
    while (true) {
      const unsigned here = std::min<unsigned>(static_cast<unsigned>(std::countr_one(ahead())), kAhead);
      count += here;
      used_ += here;
      if (here < kAhead) break;
    }
    ++used_;
    return count;
  }
  uint64_t take(unsigned count) {
    uint64_t out = 0;
    for (unsigned done = 0; done < count;) {
      const unsigned here = std::min(count - done, kAhead);
      out |= (ahead() & ((uint64_t{1} << here) - 1)) << done;
      used_ += here;
      done += here;
    }
    return out;
  }
  [[nodiscard]] bool past_the_end() const { return used_ > 8 * bytes_.size(); }
  // What is left are zeros up to the end of a byte.
  Status finish() {
    const size_t left = 8 * bytes_.size() - used_;
    if (left >= 8) return error("the mask's gaps end before their bytes do");
    if (take(static_cast<unsigned>(left)) != 0) return error("bits follow the mask's last gap");
    return Done{};
  }

 private:
  static constexpr unsigned kAhead = 56;

  // The next bits, kAhead of them at least.
  [[nodiscard]] uint64_t ahead() const {
    uint64_t out = 0;
    const size_t first = used_ / 8, count = std::min<size_t>(8, bytes_.size() - std::min(first, bytes_.size()));
    if (count == 8) {
      for (size_t k = 0; k < 8; ++k) out |= uint64_t{bytes_[first + k]} << (8 * k);  // one load
    } else {
      for (size_t k = 0; k < count; ++k) out |= uint64_t{bytes_[first + k]} << (8 * k);
    }
    return out >> (used_ % 8);
  }

  ByteView bytes_;
  size_t used_ = 0;
};

Bytes coded(std::span<const uint64_t> support, unsigned k) {
  constexpr unsigned kMost = 56;
  BitWriter out;
  uint64_t next = 0;  // the smallest coordinate that may follow
  for (const uint64_t coordinate : support) {
    const uint64_t gap = coordinate - next;
    uint64_t ones = gap >> k;
    for (; ones >= kMost; ones -= kMost) out.put((uint64_t{1} << kMost) - 1, kMost);
    out.put((uint64_t{1} << ones) - 1, static_cast<unsigned>(ones) + 1);
    const unsigned low = std::min(k, kMost);
    out.put(gap & ((uint64_t{1} << low) - 1), low);
    if (k > low) out.put(gap >> low & ((uint64_t{1} << (k - low)) - 1), k - low);
    next = coordinate + 1;
  }
  return out.take();
}

Result<std::vector<uint64_t>> decoded(ByteView bytes, uint64_t count, unsigned k) {
  if (k >= 64) return error("gaps have {} low bits, more than 63", k);
  if (count > 8 * bytes.size()) return error("truncated: {} coordinates do not fit in {} bytes", count, bytes.size());
  std::vector<uint64_t> out;
  out.reserve(count);
  BitReader in(bytes);
  uint64_t next = 0;
  for (uint64_t index = 0; index < count; ++index) {
    const uint64_t high = in.ones(), low = in.take(k);
    if (in.past_the_end()) return error("truncated: the mask's gaps end early");
    uint64_t coordinate = 0;
    if (high > ~uint64_t{0} >> k || __builtin_add_overflow(next, high << k | low, &coordinate) ||
        coordinate == ~uint64_t{0})
      return error("coordinate number {} of the mask is over 64 bits", index);
    out.push_back(coordinate);
    next = coordinate + 1;
  }
  ZKAPEX_CHECK(in.finish());
  if (k != rice_bits(out)) return error("the mask's gaps are not in their one code");
  return out;
}

}  // namespace

Status Guidance::check() const {
  if (pull > kMaxPull) return error("a pull of {} is over {}", pull, kMaxPull);
  if (progress > kThousand) return error("progress of {} thousandths is more than all", progress);
  if (distance > kMaxDistance || distance_removed > kMaxDistance)
    return error("distances of {} and {} thousandths are over {}", distance, distance_removed, kMaxDistance);
  return check_name(method, "the name of the guide's method");
}

void Guidance::serialize(ByteWriter& out) const {
  out.text(method);
  out.u64(pull);
  out.u32(progress);
  out.u32(distance);
  out.u32(distance_removed);
  guide.serialize(out);
}

Result<Guidance> Guidance::parse(ByteReader& in) {
  Guidance out;
  ZKAPEX_TRY(out.method, in.text(Mask::kMaxWindow));
  ZKAPEX_TRY(out.pull, in.u64());
  ZKAPEX_TRY(out.progress, in.u32());
  ZKAPEX_TRY(out.distance, in.u32());
  ZKAPEX_TRY(out.distance_removed, in.u32());
  ZKAPEX_TRY(out.guide, Guide::parse(in));
  return out;
}

Status Mask::check() const {
  ZKAPEX_CHECK(check_name(window, "the window identifier"));
  if ((op == Operator::kGuided) != guidance.has_value())
    return error("the operator {} {}", name(op), guidance ? "has no guide" : "needs a guide");
  if (guidance) {
    ZKAPEX_CHECK(guidance->check());
  }
  if (support.empty() && !guidance) return error("the mask is empty");
  if (!support.empty() && support.back() == ~uint64_t{0})
    return error("the last coordinate of the mask is over the limit");
  for (size_t k = 1; k < support.size(); ++k)
    if (support[k - 1] >= support[k])
      return error("coordinate {} of the mask does not follow {}", support[k], support[k - 1]);
  return Done{};
}

Status Mask::check_for(const Deployment& of) const {
  ZKAPEX_CHECK(check());
  if (deployment != of.digest())
    return error("the mask was made for deployment {}, this one is {}", to_hex(deployment), to_hex(of.digest()));
  if (!support.empty() && support.back() >= of.layout().coordinates())
    return error("the mask names coordinate {}, the layout has {}", support.back(), of.layout().coordinates());
  if (guidance) {
    ZKAPEX_CHECK(guidance->guide.check_for(of, support));
  }
  ZKAPEX_TRY([[maybe_unused]] const WindowBounds bounds, window_bounds(of, *this));
  return Done{};
}

std::vector<std::string> Mask::loose() const {
  std::vector<std::string> out;
  if (guidance && guidance->progress == 0)
    out.emplace_back("the request asks for no progress: a client need not follow its guide");
  if (guidance && std::max(guidance->distance, guidance->distance_removed) > 10 * Guidance::kThousand)
    out.emplace_back("the request allows distances above 10: a client may stay far from where its guide draws it");
  return out;
}

bool Mask::contains(const Mask& earlier) const { return std::ranges::includes(support, earlier.support); }

Status Mask::continue_from(const Mask& earlier) {
  if (earlier.window == window)
    return error("this is the mask of the window '{}' itself; give --window a new name", window);
  std::vector<uint64_t> both;
  both.reserve(support.size() + earlier.support.size());
  std::ranges::set_union(support, earlier.support, std::back_inserter(both));
  support = std::move(both);
  predecessor = earlier.digest();
  return Done{};
}

Bytes Mask::content() const {
  ByteWriter out;
  out.raw(deployment);
  out.text(window);
  out.raw(nonce);
  out.raw(predecessor);
  out.u8(static_cast<uint8_t>(op));
  const unsigned k = rice_bits(support);
  const Bytes gaps = coded(support, k);
  out.u64(support.size());
  out.u8(static_cast<uint8_t>(k));
  out.u64(gaps.size());
  out.raw(gaps);
  if (guidance) guidance->serialize(out);
  return out.take();
}

Result<Mask> Mask::parse(ByteView file, uint64_t most) {
  ZKAPEX_TRY(const ByteView body, unframe(kKind, file));
  ByteReader in(body);
  Mask out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.window, in.text(kMaxWindow));
  ZKAPEX_TRY(out.nonce, in.array<32>());
  ZKAPEX_TRY(out.predecessor, in.array<32>());
  ZKAPEX_TRY(const uint8_t number, in.u8());
  ZKAPEX_TRY(out.op, operator_numbered(number));
  ZKAPEX_TRY(const uint64_t count, in.u64());
  if (count > most) return error("the mask names {} coordinates, the layout has {}", count, most);
  ZKAPEX_TRY(const uint8_t k, in.u8());
  ZKAPEX_TRY(const uint64_t length, in.u64());
  ZKAPEX_TRY(const ByteView gaps, in.raw(length));
  ZKAPEX_TRY(out.support, decoded(gaps, count, k));
  if (out.op == Operator::kGuided) {
    ZKAPEX_TRY(out.guidance, Guidance::parse(in));
  }
  ZKAPEX_CHECK(in.finish());
  ZKAPEX_CHECK(out.check());
  return out;
}

}  // namespace zkapex
