// Nonces are hedged: with a source of randomness that repeats itself, proofs of two statements or of two witnesses have
// no scalar and no point in common. A mask used under two challenges would reveal what it hides.
#include <gtest/gtest.h>

#include <set>

#include "attestation/registration_prover.h"
#include "attestation/window_testing.h"
#include "base/repeated_randomness_testing.h"

namespace zkapex {
namespace {

using testing::RepeatedRandomness;
using testing::TestWindow;

using Values = std::set<std::array<uint8_t, 32>>;

// All scalars and points of a proof.
Values values_of(const Proof& proof) {
  Values out;
  const auto points = [&](const std::vector<EncodedPoint>& list) { out.insert(list.begin(), list.end()); };
  const auto scalars = [&](const std::vector<Scalar>& list) {
    for (const Scalar& s : list) out.insert(s.to_bytes());
  };
  points(proof.rows);
  for (const auto& fork : proof.forks) scalars(fork);
  scalars(proof.main);
  scalars(proof.masked_factors);
  scalars({proof.opening.mask_value, proof.opening.blinding, proof.opening.last});
  points({proof.pads, proof.opening.mask});
  points(proof.opening.left);
  points(proof.opening.right);
  return out;
}

void expect_no_common_values(const Proof& a, const Proof& b) {
  const Values first = values_of(a), second = values_of(b);
  ASSERT_GT(first.size(), 50U);
  for (const auto& value : second) EXPECT_FALSE(first.contains(value));
}

class HedgedNonces : public ::testing::Test {
 protected:
  Proof window(const WindowStatement& statement, const TestWindow& of) {
    const WindowPlan plan = of.plan();
    const TestWindow::Before before(of);
    const TestWindow::After after(of);
    const WindowBits bits = *WindowBits::make(*of.deployment, of.mask, plan, before, after, pool_);
    const ModelOpenings openings{of.model.all_blindings(), of.curvature.all_blindings()};
    return prove_window(statement, plan, bits, before, openings, of.generators(), pool_)->proof;
  }
  Proof registration(const TestWindow& of, const std::string& client = "client 1") {
    const RegistrationPlan plan = *RegistrationPlan::make(*of.deployment, {of.deployment->layout().rows()});
    return prove_registration({&*of.deployment, client}, plan, TestWindow::Before(of), 1 << 12, of.generators(), pool_)
        .value()
        .proof;
  }

  ThreadPool pool_{2};
  const RepeatedRandomness repeated_;
  TestWindow window_{{.block = 4, .tensors = {20}}, pool_};
};

TEST_F(HedgedNonces, TheSourceDoesRepeat) {
  EXPECT_EQ(window(window_.statement(), window_).encode(), window(window_.statement(), window_).encode());
}

TEST_F(HedgedNonces, OfWindowsUnderTwoStatements) {
  const Proof first = window(window_.statement(), window_);
  WindowStatement statement = window_.statement();
  statement.registration[0] ^= 1;
  expect_no_common_values(first, window(statement, window_));
  statement = window_.statement();
  statement.client = "client 2";
  expect_no_common_values(first, window(statement, window_));
  Mask mask = window_.mask;
  mask.nonce[0] ^= 1;
  statement = window_.statement();
  statement.mask = &mask;
  expect_no_common_values(first, window(statement, window_));
}

// The same commitments, and one weight rounded the other way.
TEST_F(HedgedNonces, OfWindowsWithTwoWitnesses) {
  const Proof first = window(window_.statement(), window_);
  TestWindow other(window_.options, pool_);
  uint64_t free = 0;
  while (other.theta_u[free] == 0) ++free;
  other.theta_u[free] += 1;
  expect_no_common_values(first, window(window_.statement(), other));
}

TEST_F(HedgedNonces, OfRegistrations) {
  const Proof first = registration(window_);
  expect_no_common_values(first, registration(window_, "client 2"));
  TestWindow weight(window_.options, pool_), entry(window_.options, pool_), other(window_.options, pool_);
  weight.theta_p[0] ^= 1;
  entry.factors[0] = static_cast<int8_t>(entry.factors[0] == 0 ? 1 : 0);
  other.others[0] += 1;
  for (const TestWindow* changed : {&weight, &entry, &other}) {
    expect_no_common_values(first, registration(*changed));
  }
}

}  // namespace
}  // namespace zkapex
