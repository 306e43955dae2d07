#include "argument/projected_range_relation.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

struct Case {
  size_t row_length = 64, rows = 3, chunk = 32;
  unsigned count = 16, bits = 16;
  size_t rows_per_unit = 100;
};

ProjectedRangeStatement statement_of(const Case& c) {
  ProjectedRangeStatement s{"test", {c.row_length, c.rows, c.chunk, c.count, c.bits, {}}};
  for (size_t left = s.projection.unit_rows(); left > 0;) {
    s.projection.units.push_back(std::min(left, c.rows_per_unit));
    left -= s.projection.units.back();
  }
  return s;
}

class ProjectedRangeTest : public ::testing::Test {
 protected:
  // The extremes among them.
  std::vector<int64_t> random_values(const ProjectionShape& s) {
    std::vector<int64_t> out(s.rows * s.row_length);
    const int64_t most = s.largest();
    for (int64_t& v : out) v = static_cast<int64_t>(rng_() % (2 * static_cast<uint64_t>(most) + 1)) - most;
    out.front() = most;
    out.back() = -most;
    return out;
  }
  void expect_accepted(const Case& c) {
    const ProjectedRangeStatement s = statement_of(c);
    const Generators generators = Generators::derive(s.shape().generators(), pool_);
    const auto proof = prove_projected_range(s, random_values(s.projection), generators, pool_);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    const Bytes bytes = proof->encode();
    EXPECT_EQ(bytes.size(), s.shape().bytes());
    const Verdict verdict = verify(ProjectedRangeRelation(s), bytes, generators, pool_);
    EXPECT_TRUE(verdict.ok()) << verdict.error().detail;
  }

  std::mt19937_64 rng_{53};
  ThreadPool pool_{2};
};

TEST_F(ProjectedRangeTest, HonestRangesAreAccepted) {
  expect_accepted({});
  expect_accepted({.rows = 1, .count = 1});                       // v is the beginning of one row
  expect_accepted({.row_length = 64, .rows = 5, .chunk = 64});    // one chunk a row
  expect_accepted({.row_length = 16, .rows = 3, .chunk = 4});     // a row's projections fill more than a row
  expect_accepted({.rows = 7, .count = 17, .rows_per_unit = 2});  // λ no power of two; units
  expect_accepted({.row_length = 128, .rows = 9, .chunk = 1, .count = 8, .bits = 2});
  expect_accepted({.row_length = 64, .rows = 2, .chunk = 32, .count = 8, .bits = 63});
}

// Where the largest entries take whole bytes, and their digits one more.
TEST_F(ProjectedRangeTest, ExtremesOfEverySizeAreAccepted) {
  for (unsigned bits = 6; bits <= 63; ++bits) expect_accepted({.row_length = 16, .rows = 1, .chunk = 16, .bits = bits});
}

TEST_F(ProjectedRangeTest, LargerValuesAreRefused) {
  const ProjectedRangeStatement s = statement_of({});
  for (const int64_t value : {s.projection.largest() + 1, -s.projection.largest() - 1}) {
    std::vector<int64_t> values = random_values(s.projection);
    values[70] = value;
    EXPECT_FALSE(prove_projected_range(s, values, test_generators(), pool_).ok()) << value;
  }
  EXPECT_FALSE(prove_projected_range(s, std::vector<int64_t>(64), test_generators(), pool_).ok());
}

TEST_F(ProjectedRangeTest, AllRowsOfIntegersProjectAlike) {
  const ProjectedRangeStatement s = statement_of({.rows = 4, .bits = 20});
  const ProjectionShape& shape = s.projection;
  std::vector<int8_t> narrow(shape.rows * shape.row_length);
  for (int8_t& v : narrow) v = static_cast<int8_t>(rng_());
  const std::vector<int16_t> words(narrow.begin(), narrow.end());
  const std::vector<int64_t> wide(narrow.begin(), narrow.end());
  const TernaryMatrix matrix = draw_projection(shape, Scalar::from_u64(5), 0);
  const auto projected = [&](const IntegerRows& rows, size_t rows_at_once) {
    const RowSource source = [&](const auto& visit) -> Status {
      return std::visit(
          [&](auto all) -> Status {
            for (; !all.empty(); all = all.subspan(std::min(all.size(), rows_at_once * shape.row_length))) {
              const IntegerRows part = all.first(std::min(all.size(), rows_at_once * shape.row_length));
              ZKAPEX_CHECK(visit(part));
            }
            return Done{};
          },
          rows);
    };
    const BitMatrix bits = project(shape, matrix, source, 0, pool_).value();
    std::vector<int64_t> out;
    for (const uint64_t word : bits.integers(0, pool_)) out.push_back(static_cast<int64_t>(word << 44) >> 44);
    return out;
  };
  // By hand.
  std::vector<int64_t> expected(shape.unit_rows() * shape.row_length);
  const size_t chunks = shape.row_length / shape.chunk;
  for (size_t t = 0; t < shape.rows; ++t) {
    for (size_t c = 0; c < chunks; ++c) {
      for (size_t q = 0; q < shape.count; ++q) {
        for (size_t l = 0; l < shape.chunk; ++l) {
          expected[(t * chunks + c) * 16 + q] += matrix.at(q, l) * wide[t * shape.row_length + c * shape.chunk + l];
        }
      }
    }
  }
  for (const size_t rows_at_once : {1U, 3U, 4U}) {
    EXPECT_EQ(projected(std::span<const int8_t>(narrow), rows_at_once), expected);
    EXPECT_EQ(projected(std::span<const int16_t>(words), rows_at_once), expected);
    EXPECT_EQ(projected(std::span<const int64_t>(wide), rows_at_once), expected);
  }
}

TEST_F(ProjectedRangeTest, HalfOfTheMatrixIsZeroAndSignsAreEven) {
  const ProjectedRangeStatement s = statement_of({.row_length = 4096, .rows = 1, .chunk = 4096, .count = 192});
  const TernaryMatrix matrix = draw_projection(s.projection, Scalar::from_u64(7), 0);
  std::array<double, 3> seen{};
  for (size_t q = 0; q < 192; ++q) {
    for (size_t l = 0; l < 4096; ++l) seen[static_cast<size_t>(matrix.at(q, l) + 1)] += 1.0 / (192 * 4096);
  }
  EXPECT_NEAR(seen[0], 0.25, 0.003);
  EXPECT_NEAR(seen[1], 0.5, 0.003);
  EXPECT_NEAR(seen[2], 0.25, 0.003);
  // Other challenges, other numbers: other matrices.
  const TernaryMatrix other = draw_projection(s.projection, Scalar::from_u64(7), 1);
  const TernaryMatrix later = draw_projection(s.projection, Scalar::from_u64(8), 0);
  size_t same_other = 0, same_later = 0;
  for (size_t l = 0; l < 4096; ++l) {
    same_other += matrix.at(0, l) == other.at(0, l) ? 1 : 0;
    same_later += matrix.at(0, l) == later.at(0, l) ? 1 : 0;
  }
  EXPECT_LT(same_other, 4096U / 2);
  EXPECT_LT(same_later, 4096U / 2);
}

TEST_F(ProjectedRangeTest, StatementsOutOfRangeAreRefused) {
  const auto refused = [](auto change) {
    ProjectedRangeStatement s = statement_of({});
    change(s.projection);
    const Verdict sound = ProjectedRangeRelation(s).sound();
    return !sound.ok() && sound.error().reason == Reason::kStatement;
  };
  EXPECT_FALSE(refused([](ProjectionShape&) {}));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.row_length = 48; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.rows = 0; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.rows = size_t{1} << 40; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.chunk = 0; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.chunk = 24; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.chunk = 128; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.count = 0; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) {
    s.count = 257;
    s.units = {s.unit_rows()};
  }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.bits = 1; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.bits = 64; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.units = {}; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.units.back() += 1; }));
  EXPECT_TRUE(refused([](ProjectionShape& s) { s.units.push_back(0); }));
}

}  // namespace
}  // namespace zkapex
