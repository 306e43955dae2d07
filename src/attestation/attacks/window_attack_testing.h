// Malicious provers of a window, for the tests: false witnesses, and lies in what is sent.
#pragma once

#include <gtest/gtest.h>

#include "attestation/attacks/dishonest_window_testing.h"

namespace zkapex::testing {

// What is sent after the joint sumcheck, in order, when weights are compensated; the rest over the planes is last.
enum : size_t { kY, kYSquare, kXSquare, kThetaU, kThetaP, kFirstSlack };

class WindowAttack : public ::testing::Test {
 protected:
  // One weight moved far away: the first block's residual exceeds its bound, and nothing else is wrong.
  TestWindow with_false_residual(const WindowOptions& options = {.tensors = {40}}) {
    TestWindow window(options, pool_);
    window.theta_u[free_index(window)] += 900;
    EXPECT_GT(window.residual(0), window.plan().residual_bound());
    return window;
  }
  // A window that moves weights where the deployment's cap is 0.
  TestWindow with_false_cap(uint64_t rows_per_segment) {
    TestWindow window({.rows_per_segment = rows_per_segment}, pool_);
    Parameters parameters = window.deployment->parameters();
    parameters.cap_numerator = 0;
    window.deployment = *Deployment::make(window.deployment->layout(), parameters);
    window.mask.deployment = window.deployment->digest();
    EXPECT_FALSE(slack_of(cap_rule(parameters), window.rule_sums()[0]));
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

}  // namespace zkapex::testing
