#include "algebra/row_strips.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace zkapex {

namespace {

static_assert(std::endian::native == std::endian::little, "groups are read and written as words");

constexpr size_t kSampledRows = 512;
constexpr unsigned kByte = 8;

constexpr uint64_t repeat(uint64_t value, unsigned every) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64; shift += every) out |= value << shift;
  return out;
}
constexpr uint64_t low_bits(unsigned count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

// What happens to eight bytes of which w bits are kept.
struct Narrowing {
  constexpr explicit Narrowing(unsigned w)
      : width(w),
        bias(w == 0 || w == kByte ? 0 : repeat(uint64_t{1} << (w - 1), 8)),
        beyond(w == kByte ? 0 : repeat(~low_bits(w) & 0xff, 8)),
        bytes(repeat(low_bits(w), 8)),
        pairs(repeat(low_bits(w), 16)),
        fours(repeat(low_bits(2 * w), 32)),
        eights(low_bits(4 * w)) {}

  // Non-zero in the bytes whose v + 2^(w−1) is not in [0, 2^w): no sum here carries into the next byte.
  [[nodiscard]] uint64_t misfits(uint64_t entries) const {
    constexpr uint64_t kSigns = repeat(0x80, 8);
    return (((entries & ~kSigns) + bias) ^ (entries & kSigns)) & beyond;
  }
  // The lowest w bits of each byte side by side: halves meet three times.
  [[nodiscard]] uint64_t narrowed(uint64_t x) const {
    x &= bytes;
    x = (x & pairs) | ((x >> (8 - width)) & (pairs << width));
    x = (x & fours) | ((x >> (16 - 2 * width)) & (fours << (2 * width)));
    return (x & eights) | ((x >> (32 - 4 * width)) & (eights << (4 * width)));
  }
  // q of v = low + 2^w q
  [[nodiscard]] int16_t multiple(int8_t entry) const {
    return static_cast<int16_t>((entry + static_cast<int>(bias & 0xff)) >> width);
  }

  unsigned width;
  uint64_t bias, beyond, bytes, pairs, fours, eights;
};

constexpr std::array<Narrowing, kByte + 1> kNarrowings = {Narrowing(0), Narrowing(1), Narrowing(2),
                                                          Narrowing(3), Narrowing(4), Narrowing(5),
                                                          Narrowing(6), Narrowing(7), Narrowing(8)};

// How many bytes are not zero.
size_t bytes_set(uint64_t x) {
  constexpr uint64_t kSigns = repeat(0x80, 8);
  const uint64_t set = ((((x & ~kSigns) + ~kSigns) | x) & kSigns) >> 7;  // one bit a byte, which a product adds up
  return set * repeat(1, 8) >> 56;
}

// Eight entries of one byte each; those past the end of the row are zero.
class GroupLoader {
 public:
  GroupLoader(const PackedRows& rows, size_t group)
      : data_(rows.data + group * kGroupColumns),
        stride_(rows.row_stride_bytes),
        bytes_(std::min(kGroupColumns, rows.entries - group * kGroupColumns)) {}
  uint64_t operator()(size_t row) const {
    uint64_t out = 0;
    if (bytes_ == kGroupColumns) {
      std::memcpy(&out, data_ + row * stride_, kGroupColumns);  // one load
    } else {
      std::memcpy(&out, data_ + row * stride_, bytes_);
    }
    return out;
  }

 private:
  const uint8_t* data_;
  size_t stride_, bytes_;
};

}  // namespace

RowStrips::RowStrips(const PackedRows& rows, unsigned chunk_bits, size_t chunks, const Costs& costs)
    : rows_(rows), widths_((rows.entries + kGroupColumns - 1) / kGroupColumns, static_cast<uint8_t>(rows.bits)) {
  if (rows.bits == kByte && rows.rows >= kSampledRows) choose_widths(costs);
  cut(chunk_bits, chunks);
}

void RowStrips::choose_widths(const Costs& costs) {
  // Odd: rows may repeat with a power of two, as where several make up one square of a curvature.
  const size_t step = (rows_.rows / kSampledRows) | 1;
  for (size_t group = 0; group < widths_.size(); ++group) {
    const GroupLoader load(rows_, group);
    std::array<size_t, kByte> misfits{};
    size_t sampled = 0;
    for (size_t r = 0; r < rows_.rows; r += step) {
      const uint64_t entries = load(r);
      sampled += kGroupColumns;
      for (unsigned w = 0; w < kByte; ++w) misfits[w] += bytes_set(kNarrowings[w].misfits(entries));
    }
    double best = kByte * costs.bit;
    for (unsigned w = 0; w < kByte; ++w) {
      const double cost =
          w * costs.bit + costs.exception * static_cast<double>(misfits[w]) / static_cast<double>(sampled);
      if (cost >= best) continue;
      best = cost;
      widths_[group] = static_cast<uint8_t>(w);
    }
  }
}

void RowStrips::cut(unsigned chunk_bits, size_t chunks) {
  const size_t most_groups = rows_.bits == kByte ? StripReader::kMostNarrowGroups : widths_.size();
  for (size_t first = 0; first < widths_.size();) {
    // A strip's last chunk is seldom full: of the last few ends that come into question, the one that wastes least.
    size_t best = 1, bits = 0;
    double best_fill = 0;
    for (size_t groups = 1; groups <= std::min(most_groups, widths_.size() - first); ++groups) {
      bits += kGroupColumns * widths_[first + groups - 1];
      const size_t used = (bits + chunk_bits - 1) / chunk_bits;
      if (used > chunks && groups > 1) break;
      const double fill = used == 0 ? 1 : static_cast<double>(bits) / static_cast<double>(used * chunk_bits);
      if (4 * used < 3 * chunks || fill >= best_fill || first + groups == widths_.size()) {
        best = groups;
        best_fill = 4 * used < 3 * chunks ? 0 : fill;
      }
    }
    strips_.push_back({first, best});
    first += best;
  }
}

StripReader::StripReader(const PackedRows& rows, const Strip& strip, std::span<const uint8_t> widths)
    : rows_(rows),
      strip_(strip),
      widths_(widths),
      narrow_(std::ranges::any_of(widths, [&](uint8_t w) { return w != rows.bits; })),
      // Words of eight bytes are written and read at any of its bytes.
      stride_(std::accumulate(widths.begin(), widths.end(), size_t{0}) + sizeof(uint64_t)),
      staged_(kRows * stride_) {}

void StripReader::read(size_t first) {
  const size_t count = std::min(kRows, rows_.rows - first);
  if (count < kRows) std::fill_n(staged_.data() + count * stride_, (kRows - count) * stride_, uint8_t{0});
  found_.fill(0);
  if (narrow_) return read_narrow(first, count);
  const size_t begin = strip_.first_group * rows_.bits, end = begin + strip_.groups * rows_.bits;
  const size_t whole = std::min(end, rows_.row_bits() / 8), rest = rows_.row_bits() % 8;
  for (size_t i = 0; i < count; ++i) {
    uint8_t* to = &staged_[i * stride_];
    const uint8_t* from = rows_.row(first + i);
    std::memcpy(to, from + begin, whole - begin);
    // Bits behind the last entry belong to nobody.
    if (whole < end && rest != 0)
      to[whole - begin] = static_cast<uint8_t>(from[whole] & low_bits(static_cast<unsigned>(rest)));
  }
}

void StripReader::read_narrow(size_t first, size_t count) {
  const size_t stride = stride_;
  uint8_t* to = staged_.data();
  for (size_t g = 0; g < strip_.groups; ++g) {
    const Narrowing narrowing =
        kNarrowings[widths_[g]];  // a copy: bytes that are written may be anything to a compiler
    const GroupLoader load(rows_, strip_.first_group + g);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t entries = load(first + i), narrowed = narrowing.narrowed(entries);
      std::memcpy(to + i * stride, &narrowed, sizeof narrowed);
      for (uint64_t left = narrowing.misfits(entries); left != 0;) {
        const auto byte = static_cast<unsigned>(std::countr_zero(left)) / kByte;
        left &= ~(uint64_t{0xff} << (kByte * byte));
        exceptions_[i * kMostExceptions + found_[i]++] = {
            static_cast<uint16_t>(kGroupColumns * g + byte),
            narrowing.multiple(static_cast<int8_t>(entries >> (kByte * byte)))};
      }
    }
    to += widths_[g];
  }
}

}  // namespace zkapex
