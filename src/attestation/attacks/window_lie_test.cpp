// A window with a false residual, and lies that make one equation after another true; each is pushed down to a chosen
// last check. `make mutants` shows that each of these tests fails when its check is removed.
#include "attestation/attacks/window_attack_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

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

// Each segment has checks of its own.
TEST_F(WindowAttack, LieInTheSquareOfYOfTheLastSegment) {
  TestWindow window({.tensors = {40, 40}, .rows_per_segment = 1}, pool_);
  const Layout& layout = window.deployment->layout();
  uint64_t last = layout.coordinates() - 1;
  while (std::ranges::binary_search(window.mask.support, last)) --last;
  window.theta_u[layout.padded_index(last)] += 900;
  const std::string segment = fmt::format("segment {}", window.plan().segments().size() - 1);
  ASSERT_EQ(segment, "segment 1");
  Liar liar;
  liar.at(segment, "joint evaluations", Liar::close_gap(kYSquare));
  expect_false(attack(window, liar));
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
