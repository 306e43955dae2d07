#include "algebra/row_commit.h"

#include <gtest/gtest.h>

#include <bit>

#include "algebra/group_testing.h"

namespace zkapex {
namespace {

Point small_multiple(const Point& p, int value) {
  Point out;
  const auto size = static_cast<unsigned>(std::abs(value));
  for (auto bit = std::bit_width(size); bit-- > 0;) {
    out = out.twice();
    if (size >> bit & 1) out += p;
  }
  return value < 0 ? -out : out;
}

class RowCommit : public ::testing::TestWithParam<const GroupKernels*> {
 protected:
  const GroupKernels& kernels = *GetParam();
  std::mt19937_64 rng{11};

  std::vector<Point> points = testing::many_points(rng, 300);
  std::vector<AffinePoint> generators = batch_to_affine(points);

  static int lowest(unsigned bits) { return bits == 1 ? 0 : -(1 << (bits - 1)); }
  static int highest(unsigned bits) { return bits == 1 ? 1 : (1 << (bits - 1)) - 1; }

  // Uniform, with the extremes and runs of zeros mixed in; a whole column, unless it is the only one, and a whole row
  // of zeros.
  std::vector<int16_t> values(size_t rows, size_t entries, unsigned bits) {
    std::vector<int16_t> out(rows * entries);
    for (size_t k = 0; k < out.size(); ++k) {
      const uint64_t r = rng();
      int v = lowest(bits) + static_cast<int>((r >> 8) % (uint64_t{1} << bits));
      if (r % 16 == 0) v = lowest(bits);
      if (r % 16 == 1) v = highest(bits);
      if (r % 16 == 2 || (entries > 1 && k % entries == entries / 2) || k / entries == 2) v = 0;
      out[k] = static_cast<int16_t>(v);
    }
    return out;
  }

  // Every `step`-th row against the naive sum.
  void expect_commitments(const std::vector<Point>& commitments, const std::vector<int16_t>& v, size_t rows,
                          size_t entries, size_t step = 1) {
    ASSERT_EQ(commitments.size(), rows);
    for (size_t r = 0; r < rows; r += step) {
      Point expected;
      for (size_t l = 0; l < entries; ++l) expected += small_multiple(points[l], v[r * entries + l]);
      ASSERT_EQ(commitments[r], expected) << "row " << r << " of " << rows << ", " << entries << " entries";
    }
  }

  void check(size_t rows, size_t entries, unsigned bits, ThreadPool& pool, size_t step = 1) {
    const std::vector<int16_t> v = values(rows, entries, bits);
    const auto packed = pack_rows(v, entries, bits);
    ASSERT_TRUE(packed.ok());
    const auto commitments = commit_rows_var(generators, packed->view(), pool, kernels);
    ASSERT_TRUE(commitments.ok()) << commitments.error().message;
    expect_commitments(*commitments, v, rows, entries, step);
  }
};

TEST_P(RowCommit, EveryEntryWidth) {
  ThreadPool pool(1);
  for (unsigned bits = 1; bits <= kMaxEntryBits; ++bits) {
    for (size_t entries : {size_t{1}, size_t{2}, size_t{7}}) check(9, entries, bits, pool);
    check(70, 3, bits, pool);
  }
}

TEST_P(RowCommit, SizesAroundQuadsAndBlocks) {
  for (unsigned threads : {1U, 3U}) {
    ThreadPool pool(threads);
    for (size_t rows : {size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{5}, size_t{31}, size_t{32}, size_t{33},
                        size_t{64}, size_t{67}}) {
      check(rows, 5, 8, pool);
      check(rows, 40, 1, pool);
    }
  }
}

// Few long rows go through buckets, many short ones through tables, whose width grows with the rows.
TEST_P(RowCommit, FewLongRows) {
  ThreadPool pool(2);
  for (unsigned bits : {1U, 8U, 12U, 16U}) {
    check(1, 300, bits, pool);
    check(5, 300, bits, pool);
  }
}

TEST_P(RowCommit, ManyRowsUseWideTables) {
  ThreadPool pool(2);
  for (size_t rows : {size_t{150}, size_t{600}, size_t{2000}, size_t{5000}}) check(rows, 4, 8, pool, 37);
  check(20000, 2, 8, pool, 371);
  check(3000, 30, 1, pool, 37);
}

// With cost(t) = (72·2^t/rows + 35)/t for a bit, chunks of t + 1 bits win from 72·2^t (t − 1)/35 rows on, until tables
// are signed. Rows around that, of bits around the two chunk sizes and their doubles.
TEST_P(RowCommit, SizesAroundChangesOfTheChunkSize) {
  ThreadPool pool(1);
  for (size_t t = 2; t <= 7; ++t) {
    const size_t change = (72 * (t - 1) << t) / 35;
    for (size_t rows = change - 1; rows <= change + 2; ++rows) {
      for (size_t entries : {t - 1, t, t + 1, t + 2, 2 * t - 1, 2 * t, 2 * t + 1, 2 * t + 3}) {
        check(rows, entries, 1, pool, 1 + rows / 8);
      }
    }
  }
}

// More rows than one batch.
TEST_P(RowCommit, MoreRowsThanABatch) {
  ThreadPool pool(2);
  check((size_t{1} << 16) + 5, 1, 3, pool);
}

// Columns of all widths, with entries in them that do not fit: these are added by themselves.
TEST_P(RowCommit, ColumnsOfSmallEntries) {
  for (const unsigned threads : {1U, 2U}) {
    ThreadPool pool(threads);
    // From about 1,600 rows on tables are signed.
    for (const auto& [rows, entries] :
         std::vector<std::pair<size_t, size_t>>{{515, 8}, {515, 61}, {515, 128}, {515, 149}, {1601, 61}}) {
      std::vector<int16_t> v(rows * entries);
      for (size_t k = 0; k < v.size(); ++k) {
        const uint64_t r = rng();
        const int largest = (1 << (k % entries / 8 % 8)) - 1;
        v[k] = static_cast<int16_t>(static_cast<int>((r >> 8) % static_cast<uint64_t>(2 * largest + 1)) - largest);
        if (r % 64 == 0) v[k] = static_cast<int16_t>(static_cast<int8_t>(r >> 16));
        if (r % 256 == 1) v[k] = 127;
        if (r % 256 == 2) v[k] = -128;
      }
      const auto packed = pack_rows(v, entries, 8);
      const auto commitments = commit_rows_var(generators, packed->view(), pool, kernels);
      ASSERT_TRUE(commitments.ok());
      expect_commitments(*commitments, v, rows, entries, 9);
    }
  }
}

// All rows of the sample are zero, and no others.
TEST_P(RowCommit, ASampleThatMisleads) {
  ThreadPool pool(2);
  const size_t rows = 1536, entries = 10;
  std::vector<int16_t> v(rows * entries);
  for (size_t k = 0; k < v.size(); ++k) v[k] = k / entries % 3 == 0 ? 0 : static_cast<int8_t>(rng() >> 8);
  const auto packed = pack_rows(v, entries, 8);
  const auto commitments = commit_rows_var(generators, packed->view(), pool, kernels);
  ASSERT_TRUE(commitments.ok());
  expect_commitments(*commitments, v, rows, entries, 7);
}

TEST_P(RowCommit, BytesNeedNoPacking) {
  ThreadPool pool(1);
  const std::vector<int16_t> wide = values(10, 6, 8);
  const std::vector<int8_t> bytes(wide.begin(), wide.end());
  const auto rows = view_rows(bytes, 6);
  ASSERT_TRUE(rows.ok());
  expect_commitments(*commit_rows_var(generators, *rows, pool, kernels), wide, 10, 6);
  // A view of every other row, through the stride; its last row has no bytes to spare behind it.
  PackedRows odd = *rows;
  odd.data = rows->row(1);
  odd.rows = 5;
  odd.row_stride_bytes = 12;
  const auto commitments = commit_rows_var(generators, odd, pool, kernels);
  const auto all = commit_rows_var(generators, *rows, pool, kernels);
  for (size_t r = 0; r < 5; ++r) EXPECT_EQ((*commitments)[r], (*all)[2 * r + 1]);
}

// Bits behind the last entry belong to nobody.
TEST_P(RowCommit, PaddingBitsAreIgnored) {
  ThreadPool pool(1);
  const std::vector<int16_t> v = values(8, 3, 3);
  auto packed = pack_rows(v, 3, 3);
  for (size_t r = 0; r < 8; ++r) packed->bytes[2 * r + 1] |= 0xfe;
  expect_commitments(*commit_rows_var(generators, packed->view(), pool, kernels), v, 8, 3);
}

TEST_P(RowCommit, Blindings) {
  ThreadPool pool(2);
  const BlindingBase base(testing::random_point(rng));
  for (size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{300}}) {
    std::vector<Scalar> blindings(count);
    for (Scalar& b : blindings) b = testing::random_scalar(rng);
    if (count > 3) {
      blindings[0] = Scalar::zero();
      blindings[1] = -Scalar::one();
      blindings[2] = Scalar::power_of_two(252);
    }
    const auto packed = pack_rows(values(count, 3, 8), 3, 8);
    const auto plain = commit_rows_var(generators, packed->view(), pool, kernels);
    const auto blinded = commit_rows_var(generators, packed->view(), base, blindings, pool, kernels);
    ASSERT_TRUE(blinded.ok());
    for (size_t r = 0; r < count; ++r) EXPECT_EQ((*blinded)[r] - (*plain)[r], multiply(base.point(), blindings[r]));
  }
}

TEST_P(RowCommit, NothingCommitsToTheIdentity) {
  ThreadPool pool(1);
  EXPECT_TRUE(commit_rows_var(generators, PackedRows{}, pool, kernels)->empty());
  const std::vector<uint8_t> zeros(64, 0);
  for (size_t rows : {size_t{1}, size_t{16}}) {
    const auto of_zeros = commit_rows_var(generators, PackedRows{zeros.data(), rows, 4, 4, 8}, pool, kernels);
    const auto of_nothing = commit_rows_var(generators, PackedRows{zeros.data(), rows, 0, 0, 8}, pool, kernels);
    for (const Point& p : *of_zeros) EXPECT_TRUE(p.is_identity());
    ASSERT_EQ(of_nothing->size(), rows);
    for (const Point& p : *of_nothing) EXPECT_TRUE(p.is_identity());
  }
}

TEST_P(RowCommit, MalformedViewsAreErrors) {
  ThreadPool pool(1);
  const std::vector<uint8_t> bytes(1000, 0);
  const auto message = [&](const PackedRows& rows) {
    const auto result = commit_rows_var(generators, rows, pool, kernels);
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_EQ(message({bytes.data(), 1, 8, 8, 0}), "entries of 0 bits; from 1 to 16 are supported");
  EXPECT_EQ(message({bytes.data(), 1, 40, 8, 17}), "entries of 17 bits; from 1 to 16 are supported");
  EXPECT_EQ(message({bytes.data(), 1, 301, 301, 8}), "rows of 301 entries over 300 generators");
  EXPECT_EQ(message({bytes.data(), 2, 7, 8, 8}), "rows of 8 bytes overlap at a stride of 7");
  EXPECT_EQ(message({nullptr, 1, 8, 8, 8}), "rows without data");
  const BlindingBase base(Point::base());
  const std::vector<Scalar> blindings(3);
  EXPECT_FALSE(commit_rows_var(generators, {bytes.data(), 2, 8, 8, 8}, base, blindings, pool, kernels).ok());
}

INSTANTIATE_TEST_SUITE_P(Group, RowCommit, ::testing::ValuesIn(testing::all_kernels()),
                         [](const auto& kernel) { return std::string(name(kernel.param->set)); });

TEST(PackedRows, PackAndRead) {
  std::mt19937_64 rng(3);
  for (unsigned bits = 1; bits <= kMaxEntryBits; ++bits) {
    for (size_t entries : {size_t{1}, size_t{3}, size_t{8}, size_t{13}}) {
      std::vector<int16_t> values(4 * entries);
      for (int16_t& v : values) {
        v = static_cast<int16_t>(static_cast<int64_t>(rng()) >> (64 - bits));
        if (bits == 1) v = static_cast<int16_t>(-v);
      }
      const auto packed = pack_rows(values, entries, bits);
      ASSERT_TRUE(packed.ok());
      const PackedRows view = packed->view();
      EXPECT_EQ(view.rows, 4U);
      for (size_t k = 0; k < values.size(); ++k) ASSERT_EQ(view.at(k / entries, k % entries), values[k]) << bits;
    }
  }
}

TEST(PackedRows, ValuesOutOfRangeAreErrors) {
  for (unsigned bits = 1; bits < kMaxEntryBits; ++bits) {
    const int high = bits == 1 ? 1 : (1 << (bits - 1)) - 1, low = bits == 1 ? 0 : -high - 1;
    for (int bad : {high + 1, low - 1}) {
      const std::vector<int16_t> values = {0, 0, 0, 0, 0, static_cast<int16_t>(bad)};
      const auto packed = pack_rows(values, 3, bits);
      ASSERT_FALSE(packed.ok());
      EXPECT_EQ(packed.error().message.find("entry 2 of row 1 is "), 0U) << packed.error().message;
    }
    const std::vector<int16_t> good = {static_cast<int16_t>(low), static_cast<int16_t>(high)};
    EXPECT_TRUE(pack_rows(good, 2, bits).ok());
  }
  const std::vector<int16_t> seven(7);
  EXPECT_FALSE(pack_rows(seven, 3, 8).ok());
  EXPECT_FALSE(pack_rows(seven, 0, 8).ok());
  EXPECT_FALSE(pack_rows(seven, 7, 0).ok());
  EXPECT_FALSE(pack_rows(seven, 7, 17).ok());
  const std::vector<int8_t> bytes(7);
  EXPECT_FALSE(view_rows(bytes, 2).ok());
  EXPECT_TRUE(pack_rows(bytes, 7, 8).ok());
  EXPECT_TRUE(pack_rows(std::span<const int8_t>(), 0, 8).ok());
}

}  // namespace
}  // namespace zkapex
