#include "algebra/row_strips.h"

#include <gtest/gtest.h>

#include <random>

namespace zkapex {
namespace {

// The lowest `width` bits of entry `column` as the reader has them, with their sign, and its exception.
int read_entry(const StripReader& reader, size_t lane, size_t column, std::span<const uint8_t> widths) {
  size_t bit = 0;
  for (size_t g = 0; g < column / kGroupColumns; ++g) bit += kGroupColumns * widths[g];
  const unsigned width = widths[column / kGroupColumns];
  bit += column % kGroupColumns * width;
  int value = 0;
  for (unsigned k = 0; k < width; ++k, ++bit) {
    const int set = reader.row(lane)[bit / 8] >> (bit % 8) & 1;
    value += (k + 1 == width ? -set : set) * (1 << k);
  }
  for (const RowException& e : reader.exceptions(lane)) {
    if (e.column == column) value += e.multiple * (1 << width);
  }
  return value;
}

TEST(StripReader, EveryByteInEveryWidth) {
  std::mt19937_64 rng(5);
  constexpr size_t kEntries = 256, kAll = 9;
  std::vector<int8_t> bytes(kAll * kEntries);
  for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<int8_t>(k * 77 + k / kEntries);
  const PackedRows rows{reinterpret_cast<const uint8_t*>(bytes.data()), kAll, kEntries, kEntries, 8};
  for (size_t first = 0; first < kEntries / kGroupColumns; first += StripReader::kMostNarrowGroups) {
    const Strip strip{first, StripReader::kMostNarrowGroups};
    for (unsigned width = 0; width <= 9; ++width) {
      std::vector<uint8_t> widths(strip.groups, static_cast<uint8_t>(width));
      if (width == 9) {
        for (uint8_t& w : widths) w = static_cast<uint8_t>(rng() % 9);
      }
      StripReader reader(rows, strip, widths);
      for (size_t row = 0; row < kAll; row += StripReader::kRows) {
        reader.read(row);
        for (size_t lane = 0; lane < StripReader::kRows; ++lane) {
          for (size_t c = 0; c < strip.groups * kGroupColumns; ++c) {
            const int expected = row + lane < kAll ? rows.at(row + lane, first * kGroupColumns + c) : 0;
            ASSERT_EQ(read_entry(reader, lane, c, widths), expected) << width << ' ' << row + lane << ' ' << c;
          }
        }
      }
    }
  }
}

TEST(RowStrips, WidthsFollowTheEntries) {
  constexpr size_t kRows = 1200, kEntries = 8 * 9 + 3;
  std::vector<int8_t> bytes(kRows * kEntries);
  std::mt19937_64 rng(6);
  for (size_t k = 0; k < bytes.size(); ++k) {
    const size_t group = k % kEntries / 8;  // as many bits as the number of the group says
    bytes[k] =
        group == 0 || group > 8 ? int8_t{0} : static_cast<int8_t>(static_cast<int8_t>(rng() >> 20) >> (8 - group));
  }
  const PackedRows rows{reinterpret_cast<const uint8_t*>(bytes.data()), kRows, kEntries, kEntries, 8};
  const RowStrips strips(rows, 11, 16, {.bit = 1, .exception = 1000});
  size_t next = 0;
  for (const Strip& strip : strips.strips()) {
    EXPECT_EQ(strip.first_group, next);
    for (size_t g = 0; g < strip.groups; ++g) {
      const size_t group = strip.first_group + g;
      EXPECT_EQ(strips.widths(strip)[g], group > 8 ? 0 : group);
    }
    next += strip.groups;
  }
  EXPECT_EQ(next, 10U);
  // Exceptions that cost nothing: nothing is looked up.
  const RowStrips none(rows, 11, 16, {.bit = 1, .exception = 0});
  for (const Strip& strip : none.strips()) {
    for (const uint8_t width : none.widths(strip)) EXPECT_EQ(width, 0);
  }
  // Too few rows for a sample, or other entries than bytes: all bits.
  PackedRows few = rows;
  few.rows = 500;
  const RowStrips all(few, 11, 16, {.bit = 1, .exception = 0});
  EXPECT_EQ(all.widths(all.strips()[0])[0], 8);
}

}  // namespace
}  // namespace zkapex
