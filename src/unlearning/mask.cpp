#include "unlearning/mask.h"

#include <algorithm>
#include <iterator>

#include "base/names.h"
#include "unlearning/deployment.h"

namespace zkapex {

namespace {

void write_gap(uint64_t gap, ByteWriter& out) {
  for (; gap >= 128; gap >>= 7) out.u8(static_cast<uint8_t>(gap | 128));
  out.u8(static_cast<uint8_t>(gap));
}

// The shortest form only: no last byte of zero after others, nothing above 64 bits.
Result<uint64_t> read_gap(ByteReader& in) {
  uint64_t gap = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    ZKAPEX_TRY(const uint8_t byte, in.u8());
    const uint64_t bits = byte & 127U;
    if (shift == 63 && bits > 1) break;
    gap |= bits << shift;
    if (byte < 128) {
      if (byte == 0 && shift > 0) return error("a gap between coordinates is not in its shortest form");
      return gap;
    }
  }
  return error("a gap between coordinates is over 64 bits");
}

}  // namespace

Status Mask::check() const {
  ZKAPEX_CHECK(check_name(window, "the window identifier"));
  if (support.empty()) return error("the mask is empty");
  if (support.back() == ~uint64_t{0}) return error("the last coordinate of the mask is over the limit");
  for (size_t k = 1; k < support.size(); ++k)
    if (support[k - 1] >= support[k])
      return error("coordinate {} of the mask does not follow {}", support[k], support[k - 1]);
  return Done{};
}

Status Mask::check_for(const Deployment& of) const {
  ZKAPEX_CHECK(check());
  if (deployment != of.digest())
    return error("the mask was made for deployment {}, this one is {}", to_hex(deployment), to_hex(of.digest()));
  if (support.back() >= of.layout().coordinates())
    return error("the mask names coordinate {}, the layout has {}", support.back(), of.layout().coordinates());
  return Done{};
}

bool Mask::contains(const Mask& earlier) const { return std::ranges::includes(support, earlier.support); }

void Mask::continue_from(const Mask& earlier) {
  std::vector<uint64_t> both;
  both.reserve(support.size() + earlier.support.size());
  std::ranges::set_union(support, earlier.support, std::back_inserter(both));
  support = std::move(both);
  predecessor = earlier.digest();
}

Bytes Mask::content() const {
  ByteWriter out;
  out.raw(deployment);
  out.text(window);
  out.raw(nonce);
  out.raw(predecessor);
  out.u8(static_cast<uint8_t>(op));
  out.u64(support.size());
  uint64_t next = 0;  // the smallest coordinate that may follow
  for (const uint64_t coordinate : support) {
    write_gap(coordinate - next, out);
    next = coordinate + 1;
  }
  return out.take();
}

Result<Mask> Mask::parse(ByteView file) {
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
  if (count > in.left()) return error("truncated: {} coordinates do not fit in {} bytes", count, in.left());
  out.support.reserve(count);
  uint64_t next = 0;
  for (uint64_t k = 0; k < count; ++k) {
    ZKAPEX_TRY(const uint64_t gap, read_gap(in));
    uint64_t coordinate = 0;
    if (__builtin_add_overflow(next, gap, &coordinate) || coordinate == ~uint64_t{0})
      return error("coordinate number {} of the mask is over 64 bits", k);
    out.support.push_back(coordinate);
    next = coordinate + 1;
  }
  ZKAPEX_CHECK(in.finish());
  ZKAPEX_CHECK(out.check());
  return out;
}

}  // namespace zkapex
