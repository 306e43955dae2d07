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
  // Registers the window's client and returns the verdict with the rows that follow.
  void run(const TestWindow& window, bool certificate, uint64_t rows_per_unit) {
    const Layout& layout = window.deployment->layout();
    const RegistrationCut cut{cut_rows(layout.rows(), rows_per_unit),
                              certificate ? cut_rows(curvature_rows(layout), rows_per_unit) : Segmentation{}};
    const RegistrationPlan plan = *RegistrationPlan::make(*window.deployment, certificate, cut);
    RegistrationStatement statement{&*window.deployment, "client 1", window.unchanged.encoded, {}};
    const TestWindow::Before reader(window);
    Result<ProvedRegistration> proved =
        prove_registration(statement, plan, reader, 1 << 12, window.generators(), pool_);
    ASSERT_TRUE(proved.ok()) << proved.error().message;
    statement.curvature = proved->curvature;
    const Result<Proof, Rejection> proof = Proof::decode(proved->proof.encode(), plan.shape());
    ASSERT_TRUE(proof.ok());
    const Result<PointSum, Rejection> sum = check_registration(statement, plan, *proof, pool_);
    ASSERT_TRUE(sum.ok()) << sum.error().detail;
    EXPECT_TRUE(verdict_var(*sum, window.generators(), pool_).ok());

    // The registered rows open to the client's integers with the blindings that the prover keeps.
    const Result<RegisteredRows, Rejection> rows = registered_rows(statement, plan, *proof, pool_);
    ASSERT_TRUE(rows.ok());
    ASSERT_EQ(rows->model.size(), layout.rows());
    ASSERT_EQ(rows->curvature.size(), curvature_rows(layout));
    const size_t n = layout.geometry().row;
    for (size_t t = 0; t < rows->model.size(); ++t) {
      const std::span<const int64_t> values = std::span(window.theta_p).subspan(t * n, n);
      EXPECT_EQ(rows->model[t], opened(window, values, proved->model_blindings[t]));
    }
    for (size_t t = 0; t < rows->curvature.size(); ++t) {
      const std::vector<int64_t> values(window.factors.begin() + static_cast<ptrdiff_t>(t * n),
                                        window.factors.begin() + static_cast<ptrdiff_t>((t + 1) * n));
      EXPECT_EQ(rows->curvature[t], opened(window, values, proved->curvature_blindings[t]));
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
  for (const uint64_t rows_per_unit : {1U, 2U, 7U}) {
    run(window, false, rows_per_unit);
    run(window, true, rows_per_unit);
  }
}

TEST_F(RegistrationTest, CutsMustCoverEveryRowOnce) {
  const TestWindow window({}, pool_);
  const Layout& layout = window.deployment->layout();
  const uint64_t rows = layout.rows(), squares = curvature_rows(layout);
  const auto make = [&](bool certificate, Segmentation model, Segmentation curvature) {
    const auto plan = RegistrationPlan::make(*window.deployment, certificate, {std::move(model), std::move(curvature)});
    EXPECT_TRUE(plan.ok() || plan.error().message.find("every row once") != std::string::npos) << plan.error().message;
    return plan.ok();
  };
  EXPECT_TRUE(make(true, {rows}, {squares}));
  EXPECT_FALSE(make(true, {rows - 1}, {squares}));
  EXPECT_FALSE(make(true, {rows, 1}, {squares}));
  EXPECT_FALSE(make(true, {rows}, {squares - 1}));
  EXPECT_FALSE(make(true, {rows}, {squares, 0}));
  EXPECT_FALSE(make(true, {rows}, {}));
  EXPECT_FALSE(make(false, {rows}, {squares}));
  EXPECT_FALSE(make(false, {}, {}));
}

// Said before the parts are looked at, which is what bounds a verifier's time on a hostile file.
TEST_F(RegistrationTest, TooManyPartsAreRefusedByTheirNumber) {
  const TestWindow window({}, pool_);
  const Segmentation many(kMaxForks + 1, 1);
  const auto says_more = [](const auto& plan) {
    return !plan.ok() && plan.error().message.find("are more than") != std::string::npos;
  };
  EXPECT_TRUE(says_more(RegistrationPlan::make(*window.deployment, false, {many, {}})));
  EXPECT_TRUE(
      says_more(RegistrationPlan::make(*window.deployment, true, {{window.deployment->layout().rows()}, many})));
  EXPECT_TRUE(says_more(WindowPlan::make(*window.deployment, window.mask, Operator::kGroupObs, many)));
}

TEST_F(RegistrationTest, PartsMustNotBeTooLarge) {
  // 2^32 weights in 1024 rows of 2^22; a part has at most 31 variables.
  const std::vector<TensorInfo> tensors = {{.name = "w", .dtype = Dtype::kF32, .shape = {uint64_t{1} << 32}}};
  const Deployment deployment =
      *Deployment::make(*Layout::make(tensors, {"w"}, {.block = 8, .row = uint64_t{1} << 22}), Parameters{});
  const uint64_t rows = deployment.layout().rows(), squares = curvature_rows(deployment.layout());
  ASSERT_EQ(rows, 1024U);
  const auto says_large = [](const auto& plan) {
    return !plan.ok() && plan.error().message.find("too large") != std::string::npos;
  };
  const Segmentation halves = cut_rows(rows, rows / 2), fine = cut_rows(squares, 512);
  EXPECT_TRUE(says_large(RegistrationPlan::make(deployment, true, {{rows}, fine})));
  EXPECT_TRUE(says_large(RegistrationPlan::make(deployment, true, {halves, {squares}})));
  EXPECT_TRUE(RegistrationPlan::make(deployment, true, {halves, fine}).ok());
  EXPECT_TRUE(says_large(WindowPlan::make(deployment, {}, Operator::kGroupObs, {rows})));
  EXPECT_TRUE(WindowPlan::make(deployment, {}, Operator::kGroupObs, halves).ok());
}

}  // namespace
}  // namespace zkapex
