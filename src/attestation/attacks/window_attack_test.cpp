// Windows with false witnesses, nothing else wrong; and lies about the parts of the cap. `make mutants` shows that each
// of these tests fails when its check is removed.
#include "argument/attacks/simulator_testing.h"
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
  window.mask.op = Operator::kGroupObs;
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
  witness.rule_slacks[0] += Wide(25 * window.deployment->parameters().cap_numerator);  // it counts as removed
  Liar honest;
  expect_false(attack(window, witness, honest));
}

// Nothing moves but what must, and the weight is the only one of its chunk, so that its projections are 0 and itself:
// the largest that fits is accepted, and nothing beyond it, wherever it stands.
TEST_F(WindowAttack, AWeightBeyondTheRange) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    for (const uint64_t rows : {1, 100}) {
      TestWindow window({.rows_per_segment = rows, .op = op}, pool_);
      const Layout& layout = window.deployment->layout();
      const int64_t bound = int64_t{1} << (window.deployment->parameters().weight_bits() - 1);
      std::ranges::fill(window.factors, int8_t{0});
      for (const uint64_t from :
           {uint64_t{0}, uint64_t{40}, layout.coordinates() - 1}) {  // the first row, the last one
        uint64_t coordinate = from;
        while (std::ranges::binary_search(window.mask.support, coordinate)) --coordinate;
        for (const int64_t weight : {bound - 1, bound, -bound, 2 * bound - 1, 2 * bound}) {
          std::ranges::fill(window.theta_p, 0);
          for (const uint64_t masked : window.mask.support) window.theta_p[layout.padded_index(masked)] = 1;
          window.theta_p[layout.padded_index(coordinate)] = weight;
          window.theta_u = window.theta_p;
          for (const uint64_t masked : window.mask.support) window.theta_u[layout.padded_index(masked)] = 0;
          window.commit(pool_);
          Liar honest;
          const Verdict verdict = attack(window, honest);
          EXPECT_EQ(verdict.ok(), weight == bound - 1) << name(op) << ", coordinate " << coordinate << ": " << weight;
        }
      }
    }
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
  witness.rule_slacks[0] += Wide(kExcess);
  for (Wide& slack : witness.slacks) slack += Wide(kExcess);
  CapLiar liar(1, false);
  expect_false(attack(window, witness, liar));
}

// A free weight moved: K is sent as 0, and a value at r takes up the difference.
TEST_F(WindowAttack, MaskOnlyLieInTheSquareOfX) {
  TestWindow window({.tensors = {40}, .op = Operator::kMaskOnly}, pool_);
  window.theta_u[free_index(window)] += 7;
  Liar liar;
  liar.at("segment 0", "K", [](auto values, auto, const Scalar&) { values[0] = Scalar::zero(); });
  liar.at("segment 0", "joint evaluations", Liar::close_gap(0));
  expect_false(attack(window, liar));
}

// θ_u + a and θ_p − a: right if δ were 1.
TEST_F(WindowAttack, MaskOnlyLiesInBothModelsThatCancel) {
  TestWindow window({.tensors = {40}, .op = Operator::kMaskOnly}, pool_);
  window.theta_u[free_index(window)] += 7;
  expect_false(window, [&](Liar& liar, bool& solved) {
    liar.at("segment 0", "K", [](auto values, auto, const Scalar&) { values[0] = Scalar::zero(); });
    liar.at("segment 0", "joint evaluations",
            [&solved](std::span<Scalar> v, std::span<const Scalar> c, const Scalar& gap) {
              // c_x ((x + 2a)² − x²) + c_u a = gap:  4 c_x a² + (4 c_x x + c_u) a − gap = 0
              const Scalar four = Scalar::from_u64(4), x = v[1] - v[2], b = four * c[0] * x + c[1];
              Scalar root;
              take_root(b * b + four * four * c[0] * gap, root, solved);
              const Scalar a = (root - b) * (Scalar::from_u64(8) * c[0]).inverse();
              v[1] += a;
              v[2] -= a;
              v[0] = (v[1] - v[2]).square();
            });
  });
}

// What a window's verifier sees can be made without a witness.
TEST_F(WindowAttack, WindowsCanBeSimulated) {
  std::mt19937_64 rng(5);
  for (const Operator op : {Operator::kGroupObs, Operator::kGuided, Operator::kMaskOnly}) {
    const TestWindow window({.rows_per_segment = 2, .op = op}, pool_);
    const WindowStatement statement = window.statement();
    const WindowPlan plan = window.plan();
    expect_simulated(WindowRelation(statement, plan), rng, pool_);
  }
}

TEST_F(WindowAttack, TwoProofsOfOneWindowShareNothing) {
  for (const Operator op : {Operator::kGroupObs, Operator::kGuided, Operator::kMaskOnly}) {
    const TestWindow window({.rows_per_segment = 2, .op = op}, pool_);
    expect_nothing_shared({window.prove(pool_)->proof, window.prove(pool_)->proof});
  }
}

}  // namespace
}  // namespace zkapex
