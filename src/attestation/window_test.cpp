#include <gtest/gtest.h>

#include "attestation/window_testing.h"
#include "base/bits.h"

namespace zkapex {
namespace {

using testing::TestWindow;
using testing::WindowOptions;

class WindowTest : public ::testing::Test {
 protected:
  void expect_accepted(const WindowOptions& options) {
    const TestWindow window(options, pool_);
    const Result<WindowProof> proof = window.prove(pool_);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    const Verdict verdict = window.verify(proof->proof, pool_);
    EXPECT_TRUE(verdict.ok()) << name(verdict.error().reason) << ": " << verdict.error().detail;
  }
  ThreadPool pool_{2};
};

TEST_F(WindowTest, HonestWindowsAreAccepted) {
  expect_accepted({});
  expect_accepted({.rows_per_segment = 2});
  expect_accepted({.rows_per_segment = 100});
  expect_accepted({.tensors = {64, 128, 200}, .rows_per_segment = 3, .seed = 2});
  expect_accepted({.block = 7, .tensors = {7, 50}, .seed = 3});
  expect_accepted({.block = 16, .row = 256, .tensors = {1000}, .rows_per_segment = 2, .seed = 4});
}

// n < S²: squares that take several rows, down to one line in each.
TEST_F(WindowTest, RowsShorterThanASquareAreAccepted) {
  expect_accepted({.block = 16, .row = 128, .tensors = {1000, 50}, .rows_per_segment = 2, .seed = 5});
  expect_accepted({.block = 60, .row = 64, .tensors = {300}, .rows_per_segment = 2, .floor = 100, .seed = 6});
}

// docs/performance.md, "The size of a proof", in these words.
size_t bytes_by_the_formula(const WindowPlan& plan) {
  const auto log = [](size_t x) { return size_t{log2_ceil(x)}; };
  const ProjectionShape& range = plan.projection().shape;
  const size_t n = plan.geometry().row, t = range.rows, q = plan.slack_planes(), p = plan.rule_planes(), e = range.bits;
  size_t values = 0, scalars = 0;
  for (const WindowSegment& s : plan.segments()) {
    const size_t v = log(s.rows.rows) + log(n), planes = q + (s.rows.index == 0 ? p : 0);
    scalars += plan.compensates() ? 8 * v + 15 + planes + 3 * log(planes) : 3 * v + 4;
  }
  for (const size_t rows : range.units) {
    values += rows;
    scalars += 3 * (log(rows) + log(n)) + 3 * log(e) + 3;
  }
  const size_t k = plan.segments().size(), u = range.units.size();
  const size_t pairs = (plan.compensates() ? 3 : 1) * k + u + 2, products = (plan.compensates() ? 5 : 1) * k + u;
  scalars += 4 * log(n) + 4 + pairs;
  const size_t pads = scalars + 2 * products;
  return 8 + 32 * (t + q * t + p + e * values + pads + 5 + 2 * log(n + pads));
}

TEST_F(WindowTest, AProofIsAsLongAsTheFormulaSays) {
  for (const WindowOptions& options :
       {WindowOptions{}, WindowOptions{.rows_per_segment = 2}, WindowOptions{.rows_per_segment = 100},
        WindowOptions{.tensors = {64, 128, 200}, .rows_per_segment = 3}, WindowOptions{.op = Operator::kMaskOnly},
        WindowOptions{.block = 16, .row = 256, .tensors = {5000}, .rows_per_segment = 7, .op = Operator::kGuided}}) {
    const TestWindow window(options, pool_);
    const Result<WindowProof> proof = window.prove(pool_);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    EXPECT_EQ(proof->proof.encode().size(), bytes_by_the_formula(window.plan()));
  }
}

// y of more than 64 bits; z would have room in 64 where weights have 52.
TEST_F(WindowTest, WideWeightsAreAccepted) {
  for (const uint32_t width : {52U, 53U}) {
    const WindowOptions options{
        .block = 16, .row = 256, .bits = 8, .weights = {.fraction_bits = 40, .width = width}, .floor = 100'000};
    EXPECT_EQ(TestWindow(options, pool_).plan().narrow_z(), width == 52);
    expect_accepted(options);
  }
}

// z = Lᵀx of 66 bits: all is removed, and a column of L is as large as can be.
TEST_F(WindowTest, ProductsBeyond64BitsAreAccepted) {
  TestWindow window({.block = 64,
                     .row = 256,
                     .tensors = {64},
                     .bits = 8,
                     .weights = {.fraction_bits = 40, .width = 53},
                     .floor = 100'000,
                     .density = 1},
                    pool_);
  for (size_t j = 0; j < 64; ++j) {
    window.theta_p[j] = window.deployment->parameters().weights.max();
    window.factors[64 * j] = 127;
  }
  window.solve();
  window.commit(pool_);
  const Result<WindowProof> proof = window.prove(pool_);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_TRUE(window.verify(proof->proof, pool_).ok());
}

// A bound of 57 bits: one of them in the last slack plane, whose other places count nothing.
TEST_F(WindowTest, SlacksUseAllTheirBits) {
  const TestWindow window({.floor = 1'000'000 * WindowOptions().floor}, pool_);
  ASSERT_EQ(window.deployment->slack_bits(), 57U);
  const Result<WindowProof> proof = window.prove(pool_);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_TRUE(window.verify(proof->proof, pool_).ok());
}

// Before any challenge is drawn: what is refused after it would tell something of the weights.
TEST_F(WindowTest, AWeightThatDoesNotFitIsRefused) {
  for (const int64_t weight : {int64_t{1} << 13, -(int64_t{1} << 13)}) {
    TestWindow window({.op = Operator::kMaskOnly}, pool_);
    window.theta_u[0] = window.theta_p[0] = weight;
    const Result<WindowProof> proof = window.prove(pool_);
    ASSERT_FALSE(proof.ok());
    EXPECT_NE(proof.error().message.find("does not fit in 14 bits"), std::string::npos) << proof.error().message;
  }
}

TEST_F(WindowTest, HonestMaskOnlyWindowsAreAccepted) {
  expect_accepted({.op = Operator::kMaskOnly});
  expect_accepted({.tensors = {64, 128, 200}, .rows_per_segment = 3, .seed = 2, .op = Operator::kMaskOnly});
}

}  // namespace
}  // namespace zkapex
