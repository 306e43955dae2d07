#include "argument/plane_rounds.h"

#include <gtest/gtest.h>

#include "algebra/multilinear.h"
#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// Both sides, without pads, for numbers of planes that are and are not powers of two.
TEST(PlaneRounds, BringTheSumOverPlanesToOnePoint) {
  std::mt19937_64 rng(121);
  ThreadPool pool(1);
  for (const unsigned planes : {1U, 2U, 3U, 8U, 40U}) {
    const auto rounds = static_cast<unsigned>(std::bit_width(planes - 1));
    const std::vector<Scalar> tau = random_scalars(rng, rounds), at_r = random_scalars(rng, planes);
    const std::vector<Scalar> weight = eq_table(tau);
    Scalar rest;
    for (unsigned k = 0; k < planes; ++k) rest += weight[k] * (at_r[k] * at_r[k] - at_r[k]);

    const std::vector<Scalar> no_pads(plane_scalars(rounds));
    std::vector<Scalar> sent;
    Transcript ours("t"), theirs("t");
    Sender sender(ours, no_pads, sent);
    const ProverPlanes proved = prove_planes(sender, tau, at_r, rest, pool);
    EXPECT_TRUE(sender.exhausted());
    EXPECT_EQ(proved.b, evaluate(at_r, proved.kappa));
    EXPECT_EQ(proved.square, proved.b * proved.b);

    Receiver receiver(theirs, sent, 0);
    const ProofShape shape{.row_length = 1, .rows = 0, .forks = {}, .pairs = 0, .products = 0};
    const Proof unused{};
    ArgumentVerifier verifier(shape, unused, theirs, pool);
    const VerifierPlanes verified = verify_planes(receiver, verifier, tau, Expression(rest));
    EXPECT_TRUE(receiver.exhausted());
    EXPECT_EQ(verified.kappa, proved.kappa);
    EXPECT_EQ(verified.b.constant(), proved.b);
    EXPECT_EQ(verified.square.constant(), proved.square);
  }
}

}  // namespace
}  // namespace zkapex
