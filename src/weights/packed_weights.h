// Weights as integers in memory or on disk: each in the fewest whole bytes that hold w bits, two's complement,
// little-endian, in the order of coordinates.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weights/fixed_point.h"
#include "weights/layout.h"

namespace zkapex {

[[nodiscard]] constexpr size_t packed_bytes(unsigned width) { return (width + 7) / 8; }

void pack_weights(std::span<const int64_t> weights, unsigned width, uint8_t* out);
void unpack_weights(const uint8_t* in, unsigned width, std::span<int64_t> weights);

class PackedWeights {
 public:
  PackedWeights(unsigned width, uint64_t count) : width_(width), bytes_(count * packed_bytes(width)) {}

  void set(uint64_t first, std::span<const int64_t> weights) {
    pack_weights(weights, width_, bytes_.data() + first * packed_bytes(width_));
  }
  void get(uint64_t first, std::span<int64_t> weights) const {
    unpack_weights(bytes_.data() + first * packed_bytes(width_), width_, weights);
  }
  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  unsigned width_;
  std::vector<uint8_t> bytes_;
};

// Whole covered rows, zero on padding, from a function that reads consecutive coordinates.
using CoordinateReader = std::function<Status(uint64_t first, std::span<int64_t> out)>;
Status read_rows(const Layout& layout, uint64_t first_row, std::span<int64_t> out, const CoordinateReader& read);

}  // namespace zkapex
