#include "argument/row_openings.h"

#include <gtest/gtest.h>

#include <set>

#include "algebra/msm.h"
#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class RowOpenings : public ::testing::Test {
 protected:
  // Σ v_l g[l] + r h, by definition.
  EncodedPoint commit(std::span<const int64_t> row, const Scalar& blinding) {
    Point sum = multiply(test_generators().blinding(), blinding);
    for (size_t l = 0; l < row.size(); ++l) {
      sum += multiply(Point(test_generators().positions()[l]), Scalar::from_i64(row[l]));
    }
    return sum.encode();
  }

  ThreadPool pool_{2};
  Nonces nonces_ = Nonces::create({}).value();
};

TEST_F(RowOpenings, IntegersAreCommittedAsDefined) {
  const std::vector<int64_t> values{1, -2, INT64_MAX, INT64_MIN, 0, 0, 0, 0};
  const CommittedRows rows = commit_integers_var(test_generators(), values, 4, nonces_, pool_).value();
  ASSERT_EQ(rows.encoded.size(), 2U);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(rows.encoded[k], commit(std::span(values).subspan(4 * k, 4), rows.all_blindings()[k]));
  }
  EXPECT_EQ(rows.blindings_from(1, 1)[0], rows.all_blindings()[1]);
  EXPECT_FALSE(commit_integers_var(test_generators(), values, 3, nonces_, pool_).ok());
}

TEST_F(RowOpenings, PackedRowsAreCommittedAsDefined) {
  const std::vector<int8_t> entries{-128, 127, 0, 1, 5, -6, 7, -8};
  const PackedRows packed{reinterpret_cast<const uint8_t*>(entries.data()), 2, 4, 4, 8};
  const CommittedRows rows = commit_rows_var(test_generators(), packed, nonces_, pool_).value();
  const std::vector<int64_t> wide(entries.begin(), entries.end());
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(rows.encoded[k], commit(std::span(wide).subspan(4 * k, 4), rows.all_blindings()[k]));
  }
}

TEST_F(RowOpenings, EqualRowsAreCommittedDifferently) {
  const std::vector<int64_t> zeros(64);
  const CommittedRows rows = commit_integers_var(test_generators(), zeros, 4, nonces_, pool_).value();
  EXPECT_EQ(std::set(rows.encoded.begin(), rows.encoded.end()).size(), 16U);
}

}  // namespace
}  // namespace zkapex
