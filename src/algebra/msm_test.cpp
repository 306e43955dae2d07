#include "algebra/msm.h"

#include <gtest/gtest.h>

#include <limits>

#include "algebra/group_testing.h"
#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::random_scalar;

class Msm : public ::testing::TestWithParam<const GroupKernels*> {
 protected:
  const GroupKernels& kernels = *GetParam();
  std::mt19937_64 rng{7};
};

Point naive_sum(std::span<const Scalar> scalars, std::span<const Point> points) {
  Point sum;
  for (size_t k = 0; k < points.size(); ++k) sum += multiply(points[k], scalars[k]);
  return sum;
}

// Sizes around the quads of lanes, the padding of parts and changes of the window size.
TEST_P(Msm, AgreesWithNaiveSum) {
  const std::vector<Point> all = testing::many_points(rng, 600);
  for (unsigned threads : {1U, 3U}) {
    ThreadPool pool(threads);
    for (size_t count :
         {size_t{0},   size_t{1},   size_t{2},   size_t{3},   size_t{4},   size_t{5},  size_t{7},  size_t{8},
          size_t{9},   size_t{31},  size_t{32},  size_t{33},  size_t{63},  size_t{64}, size_t{65}, size_t{127},
          size_t{128}, size_t{129}, size_t{255}, size_t{256}, size_t{257}, size_t{600}}) {
      const std::span<const Point> points = std::span(all).first(count);
      std::vector<Scalar> scalars(count);
      for (Scalar& s : scalars) s = random_scalar(rng);
      if (count > 4) {
        scalars[0] = Scalar::zero();
        scalars[1] = -Scalar::one();
        scalars[2] = Scalar::one();
        scalars[3] = Scalar::power_of_two(252);
      }
      const Point expected = naive_sum(scalars, points);
      const auto sum = msm_var(scalars, batch_to_affine(points), pool, kernels);
      ASSERT_TRUE(sum.ok());
      EXPECT_EQ(*sum, expected) << count;
    }
  }
}

// Every digit pattern: powers of two, runs of ones and their negatives put carries at every place of every window.
TEST_P(Msm, ExtremeScalars) {
  ThreadPool pool(1);
  const Point p = testing::random_point(rng);
  for (unsigned k = 0; k < 253; k += 3) {
    for (const Scalar& s : {Scalar::power_of_two(k), Scalar::power_of_two(k) - Scalar::one(), -Scalar::power_of_two(k),
                            Scalar::one() - Scalar::power_of_two(k)}) {
      const std::vector<Scalar> scalars(5, s);
      const std::vector<AffinePoint> points(5, batch_to_affine({&p, 1})[0]);
      EXPECT_EQ(*msm_var(scalars, points, pool, kernels), multiply(p, s + s + s + s + s));
    }
  }
}

// Windows of every width, whose digits begin and end in any place of a word.
TEST_P(Msm, TermsAreWeighted) {
  constexpr size_t kMost = 9000;  // more than a piece
  const Point p = testing::random_point(rng);
  std::vector<Point> points(kMost);
  for (size_t k = 0; k < kMost; ++k) points[k] = k == 0 ? p : points[k - 1] + p;
  const std::vector<AffinePoint> affine = batch_to_affine(points);
  std::vector<Scalar> scalars(kMost);
  for (Scalar& s : scalars) s = random_scalar(rng);
  ThreadPool pool(2);
  for (const std::vector<size_t>& sizes : std::vector<std::vector<size_t>>{
           {}, {0}, {1}, {20, 0, 1}, {100, 30}, {400}, {1000, 3, 700}, {8192}, {8191, 2}, {8000, 9000, 1, 8000}}) {
    std::vector<WeightedPoints> terms;
    Scalar expected;
    for (const size_t size : sizes) {
      const Scalar weight = terms.size() == 1 ? Scalar::one() : random_scalar(rng);
      terms.push_back({std::span(affine).first(size), std::span(scalars).first(size), weight});
      for (size_t k = 0; k < size; ++k) expected += weight * scalars[k] * Scalar::from_u64(k + 1);
    }
    EXPECT_EQ(*msm_var(terms, pool, kernels), multiply(p, expected)) << sizes.size();
  }
}

// A large sum with a known answer: P_k = k P, so Σ s_k P_k = (Σ k s_k) P. Here windows are wide and buckets many.
TEST_P(Msm, LargeSumOfMultiples) {
  const size_t count = 20000;
  const Point p = testing::random_point(rng);
  std::vector<Point> points(count);
  std::vector<Scalar> scalars(count);
  std::vector<int64_t> values(count);
  Scalar expected, expected_small;
  for (size_t k = 0; k < count; ++k) {
    points[k] = k == 0 ? Point() : points[k - 1] + p;
    scalars[k] = random_scalar(rng);
    values[k] = static_cast<int64_t>(rng());
    expected += scalars[k] * Scalar::from_u64(k);
    expected_small += Scalar::from_i64(values[k]) * Scalar::from_u64(k);
  }
  const std::vector<AffinePoint> affine = batch_to_affine(points);
  for (unsigned threads : {1U, 2U}) {
    ThreadPool pool(threads);
    const PreparedPoints prepared(affine, pool, kernels);
    EXPECT_EQ(*msm_var(scalars, affine, pool, kernels), multiply(p, expected));
    EXPECT_EQ(*msm_small_var(values, prepared, pool), multiply(p, expected_small));
  }
}

TEST_P(Msm, SmallValuesAgreeWithNaiveSum) {
  const std::vector<Point> all = testing::many_points(rng, 130);
  const std::vector<AffinePoint> affine = batch_to_affine(all);
  ThreadPool pool(2);
  for (unsigned bits : {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 40U, 63U, 64U}) {
    for (size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{4}, size_t{5}, size_t{130}}) {
      std::vector<int64_t> values(count);
      for (int64_t& v : values) v = static_cast<int64_t>(rng()) >> (64 - bits);
      if (count > 3) {
        values[0] = std::numeric_limits<int64_t>::min() >> (64 - bits);
        values[1] = std::numeric_limits<int64_t>::max() >> (64 - bits);
        values[2] = 0;
      }
      Point expected;
      for (size_t k = 0; k < count; ++k) expected += multiply(all[k], Scalar::from_i64(values[k]));
      const auto sum = msm_small_var(values, std::span(affine).first(count), pool, kernels);
      ASSERT_TRUE(sum.ok());
      EXPECT_EQ(*sum, expected) << bits << " bits, " << count << " points";
    }
  }
}

// Fewer rows than threads, as many, and more: however the work is divided.
TEST_P(Msm, RowsAreSumsOfTheirOwn) {
  const std::vector<AffinePoint> points = batch_to_affine(testing::many_points(rng, 37));
  ThreadPool pool(3);
  const PreparedPoints prepared(points, pool, kernels);
  for (const size_t rows : {0U, 1U, 2U, 3U, 7U}) {
    std::vector<int64_t> values(rows * points.size());
    for (int64_t& v : values) v = static_cast<int64_t>(rng());
    const auto found = msm_rows_var(values, prepared, pool);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->size(), rows);
    for (size_t t = 0; t < rows; ++t) {
      const auto row = std::span(values).subspan(t * points.size(), points.size());
      EXPECT_EQ((*found)[t], *msm_small_var(row, prepared, pool));
    }
  }
  EXPECT_FALSE(msm_rows_var(std::vector<int64_t>(36), prepared, pool).ok());
  EXPECT_FALSE(msm_rows_var({}, PreparedPoints(std::span<const AffinePoint>(), pool, kernels), pool).ok());
}

TEST_P(Msm, WrongLengthsAreErrors) {
  ThreadPool pool(1);
  const std::vector<Point> points(3, Point::base());
  const std::vector<AffinePoint> affine = batch_to_affine(points);
  const std::vector<Scalar> scalars(2);
  const std::vector<int64_t> values(4);
  EXPECT_FALSE(msm_var(scalars, affine, pool, kernels).ok());
  EXPECT_EQ(testing::refusal(msm_small_var(values, affine, pool, kernels)),
            "a sum of 4 scalars over 3 points: there must be one for each");
  const PreparedPoints prepared(affine, pool, kernels);
  EXPECT_FALSE(msm_small_var(values, prepared, pool).ok());
}

INSTANTIATE_TEST_SUITE_P(Group, Msm, ::testing::ValuesIn(testing::all_kernels()),
                         [](const auto& kernel) { return std::string(name(kernel.param->set)); });

}  // namespace
}  // namespace zkapex
