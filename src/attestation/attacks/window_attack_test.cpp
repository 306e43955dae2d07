// Windows with false witnesses, nothing else wrong; and lies about the parts of the cap. `make mutants` shows that each
// of these tests fails when its check is removed.
#include "attestation/attacks/window_attack_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

TEST_F(WindowAttack, TheSameProverWithTheTruthIsAccepted) {
  const std::vector<WindowOptions> all = {
      {}, {.tensors = {40}}, {.rows_per_segment = 100}, {.rows_per_segment = 2, .op = Operator::kMaskOnly}};
  for (const WindowOptions& options : all) {
    Liar honest;
    const Verdict verdict = attack(TestWindow(options, pool_), honest);
    EXPECT_TRUE(verdict.ok()) << verdict.error().detail;
  }
}

// False witnesses, nothing else.

TEST_F(WindowAttack, ResidualAboveTheBound) {
  for (const uint64_t rows : {1, 2, 100}) expect_false(with_false_residual({.rows_per_segment = rows}));
}

TEST_F(WindowAttack, ResidualAboveTheBoundInAPartialBlock) {
  TestWindow window({}, pool_);
  const Layout& layout = window.deployment->layout();
  uint64_t last = layout.coordinates() - 1;
  while (std::ranges::binary_search(window.mask.support, last)) --last;
  window.theta_u[layout.padded_index(last)] += 900;
  expect_false(window);
}

TEST_F(WindowAttack, MaskOnlyPassedOffAsCompensated) {
  TestWindow window({.op = Operator::kMaskOnly}, pool_);
  window.options.op = Operator::kGroupObs;
  expect_false(window);
}

TEST_F(WindowAttack, CompensationScaled) {
  TestWindow window({}, pool_);
  for (size_t i = 0; i < window.theta_u.size(); ++i) {
    if (window.theta_u[i] != 0) window.theta_u[i] += window.theta_u[i] - window.theta_p[i];  // twice as far
  }
  expect_false(window);
}

TEST_F(WindowAttack, CompensationWithOtherDamping) {
  TestWindow window({}, pool_), other({}, pool_);
  other.options.floor = 60;
  other.solve();
  window.theta_u = other.theta_u;
  expect_false(window);
}

TEST_F(WindowAttack, CompensationWithAnotherCurvature) {
  for (const int8_t entry : {int8_t{0}, int8_t{1}}) {
    const TestWindow window({}, pool_);
    TestWindow other(window.options, pool_);
    std::ranges::fill(other.factors, entry);
    other.solve();
    Liar honest;
    expect_false(attack(window, WindowWitness::of(other), TestWindow::Before(other), honest));
  }
}

TEST_F(WindowAttack, AnotherModelThanTheCommittedOne) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    const TestWindow window({.op = op}, pool_);
    TestWindow other(window.options, pool_);
    other.theta_p[free_index(window)] += 64;
    other.solve();
    Liar honest;
    expect_false(attack(window, WindowWitness::of(other), TestWindow::Before(other), honest));
  }
}

// The operator for a mask that lacks one coordinate is stationary for the whole mask too: only the weight itself tells.
TEST_F(WindowAttack, AMaskedWeightKept) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    TestWindow window({.op = op}, pool_);
    const std::vector<uint64_t> support = window.mask.support;
    window.mask.support.erase(window.mask.support.begin() + 2);
    window.solve();
    window.mask.support = support;
    ASSERT_NE(window.theta_u[window.deployment->layout().padded_index(support[2])], 0);
    expect_false(window);
  }
}

TEST_F(WindowAttack, AWeightOnPadding) {
  TestWindow window({.block = 7, .tensors = {40}}, pool_);
  ASSERT_FALSE(window.deployment->layout().coordinate(7).has_value());
  window.theta_u[7] = 5;
  WindowWitness witness = WindowWitness::of(window);
  witness.cap_slack += Wide(25 * window.deployment->parameters().cap_numerator);  // it counts as removed
  Liar honest;
  expect_false(attack(window, witness, honest));
}

// Nothing moves but what must: only the range of θ_u is wrong.
TEST_F(WindowAttack, AWeightBeyondTheRange) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    TestWindow window({.op = op}, pool_);
    const uint32_t bits = window.deployment->parameters().weight_bits();
    window.theta_p[free_index(window)] = int64_t{1} << bits;
    window.solve();
    window.commit(pool_);
    expect_false(window);
  }
}

TEST_F(WindowAttack, CompensationBeyondTheCap) {
  for (const uint64_t rows : {1, 100}) expect_false(with_false_cap(rows));
}

TEST_F(WindowAttack, MaskOnlyWithAFreeWeightMoved) {
  TestWindow window({.op = Operator::kMaskOnly}, pool_);
  window.theta_u[free_index(window)] += 7;
  expect_false(window);
}

// Lies about a segment's part of the cap.

class CapLiar : public Tamper {
 public:
  explicit CapLiar(size_t segments, bool balanced) : left_(segments), balanced_(balanced) {}
  void send(const std::string&, std::string_view label, std::span<Scalar> values, std::span<const Scalar>,
            const Scalar&) override {
    if (label != "K") return;
    if (!balanced_) {
      values[0] = Scalar::zero();
    } else if (--left_ == 0) {
      values[0] = -sum_;
    } else {
      sum_ += values[0];
    }
  }

 private:
  size_t left_;
  bool balanced_;
  Scalar sum_;
};

TEST_F(WindowAttack, PartsOfTheCapThatOnlySeemToAddUp) {
  for (const bool balanced : {false, true}) {
    for (const uint64_t rows : {1, 100}) {
      const TestWindow capped = with_false_cap(rows);
      CapLiar liar(capped.plan().segments().size(), balanced);
      expect_false(attack(capped, liar));
      TestWindow moved({.rows_per_segment = rows, .op = Operator::kMaskOnly}, pool_);
      moved.theta_u[free_index(moved)] += 7;
      CapLiar other(moved.plan().segments().size(), balanced);
      expect_false(attack(moved, other));
    }
  }
}

// Terms of the joint sumcheck that pay for each other, were their weights known.

TEST_F(WindowAttack, MaskedWeightsPaidByASlack) {
  TestWindow window({.tensors = {40}, .density = 0}, pool_);
  window.mask.support = {0, 1, 2, 3, 4, 5, 6, 7};  // a whole block
  window.solve();
  constexpr int64_t kKept = 9;
  for (size_t j = 0; j < 8; ++j) window.theta_u[j] = kKept;
  WindowWitness witness = WindowWitness::of(window);
  witness.slacks[0] = witness.slacks[0] - Wide(kKept);
  Liar honest;
  expect_false(attack(window, witness, honest));
}

TEST_F(WindowAttack, TheCapPaidBySlacks) {
  const TestWindow window({.tensors = {64}}, pool_);  // every slot of the segment is committed
  // The cap's slack claims V more than there is, and every block's slack V more than it has.
  constexpr uint64_t kExcess = 1000;
  WindowWitness witness = WindowWitness::of(window);
  witness.cap_slack += Wide(kExcess);
  for (Wide& slack : witness.slacks) slack += Wide(kExcess);
  CapLiar liar(1, false);
  expect_false(attack(window, witness, liar));
}

}  // namespace
}  // namespace zkapex
