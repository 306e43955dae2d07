// Malicious provers of a window. The witnesses are false, and each lie is pushed down to a chosen last check;
// `make mutants` shows that each of these tests fails when its check is removed.
#include <gtest/gtest.h>

#include "attestation/dishonest_window.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// What is sent after the joint sumcheck, in order, when weights are compensated; the rest over the planes is last.
enum : size_t { kY, kYSquare, kXSquare, kThetaU, kThetaP, kFirstSlack };

class WindowAttack : public ::testing::Test {
 protected:
  // One weight moved far away: the first block's residual exceeds its bound, and nothing else is wrong.
  TestWindow with_false_residual(const WindowOptions& options = {.tensors = {40}}) {
    TestWindow window(options, pool_);
    window.theta_u[free_index(window)] += 900;
    EXPECT_GT(window.residual(0), window.deployment->residual_bound());
    return window;
  }
  // A window that moves weights where the deployment's cap is 0.
  TestWindow with_false_cap(uint64_t rows_per_segment) {
    TestWindow window({.rows_per_segment = rows_per_segment}, pool_);
    Parameters parameters = window.deployment->parameters();
    parameters.cap_numerator = 0;
    window.deployment = *Deployment::make(window.deployment->layout(), parameters);
    window.mask.deployment = window.deployment->digest();
    const auto [have, need] = WindowWitness::cap_sides(window);
    EXPECT_LT(have, need);
    return window;
  }
  static uint64_t free_index(const TestWindow& window) {
    uint64_t coordinate = 0;
    while (std::ranges::binary_search(window.mask.support, coordinate)) ++coordinate;
    return window.deployment->layout().padded_index(coordinate);
  }

  Verdict attack(const TestWindow& window, const WindowWitness& witness, const ModelReader& before, Tamper& tamper) {
    const Result<Proof> proof = prove_false_window(window, witness, before, tamper, pool_);
    EXPECT_TRUE(proof.ok());
    return window.verify(*proof, pool_);
  }
  Verdict attack(const TestWindow& window, const WindowWitness& witness, Tamper& tamper) {
    return attack(window, witness, TestWindow::Before(window), tamper);
  }
  Verdict attack(const TestWindow& window, Tamper& tamper) { return attack(window, WindowWitness::of(window), tamper); }
  static void expect_false(const Verdict& verdict) {
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().reason, Reason::kEquation) << verdict.error().detail;
  }
  // The same for a window of its own and no lie in what is sent.
  void expect_false(const TestWindow& window) {
    Liar honest;
    expect_false(attack(window, honest));
  }
  // Tries lies(liar, solved) on fresh proofs until all roots that it needs exist: half of all proofs have each.
  template <class Lies>
  void expect_false(const TestWindow& window, const Lies& lies) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      bool solved = true;
      Liar liar;
      lies(liar, solved);
      const Verdict verdict = attack(window, liar);
      if (solved) return expect_false(verdict);
    }
    FAIL() << "no proof gave a square";
  }

  static void take_root(const Scalar& square, Scalar& out, bool& solved) {
    if (const auto root = square_root(square)) {
      out = *root;
    } else {
      solved = false;
    }
  }
  static void lie_in_rest(std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
    Liar::close_gap(values.size() - 1)(values, coefficients, gap);
  }
  // y² takes up the residual's excess, and y is its root.
  static Liar::Lie lie_in_y(bool& solved) {
    return [&solved](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
      Liar::close_gap(kYSquare)(values, coefficients, gap);
      take_root(values[kYSquare], values[kY], solved);
    };
  }
  // θ_u or θ_p, and with it x, and with it y = … + μ x, so that only the opening at r can tell.
  static Liar::Lie lie_in_x(size_t which, uint64_t floor, bool& solved) {
    return [=, &solved](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
      // x + t and y + μ t: gap = (c_y μ² + c_x) t² + (2 c_y μ y + 2 c_x x + c) t, c the coefficient of θ_u
      const Scalar mu = Scalar::from_u64(floor), two = Scalar::from_u64(2), x = values[kThetaU] - values[kThetaP];
      const Scalar c_y = coefficients[kYSquare], c_x = coefficients[kXSquare];
      const Scalar a = c_y * mu * mu + c_x;
      Scalar b = two * (c_y * mu * values[kY] + c_x * x), root;
      if (which == kThetaU) b += coefficients[kThetaU];
      take_root(b * b + two * two * a * gap, root, solved);
      const Scalar t = (root - b) * (two * a).inverse();
      which == kThetaU ? values[kThetaU] += t : values[kThetaP] -= t;
      values[kY] += mu * t;
      values[kYSquare] = values[kY].square();
      values[kXSquare] = (x + t).square();
    };
  }
  // From y to v: the first product's equation is made true by v z, and v is what it then must be.
  static void lie_up_to_v(Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_y(solved));
    liar.at("segment 0", "v, z, vz", [](std::span<Scalar> values, std::span<const Scalar> c, const Scalar& gap) {
      Liar::close_gap(2)(values, c, gap);
      values[0] = values[2] * values[1].inverse();
    });
  }

  ThreadPool pool_{2};
};

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

// A false residual, and lies that make one equation after another true.

TEST_F(WindowAttack, LieInRest) {
  expect_false(with_false_residual(),
               [](Liar& liar, bool&) { liar.at("segment 0", "joint evaluations", lie_in_rest); });
}

TEST_F(WindowAttack, LieInTheSquareOfB) {
  expect_false(with_false_residual(), [](Liar& liar, bool&) {
    liar.at("segment 0", "joint evaluations", lie_in_rest);
    liar.at("segment 0", "b, b^2", Liar::close_gap(1));
  });
}

TEST_F(WindowAttack, LieInB) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_rest);
    liar.at("segment 0", "b, b^2", [&solved](auto values, auto coefficients, const Scalar& gap) {
      // b² − b = d, so b = (1 + √(1 + 4d)) / 2
      const Scalar d = values[1] - values[0] + gap * coefficients[1].inverse();
      Scalar root;
      take_root(Scalar::one() + Scalar::from_u64(4) * d, root, solved);
      values[0] = (Scalar::one() + root) * Scalar::from_u64(2).inverse();
      values[1] = values[0].square();
    });
  });
}

TEST_F(WindowAttack, LieInTheSquareOfY) {
  expect_false(with_false_residual(),
               [](Liar& liar, bool&) { liar.at("segment 0", "joint evaluations", Liar::close_gap(kYSquare)); });
}

TEST_F(WindowAttack, LieInTheSquareOfX) {
  expect_false(with_false_residual(),
               [](Liar& liar, bool&) { liar.at("segment 0", "joint evaluations", Liar::close_gap(kXSquare)); });
}

TEST_F(WindowAttack, LieInY) {
  expect_false(with_false_residual(),
               [](Liar& liar, bool& solved) { liar.at("segment 0", "joint evaluations", lie_in_y(solved)); });
}

TEST_F(WindowAttack, LieInVz) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_y(solved));
    liar.at("segment 0", "v, z, vz", Liar::close_gap(2));
  });
}

TEST_F(WindowAttack, LieInV) { expect_false(with_false_residual(), lie_up_to_v); }

// v + z stays what it was: right if η were 1.
TEST_F(WindowAttack, LiesInVAndZThatCancel) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_y(solved));
    liar.at("segment 0", "v, z, vz", [&solved](std::span<Scalar> values, std::span<const Scalar>, const Scalar& gap) {
      // (v + a)(z − a) = vz + gap
      const Scalar difference = values[1] - values[0];
      Scalar root;
      take_root(difference.square() - Scalar::from_u64(4) * gap, root, solved);
      const Scalar a = (difference + root) * Scalar::from_u64(2).inverse();
      values[0] += a;
      values[1] -= a;
      values[2] += gap;
    });
  });
}

TEST_F(WindowAttack, LieInLx) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    lie_up_to_v(liar, solved);
    liar.at("segment 0", "L, x, Lx", Liar::close_gap(2));
  });
}

TEST_F(WindowAttack, LieInXAtSigma) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    lie_up_to_v(liar, solved);
    liar.at("segment 0", "L, x, Lx", [](std::span<Scalar> values, std::span<const Scalar> c, const Scalar& gap) {
      Liar::close_gap(2)(values, c, gap);
      values[1] = values[2] * values[0].inverse();
    });
  });
}

TEST_F(WindowAttack, LieInL) {
  expect_false(with_false_residual(), [](Liar& liar, bool& solved) {
    lie_up_to_v(liar, solved);
    liar.at("segment 0", "L, x, Lx", [](std::span<Scalar> values, std::span<const Scalar> c, const Scalar& gap) {
      values[0] += gap * (c[0] + c[2] * values[1]).inverse();
      values[2] = values[0] * values[1];
    });
  });
}

TEST_F(WindowAttack, LieInThetaU) {
  const TestWindow window = with_false_residual();
  expect_false(window, [&](Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_x(kThetaU, window.options.floor, solved));
  });
}

TEST_F(WindowAttack, LieInThetaP) {
  const TestWindow window = with_false_residual();
  expect_false(window, [&](Liar& liar, bool& solved) {
    liar.at("segment 0", "joint evaluations", lie_in_x(kThetaP, window.options.floor, solved));
  });
}

TEST_F(WindowAttack, LieInBothModels) {
  expect_false(with_false_residual(), [](Liar& liar, bool&) {
    liar.at("segment 0", "joint evaluations", [](auto values, auto coefficients, const Scalar& gap) {
      const Scalar before = values[kThetaU];
      Liar::close_gap(kThetaU)(values, coefficients, gap);
      values[kThetaP] += values[kThetaU] - before;
    });
  });
}

TEST_F(WindowAttack, LieInASlackPlane) {
  expect_false(with_false_residual(),
               [](Liar& liar, bool&) { liar.at("segment 0", "joint evaluations", Liar::close_gap(kFirstSlack)); });
}

TEST_F(WindowAttack, LieInTheCapPlane) {
  expect_false(with_false_residual(), [](Liar& liar, bool&) {
    liar.at("segment 0", "joint evaluations", [](auto values, auto coefficients, const Scalar& gap) {
      Liar::close_gap(values.size() - 2)(values, coefficients, gap);
    });
  });
}

TEST_F(WindowAttack, LiesInTwoSlackPlanesThatCancel) {
  ASSERT_GE(with_false_residual().plan().slack_planes(), 2U);
  expect_false(with_false_residual(), [](Liar& liar, bool&) {
    liar.at("segment 0", "joint evaluations", [](auto values, auto c, const Scalar& gap) {
      const Scalar a = gap * (c[kFirstSlack] - c[kFirstSlack + 1]).inverse();
      values[kFirstSlack] += a;
      values[kFirstSlack + 1] -= a;
    });
  });
}

}  // namespace
}  // namespace zkapex
