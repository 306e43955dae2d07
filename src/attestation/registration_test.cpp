#include <gtest/gtest.h>

#include "algebra/msm.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/window_testing.h"

namespace zkapex {
namespace {

using testing::TestWindow;

class RegistrationTest : public ::testing::Test {
 protected:
  // Registers the window's client and checks the rows that follow.
  void run(const TestWindow& window, uint64_t rows_per_segment) {
    const Layout& layout = window.deployment->layout();
    const RegistrationPlan plan =
        *RegistrationPlan::make(*window.deployment, cut_rows(layout.rows(), rows_per_segment));
    const BaseRows base = window.base_rows();
    const RegistrationStatement statement{&*window.deployment, "client 1", &base};
    const TestWindow::Before reader(window);
    Result<ProvedRegistration> proved =
        prove_registration(statement, plan, reader, 1 << 12, window.generators(), pool_);
    ASSERT_TRUE(proved.ok()) << proved.error().message;
    const Result<Proof, Rejection> proof = Proof::decode(proved->proof.encode(), plan.shape());
    ASSERT_TRUE(proof.ok());
    const Result<PointSum, Rejection> sum = check_registration(statement, plan, *proof, pool_);
    ASSERT_TRUE(sum.ok()) << sum.error().detail;
    EXPECT_TRUE(verdict_var(*sum, window.generators(), pool_).ok());

    // The registered rows open to the client's integers with the blindings that the prover keeps.
    const RegisteredRows rows = registered_rows(plan, *proof);
    ASSERT_EQ(rows.model.size(), layout.rows());
    ASSERT_EQ(rows.curvature.size(), curvature_rows(layout));
    ASSERT_EQ(rows.unchanged.size(), layout.unchanged_rows());
    const size_t n = layout.geometry().row;
    for (size_t t = 0; t < rows.model.size(); ++t) {
      const std::span<const int64_t> values = std::span(window.theta_p).subspan(t * n, n);
      EXPECT_EQ(rows.model[t], opened(window, values, proved->model_blindings[t]));
    }
    for (size_t t = 0; t < rows.curvature.size(); ++t) {
      const std::vector<int64_t> values(window.factors.begin() + static_cast<ptrdiff_t>(t * n),
                                        window.factors.begin() + static_cast<ptrdiff_t>((t + 1) * n));
      EXPECT_EQ(rows.curvature[t], opened(window, values, proved->curvature_blindings[t]));
    }
    for (size_t t = 0; t < rows.unchanged.size(); ++t) {
      const std::span<const int64_t> values = std::span(window.others).subspan(t * n, n);
      EXPECT_EQ(rows.unchanged[t], opened(window, values, proved->unchanged_blindings[t]));
    }
  }

  EncodedPoint opened(const TestWindow& window, std::span<const int64_t> values, const Scalar& blinding) {
    const Point sum = *msm_small_var(values, window.generators().positions().first(values.size()), pool_);
    return (sum + multiply(window.generators().blinding(), blinding)).encode();
  }

  ThreadPool pool_{2};
};

TEST_F(RegistrationTest, HonestRegistrationsAreAccepted) {
  const TestWindow window({}, pool_);
  for (const uint64_t rows_per_segment : {1U, 2U, 7U}) run(window, rows_per_segment);
  run(TestWindow({.block = 7, .tensors = {7, 50}, .seed = 3}, pool_), 2);
  run(TestWindow({.block = 8, .tensors = {64}, .seed = 4}, pool_), 1);                   // no padding anywhere
  run(TestWindow({.block = 16, .row = 64, .tensors = {100, 30}, .seed = 5}, pool_), 2);  // squares of several rows
}

TEST_F(RegistrationTest, HonestAnchoredRegistrationsAreAccepted) {
  for (const uint64_t rows_per_segment : {1U, 7U}) run(TestWindow({.anchored = true}, pool_), rows_per_segment);
  run(TestWindow({.block = 7, .tensors = {7, 50}, .seed = 3, .anchored = true}, pool_), 2);
  // Slacks in several rows, and rows of several tensors.
  run(TestWindow({.tensors = {20, 64, 1, 130, 8}, .seed = 4, .anchored = true}, pool_), 2);
}

TEST_F(RegistrationTest, OnlySegmentsWithPaddingHaveAFork) {
  const auto padded = [&](const testing::WindowOptions& options) {
    const TestWindow window(options, pool_);
    const Segmentation rows(window.deployment->layout().rows(), 1);
    std::vector<uint64_t> out;
    const RegistrationPlan plan = *RegistrationPlan::make(*window.deployment, rows);
    for (const PaddedSegment& segment : plan.padded()) {
      out.push_back(segment.rows.first_row);
    }
    return out;
  };
  EXPECT_EQ(padded({.tensors = {64, 128}}), std::vector<uint64_t>{});
  EXPECT_EQ(padded({.tensors = {64, 77}}), std::vector<uint64_t>{2});
  EXPECT_EQ(padded({.tensors = {40, 128}}), std::vector<uint64_t>{0});
  EXPECT_EQ(padded({.block = 7, .tensors = {56, 56}}), (std::vector<uint64_t>{0, 1}));
}

// What no projection can bound is refused before any challenge is drawn, with a sentence.
TEST_F(RegistrationTest, EntriesThatAreTooLargeAreRefused) {
  const auto refusal = [&](const auto& change) {
    TestWindow window({}, pool_);
    change(window);
    const RegistrationPlan plan = *RegistrationPlan::make(*window.deployment, {window.deployment->layout().rows()});
    const auto proved = prove_registration({&*window.deployment, "client 1", nullptr}, plan, TestWindow::Before(window),
                                           1 << 12, window.generators(), pool_);
    return proved.ok() ? "" : proved.error().message;
  };
  const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  EXPECT_EQ(refusal([](TestWindow& w) { w.theta_p[3] = (1 << 13) - 1; }), "");
  EXPECT_TRUE(says(refusal([](TestWindow& w) { w.theta_p[3] = 1 << 13; }), "covered tensor"));
  EXPECT_TRUE(says(refusal([](TestWindow& w) { w.theta_p[3] = -(1 << 13); }), "covered tensor"));
  EXPECT_EQ(refusal([](TestWindow& w) { w.factors[0] = -3; }), "");
  EXPECT_TRUE(says(refusal([](TestWindow& w) { w.factors[0] = -4; }), "curvature"));
  EXPECT_TRUE(says(refusal([](TestWindow& w) { w.factors[0] = 4; }), "curvature"));
  const int64_t most = TestWindow({}, pool_).deployment->parameters().largest_other();
  EXPECT_EQ(refusal([&](TestWindow& w) { w.others[1] = most; }), "");
  EXPECT_TRUE(says(refusal([&](TestWindow& w) { w.others[1] = most + 1; }), "not covered"));
  EXPECT_TRUE(says(refusal([&](TestWindow& w) { w.others[1] = -most - 1; }), "not covered"));
}

TEST_F(RegistrationTest, CutsMustCoverEveryRowOnce) {
  const TestWindow window({}, pool_);
  const uint64_t rows = window.deployment->layout().rows();
  const auto make = [&](const Segmentation& cut) {
    const auto plan = RegistrationPlan::make(*window.deployment, cut);
    EXPECT_TRUE(plan.ok() || plan.error().message.find("every row once") != std::string::npos) << plan.error().message;
    return plan.ok();
  };
  EXPECT_TRUE(make({rows}));
  EXPECT_FALSE(make({rows - 1}));
  EXPECT_FALSE(make({rows, 1}));
  EXPECT_FALSE(make({rows, 0}));
  EXPECT_FALSE(make({}));
}

// Said before the parts are looked at, which is what bounds a verifier's time on a hostile file.
TEST_F(RegistrationTest, TooManyPartsAreRefusedByTheirNumber) {
  const TestWindow window({}, pool_);
  const Segmentation many(kMaxForks + 1, 1);
  const auto says_more = [](const auto& plan) {
    return !plan.ok() && plan.error().message.find("are more than") != std::string::npos;
  };
  EXPECT_TRUE(says_more(RegistrationPlan::make(*window.deployment, many)));
  EXPECT_TRUE(says_more(WindowPlan::make(*window.deployment, window.mask, many)));
}

TEST_F(RegistrationTest, PartsMustNotBeTooLarge) {
  // Weights in 1024 rows of 2^22, the last one not full; a part has at most 31 variables.
  const std::vector<TensorInfo> tensors = {{.name = "w", .dtype = Dtype::kF32, .shape = {(uint64_t{1} << 32) - 8}}};
  const Deployment deployment =
      *Deployment::make(*Layout::make(tensors, {"w"}, {.block = 8, .row = uint64_t{1} << 22}), Parameters{});
  const uint64_t rows = deployment.layout().rows();
  ASSERT_EQ(rows, 1024U);
  const auto says_large = [](const auto& plan) {
    return !plan.ok() && plan.error().message.find("too large") != std::string::npos;
  };
  const Segmentation halves = cut_rows(rows, rows / 2);
  EXPECT_TRUE(says_large(RegistrationPlan::make(deployment, {rows})));
  EXPECT_TRUE(RegistrationPlan::make(deployment, halves).ok());
  EXPECT_TRUE(says_large(WindowPlan::make(deployment, {}, {rows})));
  EXPECT_TRUE(WindowPlan::make(deployment, {}, halves).ok());
}

}  // namespace
}  // namespace zkapex
