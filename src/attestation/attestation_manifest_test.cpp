// What windows and registrations absorb and draw, in order: a change here is a change of the protocol, and of
// docs/window.md.
#include <gtest/gtest.h>

#include "argument/manifest_testing.h"
#include "attestation/attacks/dishonest_window_testing.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "base/bits.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

constexpr std::string_view kWindowStart = R"(main + protocol
main + operator
main + deployment
main + segmentation
main + mask
main + window
main + client
main + registration
main + nonce
main + start
main + model
main + curvature
main + bit rows
main + unchanged
main + pads
)";

std::string segment_events(const WindowSegment& segment, bool compensates) {
  const std::string name = fmt::format("segment {}", segment.rows.index);
  const unsigned v = segment.variables;
  std::string out = fmt::format("{0} > {0}\n{0} + K\n", name) +
                    challenge_events(name, "tau_k", log2_ceil(segment.planes)) + challenge_events(name, "tau", v) +
                    challenge_events(name, "alpha", 3) + round_events(name, "joint", v) +
                    fmt::format("{} + joint evaluations\n", name) +
                    round_events(name, "planes", log2_ceil(segment.planes)) + fmt::format("{} + b, b^2\n", name);
  if (compensates) {
    out += round_events(name, "product 1", v) + fmt::format("{0} + v, z, vz\n{0} ? eta\n", name) +
           round_events(name, "product 2", v) + fmt::format("{} + L, x, Lx\n", name);
  }
  return out + fmt::format("{} ? delta\n", name);
}

TEST(Manifest, OfAWindow) {
  ThreadPool pool(2);
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    const TestWindow window({.block = 4, .tensors = {20, 9}, .op = op}, pool);
    const WindowPlan plan = window.plan();
    Manifest manifest;
    const Bytes proof = window.prove(pool)->proof.encode();
    ASSERT_TRUE(verify_with(*relation(window.statement(), plan), proof, pool, &manifest).ok());
    ASSERT_EQ(plan.segments().size(), 2U);
    EXPECT_EQ(log2_ceil(plan.segments()[0].planes), op == Operator::kGroupObs ? 5U : 4U);
    EXPECT_EQ(plan.segments()[0].variables, 6U);
    std::string expected(kWindowStart);
    for (const WindowSegment& segment : plan.segments()) expected += segment_events(segment, plan.compensates());
    EXPECT_EQ(manifest_text(manifest), expected + reduction_events(plan.shape()));
  }
}

TEST(Manifest, OfARegistration) {
  ThreadPool pool(2);
  const TestWindow window({.block = 4, .tensors = {20, 9}}, pool);
  const RegistrationPlan plan =
      *RegistrationPlan::make(*window.deployment, true, {{2}, {curvature_rows(window.deployment->layout())}});
  const RegistrationStatement statement{&*window.deployment, "client 1", window.unchanged.encoded, {}};
  const ProvedRegistration proved =
      *prove_registration(statement, plan, TestWindow::Before(window), 1 << 12, window.generators(), pool);
  Manifest manifest;
  const RegistrationRelation registration(statement, plan);
  ASSERT_TRUE(verify_with(registration, proved.proof.encode(), pool, &manifest).ok());
  std::string expected = R"(main + protocol
main + deployment
main + client
main + cut
main + curvature
main + bit rows
main + unchanged
main + pads
)";
  for (size_t k = 0; k < plan.units().size(); ++k) {
    const RangeUnit& unit = plan.units()[k];
    const std::string name = fmt::format("unit {}", k);
    expected += fmt::format("{0} > {0}\n", name) + challenge_events(name, "tau_k", log2_ceil(unit.planes)) +
                challenge_events(name, "tau", unit.variables) + fmt::format("{} ? alpha\n", name) +
                round_events(name, "bits", unit.variables) + fmt::format("{} + evaluations\n", name) +
                round_events(name, "planes", log2_ceil(unit.planes)) + fmt::format("{0} + b, b^2\n{0} ? delta\n", name);
  }
  EXPECT_EQ(manifest_text(manifest), expected + reduction_events(plan.shape()));
}

}  // namespace
}  // namespace zkapex
