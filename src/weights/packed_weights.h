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

// Whole rows, from a number on; from several threads at once.
using RowReader = std::function<Status(uint64_t first_row, std::span<int64_t> out)>;

// Whole covered rows, zero on padding, from a function that reads consecutive coordinates of a tensor.
using CoordinateReader = std::function<Status(uint64_t first, std::span<int64_t> out)>;
Status read_rows(const Layout& layout, uint64_t first_row, std::span<int64_t> out, const CoordinateReader& read);

}  // namespace zkapex
