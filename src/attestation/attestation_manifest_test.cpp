// What windows, registrations and updates absorb and draw, in order: a change here is a change of the protocol, and of
// docs/window.md.
#include <gtest/gtest.h>

#include "argument/manifest_testing.h"
#include "attestation/attacks/dishonest_window_testing.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/update_testing.h"
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
main + theta_u
main + bit rows
main + unchanged
main + pads
main ? projection
main + projections
)";

std::string segment_events(const WindowSegment& segment, bool compensates) {
  const std::string name = fmt::format("segment {}", segment.rows.index);
  const unsigned v = segment.variables;
  const unsigned plane_variables = segment.planes > 0 ? log2_ceil(segment.planes) : 0;
  std::string out = fmt::format("{0} > {0}\n{0} + K\n", name) + challenge_events(name, "tau_k", plane_variables) +
                    challenge_events(name, "tau", v) + challenge_events(name, "alpha", 3) +
                    round_events(name, "joint", v) + fmt::format("{} + joint evaluations\n", name);
  if (compensates) {
    out += round_events(name, "planes", plane_variables) + fmt::format("{} + b, b^2\n", name);
    out += round_events(name, "product 1", v) + fmt::format("{0} + v, z, vz\n{0} ? eta\n", name) +
           round_events(name, "product 2", v) + fmt::format("{} + L, x, Lx\n", name);
  }
  return out + fmt::format("{} ? delta\n", name);
}

std::string projection_events(const ProjectionShape& shape, std::string_view forks, size_t first) {
  const BitUnits units = shape.bit_units();
  const unsigned plane_variables = log2_ceil(units.planes);
  std::string out;
  for (size_t k = 0; k < units.rows.size(); ++k) {
    const std::string name = fmt::format("{} {}", forks, first + k);
    out += fmt::format("{0} > {0}\n", name) + challenge_events(name, "tau_k", plane_variables) +
           challenge_events(name, "tau", units.variables(k)) + round_events(name, "bits", units.variables(k)) +
           fmt::format("{} + rest\n", name) + round_events(name, "planes", plane_variables) +
           fmt::format("{} + b, b^2\n", name);
  }
  const std::string name = fmt::format("{} {}", forks, first + units.rows.size());
  return out + fmt::format("{0} > {0}\n", name) +
         challenge_events(name, "tau", shape.row_variables() + shape.chunk_variables()) +
         challenge_events(name, "rho", shape.count_variables()) + fmt::format("{} + v\n", name) +
         round_events(name, "link", log2_ceil(shape.row_length)) + fmt::format("{} + f\n", name);
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
    EXPECT_EQ(plan.segments()[0].planes, op == Operator::kGroupObs ? 11U : 0U);
    EXPECT_EQ(plan.segments()[1].planes, op == Operator::kGroupObs ? 10U : 0U);
    EXPECT_EQ(plan.segments()[0].variables, 6U);
    std::string expected(kWindowStart);
    for (const WindowSegment& segment : plan.segments()) expected += segment_events(segment, plan.compensates());
    expected += projection_events(plan.projection().shape, "segment", plan.segments().size());
    EXPECT_EQ(manifest_text(manifest), expected + reduction_events(plan.shape()));
  }
}

// Of a registration, or an update.
std::string registration_events(const RegistrationPlan& plan, bool update) {
  std::string expected = R"(main + protocol
main + deployment
main + client
)";
  if (update) expected += "main + registration\nmain + start\nmain + masks\nmain + before\nmain + current\n";
  expected += R"(main + cut
main + model
main + curvature
main + unchanged
main + slacks
main + pads
main ? projection
main + projections
)";
  if (plan.sums()) expected += "main ? anchor\n";
  size_t fork = 0;
  const auto next = [&] {
    const std::string name = fmt::format("unit {}", fork++);
    expected += fmt::format("{0} > {0}\n", name);
    return name;
  };
  for (const PaddedSegment& segment : plan.padded()) {
    const std::string name = next();
    expected += challenge_events(name, "tau", segment.variables) + round_events(name, "padding", segment.variables) +
                fmt::format("{} + theta\n", name);
  }
  if (plan.sums()) {
    for (const AnchoredUnit& unit : plan.sums()->units) {
      const std::string name = next();
      expected += fmt::format("{} + K\n", name) + round_events(name, "anchor", unit.variables) +
                  fmt::format("{} + theta, d^2\n", name);
    }
    for (const ProgressUnit& unit : plan.sums()->progress_units) {
      const std::string name = next();
      expected += fmt::format("{} + K\n", name) + round_events(name, "progress", unit.rows.variables) +
                  fmt::format("{0} + theta, before\n{0} ? delta\n", name);
    }
    const std::string name = next();
    const unsigned variables = log2_ceil(plan.slack_rows()) + log2_ceil(plan.geometry().row);
    expected += fmt::format("{} + S\n", name) + challenge_events(name, "tau", variables) +
                fmt::format("{} ? alpha\n", name) + round_events(name, "slacks", variables) +
                fmt::format("{0} + slack evaluations\n{0} + b, b^2\n", name);
  }
  for (const ProjectedRows& projected : plan.projections()) {
    expected += projection_events(projected.shape, "unit", fork);
    fork += projected.shape.forks();
  }
  if (plan.current()) {
    const std::string name = next();
    expected += challenge_events(name, "tau", plan.current()->variables()) + fmt::format("{} + current\n", name);
  }
  return expected + reduction_events(plan.shape());
}

void expect_registration(const TestWindow& window, ThreadPool& pool) {
  const RegistrationPlan plan = *RegistrationPlan::make(*window.deployment, {2});
  const BaseRows base = window.base_rows();
  const RegistrationStatement statement{&*window.deployment, "client 1", &base};
  const ProvedRegistration proved =
      prove_registration(statement, plan, TestWindow::Before(window), 1 << 12, window.generators(), pool).value();
  Manifest manifest;
  const RegistrationRelation registration(statement, plan);
  ASSERT_TRUE(verify_with(registration, proved.proof.encode(), pool, &manifest).ok());
  EXPECT_EQ(manifest_text(manifest), registration_events(plan, false));
}

TEST(Manifest, OfARegistration) {
  ThreadPool pool(2);
  expect_registration(TestWindow({.block = 4, .tensors = {20, 9}}, pool), pool);
  expect_registration(TestWindow({.block = 4, .tensors = {20, 9}, .anchored = true}, pool), pool);
}

TEST(Manifest, OfAnUpdate) {
  ThreadPool pool(2);
  const TestUpdate update({.block = 4, .tensors = {20, 9}}, pool);
  const UpdateTerms terms = update.terms();
  const BaseRows base = update.window.base_rows();
  const RegistrationStatement statement{&*update.window.deployment, "client 1", &base, &terms};
  const RegistrationPlan plan = update.plan();
  Manifest manifest;
  const Bytes proof = update.prove(pool).value().proof.encode();
  ASSERT_TRUE(verify_with(RegistrationRelation(statement, plan), proof, pool, &manifest).ok());
  ASSERT_EQ(plan.sums()->progress_units.size(), 1U);
  EXPECT_EQ(manifest_text(manifest), registration_events(plan, true));
}

}  // namespace
}  // namespace zkapex
