// Windows of the operator guided: honest ones hold, and a step that does not meet a rule has no proof.
#include "attestation/attacks/window_attack_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class GuidedAttack : public WindowAttack {
 protected:
  // Three rows: the first tensor has one of them.
  static WindowOptions options(uint64_t rows_per_segment = 1) {
    return {.rows_per_segment = rows_per_segment, .op = Operator::kGuided};
  }
  enum : size_t { kCap, kProgress, kDistance, kRules };
  static std::optional<Wide> slack(const TestWindow& window, size_t group, size_t rule) {
    return slack_of(window.plan().rules()[rule], window.rule_sums()[group]);
  }
  // All other rules hold.
  static void expect_broken(const TestWindow& window, size_t group, size_t rule) {
    for (size_t g = 0; g < 2; ++g) {
      for (size_t k = 0; k < kRules; ++k) EXPECT_EQ(slack(window, g, k).has_value(), g != group || k != rule);
    }
  }
};

TEST_F(GuidedAttack, HonestWindowsHold) {
  for (uint64_t rows_per_segment = 1; rows_per_segment <= 3; ++rows_per_segment) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      WindowOptions of = options(rows_per_segment);
      of.seed = seed;
      const TestWindow window(of, pool_);
      const auto proof = window.prove(pool_);
      ASSERT_TRUE(proof.ok()) << proof.error().message;
      const Verdict verdict = window.verify(proof->proof, pool_);
      EXPECT_TRUE(verdict.ok()) << verdict.error().detail;
    }
  }
}

TEST_F(GuidedAttack, AMaskMayBeEmptyAndAGuideZero) {
  WindowOptions of = options(2);
  of.density = 0;
  const TestWindow without_mask(of, pool_);
  ASSERT_TRUE(without_mask.mask.support.empty());
  EXPECT_TRUE(without_mask.verify(without_mask.prove(pool_)->proof, pool_).ok());

  TestWindow without_guide(options(2), pool_);
  without_guide.mask.guidance->guide.scales.assign(2, 0);
  without_guide.mask.guidance->pull = 0;
  without_guide.solve();
  const TestWindow plain({.rows_per_segment = 2}, pool_);
  EXPECT_EQ(without_guide.theta_u, plain.theta_u);
  EXPECT_TRUE(without_guide.verify(without_guide.prove(pool_)->proof, pool_).ok());
}

TEST_F(GuidedAttack, SeveralRulesToARow) {
  WindowOptions of = options(2);
  of.row = 256;
  const TestWindow window(of, pool_);
  EXPECT_GT(window.plan().rule_rows().per_row(), 1U);
  EXPECT_EQ(window.plan().rule_planes(),
            (6 + window.plan().rule_rows().per_row() - 1) / window.plan().rule_rows().per_row());
  EXPECT_TRUE(window.verify(window.prove(pool_)->proof, pool_).ok());
}

// Each rule of each tensor counts, wherever the segments are cut.
TEST_F(GuidedAttack, AStepThatBreaksARule) {
  for (uint64_t rows_per_segment = 1; rows_per_segment <= 3; rows_per_segment += 2) {
    TestWindow progress(options(rows_per_segment), pool_);
    // Between what the two tensors reach, so that one of them falls short.
    const auto reached = [&](size_t g) {
      const RuleSums sums = progress.rule_sums()[g];
      return (Wide(1000) * (sums.forward - sums.backward)).divided_by(sums.guide.limbs()[0]).limbs()[0];
    };
    ASSERT_NE(reached(0), reached(1));
    progress.mask.guidance->progress = static_cast<uint32_t>(std::max(reached(0), reached(1)));
    const size_t group = reached(0) < reached(1) ? 0 : 1;
    expect_broken(progress, group, kProgress);
    EXPECT_FALSE(progress.prove(pool_).ok());
    expect_false(progress);

    TestWindow distance(options(rows_per_segment), pool_);
    distance.mask.guidance->distance_removed = 0;
    distance.mask.guidance->distance = 5000;
    while (slack(distance, 0, kDistance) && slack(distance, 1, kDistance)) distance.mask.guidance->distance -= 5;
    expect_broken(distance, slack(distance, 0, kDistance) ? 1 : 0, kDistance);
    EXPECT_FALSE(distance.prove(pool_).ok());
    expect_false(distance);

    TestWindow cap(options(rows_per_segment), pool_);
    Parameters parameters = cap.deployment->parameters();
    while (slack(cap, 0, kCap) && slack(cap, 1, kCap)) {
      parameters.cap_denominator += 4;
      cap.deployment = *Deployment::make(cap.deployment->layout(), parameters);
      cap.mask.deployment = cap.deployment->digest();
    }
    expect_broken(cap, slack(cap, 0, kCap) ? 1 : 0, kCap);
    EXPECT_FALSE(cap.prove(pool_).ok());
    expect_false(cap);
  }
}

// What one tensor has too much does not make up for what another has too little: γ. Without a pull the step does not
// depend on the guide, which here goes along with it in one tensor and against it in the other.
TEST_F(GuidedAttack, ProgressInOneTensorOnly) {
  WindowOptions of = options(3);
  of.pull = 0;
  of.progress = 0;
  of.distance = of.distance_removed = 1'000'000;
  TestWindow window(of, pool_);
  const Layout& layout = window.deployment->layout();
  GuideMaker maker(*window.deployment, window.mask.support);
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    std::vector<double> displacement;
    for (uint64_t i = block.slot * 8; i < block.slot * 8 + block.count; ++i) {
      const double along = window.theta_u[i] > window.theta_p[i] ? 0.2 : -0.2;
      displacement.push_back(block.tensor == 0 ? -along / 20 : along);
    }
    ASSERT_TRUE(maker.add_block(displacement).ok());
  }
  window.mask.guidance->guide = maker.finish();
  expect_broken(window, 0, kProgress);
  const std::vector<RuleSums> sums = window.rule_sums();
  const Wide lacks = Wide(1000) * (sums[0].backward - sums[0].forward), surplus = *slack(window, 1, kProgress);
  ASSERT_LT(lacks, surplus);
  WindowWitness witness = WindowWitness::of(window);
  witness.rule_slacks[kRules + kProgress] = surplus - lacks;
  Liar honest;
  expect_false(attack(window, witness, honest));
}

// Nor does one rule of a tensor make up for another: here the distance has what progress lacks.
TEST_F(GuidedAttack, TheDistancePaysForProgress) {
  TestWindow window(options(3), pool_);
  window.mask.guidance->progress = 1000;
  window.mask.guidance->distance = 1'000'000;
  WindowWitness witness = WindowWitness::of(window);
  for (size_t g = 0; g < 2; ++g) {
    const RuleSums sums = window.rule_sums()[g];
    ASSERT_FALSE(slack(window, g, kProgress));
    const Wide lacks = Wide(1000) * (sums.guide + sums.backward - sums.forward);
    Wide& pays = witness.rule_slacks[g * kRules + kDistance];
    ASSERT_LT(lacks, pays);
    pays = pays - lacks;
  }
  Liar honest;
  expect_false(attack(window, witness, honest));
}

// The value at r of any of the rules' planes, the first or a later one, is opened.
TEST_F(GuidedAttack, LieInARulePlane) {
  const TestWindow window = with_false_residual({.tensors = {40, 20}, .op = Operator::kGuided});
  const size_t first = kFirstSlack + window.plan().slack_planes(), planes = window.plan().rule_planes();
  ASSERT_EQ(planes, 6U);
  for (const size_t plane : {size_t{0}, size_t{1}, planes - 1}) {
    expect_false(window, [&](Liar& liar, bool&) {
      liar.at("segment 0", "joint evaluations", [&](auto values, auto coefficients, const Scalar& gap) {
        Liar::close_gap(first + plane)(values, coefficients, gap);
      });
    });
  }
}

// A curvature that holds every direction alike, L = c H with H a Hadamard matrix, ignores the guide.
TEST_F(GuidedAttack, ACurvatureThatIgnoresTheGuide) {
  WindowOptions of = options();
  of.pull = 5;
  TestWindow window(of, pool_);
  const uint64_t s = 8;
  for (size_t k = 0; k < window.factors.size(); ++k) {
    const auto i = static_cast<unsigned>(k / s % s), j = static_cast<unsigned>(k % s);
    window.factors[k] = static_cast<int8_t>(std::popcount(i & j) % 2 == 0 ? 3 : -3);
  }
  window.solve();
  window.commit(pool_);
  EXPECT_FALSE(slack(window, 0, kProgress));
  EXPECT_FALSE(slack(window, 1, kProgress));
  EXPECT_FALSE(window.prove(pool_).ok());
  expect_false(window);
}

// A curvature that holds one direction alone, uᵀx = 0: what the mask takes from uᵀθ is put where the guide draws
// nothing. Progress and cap look like an honest client's, and the distance tells.
TEST_F(GuidedAttack, ACurvatureThatFreezesADirection) {
  WindowOptions of = options();
  of.bits = 8;
  TestWindow window(of, pool_);
  const Layout& layout = window.deployment->layout();
  const std::vector<int64_t> guide = window.guide();
  const uint64_t s = layout.geometry().stride();
  std::ranges::fill(window.factors, int8_t{0});
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    std::optional<uint64_t> refuge;
    std::vector<uint64_t> masked;
    for (uint64_t j = 0; j < block.count; ++j) {
      const bool is_masked = std::ranges::binary_search(window.mask.support, block.first_coordinate + j);
      if (is_masked) masked.push_back(j);
      if (!is_masked && guide[block.slot * s + j] == 0) refuge = j;
    }
    if (!refuge) continue;
    int8_t* column = &window.factors[block.slot * s * s];  // of L: every s-th entry
    column[*refuge * s] = 40;
    for (const uint64_t j : masked) column[j * s] = window.theta_p[block.slot * s + j] < 0 ? -127 : 127;
  }
  window.solve();
  window.commit(pool_);
  for (size_t g = 0; g < 2; ++g) {
    EXPECT_TRUE(slack(window, g, kCap));
    EXPECT_TRUE(slack(window, g, kProgress));
    EXPECT_FALSE(slack(window, g, kDistance));
  }
  EXPECT_FALSE(window.prove(pool_).ok());
  expect_false(window);
}

// The step of another request, with a guide turned round or without one, is too far from this one's.
TEST_F(GuidedAttack, TheStepOfAnotherGuide) {
  TestWindow window(options(), pool_);
  const Guide guide = window.mask.guidance->guide;
  for (uint8_t& byte : window.mask.guidance->guide.trits) byte = 0;
  window.solve();
  window.mask.guidance->guide = guide;
  expect_false(window);
}

// A proof is of one request: with another guide, pull or rule its challenges are others.
TEST_F(GuidedAttack, AProofOfAnotherRequest) {
  TestWindow window(options(2), pool_);
  const Proof proof = window.prove(pool_)->proof;
  const Guidance honest = *window.mask.guidance;
  const auto verdict = [&](const auto& change) {
    window.mask.guidance = honest;
    change(*window.mask.guidance);
    return window.verify(proof, pool_);
  };
  EXPECT_TRUE(verdict([](Guidance&) {}).ok());
  expect_false(verdict([](Guidance& g) { g.guide.scales[0] -= 1; }));
  expect_false(verdict([](Guidance& g) { g.guide.levels[0] -= 1; }));
  expect_false(verdict([](Guidance& g) { g.guide.trits[0] ^= 1; }));
  expect_false(verdict([](Guidance& g) { g.progress -= 1; }));
  expect_false(verdict([](Guidance& g) { g.distance += 1; }));
  expect_false(verdict([](Guidance& g) { g.distance_removed += 1; }));
}

}  // namespace
}  // namespace zkapex
