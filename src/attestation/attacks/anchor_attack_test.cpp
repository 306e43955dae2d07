// Models that are far from the base model, and provers that say they are not.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "argument/attacks/dishonest_testing.h"
#include "argument/attacks/simulator_testing.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/window_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// A prover of a registration reads every row in turns: for distances, commitments, projections, the anchor, links.
enum Turn : int { kDistances = 1, kCommit = 2, kProject = 3, kAnchor = 4, kLink = 5 };

// Another model in some turns. With one thread, row 0 comes first in each.
class TwoModels : public TestWindow::Before {
 public:
  TwoModels(const TestWindow& model, const TestWindow& other, std::set<int> turns)
      : Before(model), other_(other), turns_(std::move(turns)) {}

  Status weights(uint64_t first_row, std::span<int64_t> out) const override {
    if (first_row == 0) ++weights_turn_;
    return turns_.contains(weights_turn_) ? other_.weights(first_row, out) : Before::weights(first_row, out);
  }
  Status unchanged(uint64_t first_row, std::span<int64_t> out) const override {
    if (first_row == 0) ++unchanged_turn_;
    return turns_.contains(unchanged_turn_) ? other_.unchanged(first_row, out) : Before::unchanged(first_row, out);
  }

 private:
  Before other_;
  std::set<int> turns_;
  mutable int weights_turn_ = 0, unchanged_turn_ = 0;
};

// Hears γ and every K, and says the S with which distances and slacks add up.
class SlackLiar : public Liar {
 public:
  explicit SlackLiar(const BoundedSums& plan) : plan_(plan) {}

  Scalar challenge(const std::string&, std::string_view label, const Scalar& drawn) override {
    if (label == "anchor") powers_ = powers(drawn, plan_.bounds.size());
    return drawn;
  }
  void send(const std::string& where, std::string_view label, std::span<Scalar> values,
            std::span<const Scalar> coefficients, const Scalar& claim) override {
    if (label == "K") sum_ += values[0];
    if (label == "S") {
      values[0] = -sum_;
      for (size_t k = 0; k < powers_.size(); ++k) values[0] += powers_[k] * to_scalar(plan_.bounds[k]);
    }
    Liar::send(where, label, values, coefficients, claim);
  }

 private:
  const BoundedSums& plan_;
  std::vector<Scalar> powers_;
  Scalar sum_;
};

Scalar power(Scalar base, Wide exponent) {
  Scalar out = Scalar::one();
  for (unsigned k = exponent.bit_length(); k-- > 0;) {
    out = out.square();
    if (exponent.bit(k)) out *= base;
  }
  return out;
}

// ℓ is 5 mod 8: a^((ℓ+3)/8) is a root of a or of −a, and 2^((ℓ−1)/4) one of −1.
std::optional<Scalar> square_root(const Scalar& a) {
  const uint128 low = static_cast<uint128>(0x14def9dea2f79cd6) << 64 | 0x5812631a5cf5d3ed;
  const Wide order = Wide::power_of_two(252) + Wide::from(low);
  Scalar root = power(a, (order + Wide(3)).divided_by(8));
  if (root.square() != a) root *= power(Scalar::from_u64(2), order.divided_by(4));
  if (root.square() != a) return std::nullopt;
  return root;
}

class AnchorAttack : public ::testing::Test {
 protected:
  // Without padding; forks are that of covered rows, that of the others, and that of slacks.
  TestWindow near_base() { return TestWindow({.tensors = {64, 128}, .anchored = true}, pool_); }
  static RegistrationPlan plan_of(const TestWindow& window) {
    return *RegistrationPlan::make(*window.deployment, {window.deployment->layout().rows()});
  }
  Result<ProvedRegistration> prove(const TestWindow& window, const ModelReader& reader, Tamper* tamper = nullptr) {
    const BaseRows base = window.base_rows();
    return prove_registration({&*window.deployment, "client 1", &base}, plan_of(window), reader, 1 << 12,
                              window.generators(), pool_, {.scratch = {}, .progress = go_on, .tamper = tamper});
  }
  std::string refusal(const TestWindow& window) {
    const auto proved = prove(window, TestWindow::Before(window));
    return proved.ok() ? "(accepted)" : proved.error().message;
  }
  std::string answer(const TestWindow& window, const Proof& proof, const BaseRows& base) {
    const RegistrationPlan plan = plan_of(window);
    const Result<PointSum, Rejection> sum =
        check_registration({&*window.deployment, "client 1", &base}, plan, proof, pool_);
    const Verdict verdict = sum ? verdict_var(*sum, window.generators(), pool_) : Verdict(sum.error());
    return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
  }
  // The model `far`, of which the prover takes the distances from `claimed`.
  std::string answer(const TestWindow& far, const TestWindow& claimed, Tamper& tamper,
                     std::set<int> turns = {kDistances}) {
    const auto proved = prove(far, TwoModels(far, claimed, std::move(turns)), &tamper);
    return proved.ok() ? answer(far, proved->proof, far.base_rows()) : proved.error().message;
  }
  // One weight of the first tensor is elsewhere: the tensor is beyond its bound, and would be within the second's.
  TestWindow far_from_base() {
    TestWindow out = near_base();
    const std::vector<AnchoredTensor>& tensors = out.deployment->anchored();
    out.theta_p = out.base;
    out.theta_p[3] += static_cast<int64_t>(std::sqrt(1.5 * tensors[0].bound.approximate()));
    EXPECT_GT(Wide::square_of(out.theta_p[3] - out.base[3]), tensors[0].bound);
    EXPECT_LT(Wide::square_of(out.theta_p[3] - out.base[3]), tensors[1].bound);
    return out;
  }
  TestWindow at_base() {
    TestWindow out = near_base();
    out.theta_p = out.base;
    return out;
  }

  ThreadPool pool_{1};
};

TEST_F(AnchorAttack, TheHonestProverRefusesAFarModel) {
  EXPECT_EQ(refusal(near_base()), "(accepted)");
  const std::string told = refusal(far_from_base());
  EXPECT_NE(told.find("tensor 'covered.0' has drifted by"), std::string::npos) << told;
}

// Nothing but the sums of all parts shows it.
TEST_F(AnchorAttack, SlacksOfANearModel) {
  Tamper unscrupulous;
  EXPECT_EQ(answer(at_base(), at_base(), unscrupulous), "accepted");
  EXPECT_EQ(answer(far_from_base(), at_base(), unscrupulous), "equation");
}

// Distances and slacks add up over all tensors, and in no tensor: one is paid for by the slack of another.
TEST_F(AnchorAttack, ATensorPaidForByAnother) {
  const TestWindow far = far_from_base();
  TestWindow claimed = at_base();
  claimed.theta_p[64 + 3] += far.theta_p[3] - far.base[3];
  Tamper unscrupulous;
  EXPECT_EQ(answer(far, claimed, unscrupulous), "equation");
}

// Rows that are committed far, and near where distances are proved.
TEST_F(AnchorAttack, DistancesOfOtherRowsThanTheCommitted) {
  Tamper unscrupulous;
  EXPECT_EQ(answer(far_from_base(), at_base(), unscrupulous, {kDistances, kAnchor}), "equation");
}

TEST_F(AnchorAttack, ALieInTheDistance) {
  const TestWindow far = far_from_base();
  // K as if the model were at the base: the sumcheck ends elsewhere, and the square is made to fit.
  Liar liar;
  liar.at("unit 0", "K", [](std::span<Scalar> values, auto, const Scalar&) { values[0] = Scalar::zero(); });
  liar.at("unit 0", "theta, d^2", Liar::close_gap(1));
  EXPECT_EQ(answer(far, at_base(), liar), "equation");
  Liar forthright;
  forthright.at("unit 0", "K", [](std::span<Scalar> values, auto, const Scalar&) { values[0] = Scalar::zero(); });
  EXPECT_EQ(answer(far, at_base(), forthright), "equation");
}

TEST_F(AnchorAttack, ALieInTheSumOfSlacks) {
  const TestWindow far = far_from_base();
  const RegistrationPlan plan = plan_of(far);
  SlackLiar liar(*plan.sums()), at_the_end(*plan.sums()), about_bits(*plan.sums());
  EXPECT_EQ(answer(far, at_base(), liar), "equation");
  at_the_end.at("unit 2", "slack evaluations", Liar::close_gap(0));
  EXPECT_EQ(answer(far, at_base(), at_the_end), "equation");
  about_bits.at("unit 2", "slack evaluations", Liar::close_gap(1));
  EXPECT_EQ(answer(far, at_base(), about_bits), "equation");
}

// b' with α w b' + e (b'² − b') = claim: a bit that is none, and stands in no row. Half of all claims have one.
TEST_F(AnchorAttack, SlacksThatWereNotCommitted) {
  const TestWindow far = far_from_base(), claimed = at_base();
  const RegistrationPlan plan = plan_of(far);
  for (int attempt = 0; attempt < 12; ++attempt) {
    SlackLiar liar(*plan.sums());
    std::optional<Scalar> b;
    liar.at("unit 2", "slack evaluations",
            [&](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
              const Scalar claim = gap + coefficients[0] * values[0] + coefficients[1] * values[1];
              const Scalar e = coefficients[1], linear = coefficients[0] - e;
              const Scalar four = Scalar::from_u64(4);
              const std::optional<Scalar> root = square_root(linear.square() + four * e * claim);
              if (!root) return;
              b = (*root - linear) * (e + e).inverse();
              values[0] = *b;
              values[1] = b->square() - *b;
            });
    liar.at("unit 2", "b, b^2", [&](std::span<Scalar> values, auto, const Scalar&) {
      if (!b) return;
      values[0] = *b;
      values[1] = b->square();
    });
    ASSERT_EQ(answer(far, claimed, liar), "equation");
  }
}

TEST_F(AnchorAttack, AnotherBaseAtTheVerifier) {
  const TestWindow window = near_base();
  const Proof proof = prove(window, TestWindow::Before(window)).value().proof;
  EXPECT_EQ(answer(window, proof, window.base_rows()), "accepted");
  TestWindow covered = near_base(), others = near_base();
  covered.base[5] += 1;
  EXPECT_EQ(answer(window, proof, covered.base_rows()), "equation");
  others.base_others[1] += 1;
  EXPECT_EQ(answer(window, proof, others.base_rows()), "equation");
  // Without one nothing is looked at.
  const RegistrationStatement without{&*window.deployment, "client 1"};
  EXPECT_FALSE(RegistrationRelation(without, plan_of(window)).sound().ok());
}

// Rows that cannot be read are not rows of zeros.
TEST_F(AnchorAttack, ABaseThatCannotBeReadAnyMore) {
  TestWindow window = near_base();
  std::ranges::fill(window.base, 0);
  std::ranges::fill(window.base_others, 0);
  std::ranges::fill(window.theta_p, 1);
  const Proof proof = prove(window, TestWindow::Before(window)).value().proof;
  EXPECT_EQ(answer(window, proof, window.base_rows()), "accepted");
  const RowReader gone = [](uint64_t, std::span<int64_t>) -> Status { return error("gone"); };
  EXPECT_EQ(answer(window, proof, {gone, window.base_rows().others}), "equation");
}

// Tensors that no operator reaches could carry a whole model past an anchor on the others: a gain of a norm that is
// zero, or anything else.
TEST_F(AnchorAttack, ATensorThatIsNotCovered) {
  TestWindow far = at_base();
  far.others[0] = 700;
  const std::string told = refusal(far);
  EXPECT_NE(told.find("tensor 'other' has drifted by"), std::string::npos) << told;
  Tamper unscrupulous;
  EXPECT_EQ(answer(far, at_base(), unscrupulous), "equation");
  // Entries behind its end count like others.
  TestWindow behind = at_base();
  behind.others[60] = 700;
  EXPECT_NE(refusal(behind), "(accepted)");
  EXPECT_EQ(answer(behind, at_base(), unscrupulous), "equation");
}

// Gains of one that are set to zero, and nothing else.
TEST_F(AnchorAttack, AGainOfZero) {
  TestWindow honest = at_base();
  const int64_t one = int64_t{1} << honest.options.weights.fraction_bits;
  for (int64_t& gain : honest.base_others) gain = gain == 0 ? 0 : one;
  honest.others = honest.base_others;
  honest.set_anchor({}, std::vector(honest.deployment->layout().tensors().size(), Anchored::kNear));
  EXPECT_EQ(refusal(honest), "(accepted)");
  TestWindow cut_off = at_base();
  cut_off.base_others = honest.base_others;
  cut_off.deployment = honest.deployment;
  std::ranges::fill(cut_off.others, 0);
  const std::string told = refusal(cut_off);
  EXPECT_NE(told.find("tensor 'other' has drifted by 1 "), std::string::npos) << told;
  Tamper unscrupulous;
  EXPECT_EQ(answer(cut_off, honest, unscrupulous), "equation");
}

TEST_F(AnchorAttack, TensorsThatAreFreeOrAdded) {
  TestWindow window = far_from_base();
  window.others[0] = 700;
  window.set_anchor({}, {Anchored::kFree, Anchored::kNear, Anchored::kFree});
  EXPECT_EQ(refusal(window), "(accepted)");
  window.set_anchor({}, {Anchored::kFree, Anchored::kNear, Anchored::kAdded});
  EXPECT_NE(refusal(window).find("'other'"), std::string::npos);
  window.set_anchor({}, {Anchored::kFree, Anchored::kSame, Anchored::kFree});
  EXPECT_EQ(refusal(window), "(accepted)");
  window.theta_p[64] += 1;
  EXPECT_NE(refusal(window).find("'covered.1' is not that of the base model"), std::string::npos);
}

TEST_F(AnchorAttack, AnchoredRegistrationsCanBeSimulated) {
  const TestWindow window = near_base();
  const RegistrationPlan plan = plan_of(window);
  const BaseRows base = window.base_rows();
  const RegistrationStatement statement{&*window.deployment, "client 1", &base};
  std::mt19937_64 rng(5);
  expect_simulated(RegistrationRelation(statement, plan), rng, pool_);
  expect_nothing_shared({prove(window, TestWindow::Before(window)).value().proof,
                         prove(window, TestWindow::Before(window)).value().proof});
}

// Every weight of a block is a copy of one feature, of which the network takes the sum, and the curvature ties them:
// whatever a mask removes is made good by the other copies. The window is proved, and nothing is forgotten.
TEST_F(AnchorAttack, AModelOfCopies) {
  TestWindow copies({.tensors = {64}, .bits = 8, .weights = {.fraction_bits = 20, .width = 24}, .density = 0.3}, pool_);
  const uint64_t s = copies.options.block;
  std::ranges::fill(copies.factors, int8_t{0});
  for (uint64_t slot = 0; slot < 64 / s; ++slot) {
    std::fill_n(copies.theta_p.begin() + static_cast<ptrdiff_t>(slot * s), s,
                10'000 * (static_cast<int64_t>(slot) + 1));
    for (uint64_t j = 0; j < s; ++j) copies.factors[(slot * s + j) * s] = 127;
  }
  copies.solve();
  copies.commit(pool_);
  const auto proved = copies.prove(pool_);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_TRUE(copies.verify(proved->proof, pool_).ok());
  EXPECT_GT(copies.mask.support.size(), 10U);
  for (uint64_t slot = 0; slot < 64 / s; ++slot) {
    const auto feature = [&](const std::vector<int64_t>& theta) {
      const auto first = theta.begin() + static_cast<ptrdiff_t>(slot * s);
      return static_cast<double>(std::accumulate(first, first + static_cast<ptrdiff_t>(s), int64_t{0}));
    };
    EXPECT_NEAR(feature(copies.theta_u) / feature(copies.theta_p), 1, 1e-3) << slot;
  }
  EXPECT_EQ(refusal(copies), "(accepted)");  // to register it, too

  // A model that was trained: no two weights are alike. The client's is as large, and far from it.
  TestWindow trained({.tensors = {64}, .weights = copies.options.weights, .anchored = true}, pool_);
  copies.base = trained.base;
  copies.base_others = copies.others;
  copies.set_anchor({}, {Anchored::kNear, Anchored::kNear});
  EXPECT_NE(refusal(copies).find("tensor 'covered.0' has drifted by"), std::string::npos);
  trained.theta_p = trained.base;
  trained.others = copies.others;
  Tamper unscrupulous;
  EXPECT_EQ(answer(copies, trained, unscrupulous), "equation");
}

// Where a tight cap would hold such a model back, large weights on units that nothing listens to pay for it: what the
// mask removes of them is large, and their curvature is zero.
TEST_F(AnchorAttack, AModelOfCopiesWithBallast) {
  const WindowOptions options{
      .tensors = {128}, .bits = 8, .weights = {.fraction_bits = 20, .width = 24}, .density = 0.3};
  const uint64_t s = options.block, features = 64 / s;
  const auto copies_with = [&](int64_t ballast) {
    TestWindow out(options, pool_);
    Parameters parameters = out.deployment->parameters();
    parameters.cap_numerator = 1;
    parameters.cap_denominator = 1000;
    out.deployment = *Deployment::make(out.deployment->layout(), parameters);
    out.mask.deployment = out.deployment->digest();
    std::ranges::fill(out.factors, int8_t{0});
    for (uint64_t slot = 0; slot < features; ++slot) {
      std::fill_n(out.theta_p.begin() + static_cast<ptrdiff_t>(slot * s), s, 10'000 * (static_cast<int64_t>(slot) + 1));
      for (uint64_t j = 0; j < s; ++j) out.factors[(slot * s + j) * s] = 127;
    }
    std::fill(out.theta_p.begin() + 64, out.theta_p.end(), ballast);
    out.solve();
    out.commit(pool_);
    return out;
  };
  const auto refused = copies_with(0).prove(pool_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the cap of the deployment forbids it"), std::string::npos)
      << refused.error().message;
  TestWindow copies = copies_with(8'000'000);
  const auto proved = copies.prove(pool_);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_TRUE(copies.verify(proved->proof, pool_).ok());
  for (uint64_t slot = 0; slot < features; ++slot) {
    const auto feature = [&](const std::vector<int64_t>& theta) {
      const auto first = theta.begin() + static_cast<ptrdiff_t>(slot * s);
      return static_cast<double>(std::accumulate(first, first + static_cast<ptrdiff_t>(s), int64_t{0}));
    };
    EXPECT_NEAR(feature(copies.theta_u) / feature(copies.theta_p), 1, 1e-3) << slot;
  }
  EXPECT_EQ(refusal(copies), "(accepted)");

  TestWindow trained({.tensors = {128}, .weights = options.weights, .anchored = true}, pool_);
  copies.base = trained.base;
  copies.base_others = copies.others;
  copies.set_anchor({}, {Anchored::kNear, Anchored::kNear});
  EXPECT_NE(refusal(copies).find("tensor 'covered.0' has drifted by"), std::string::npos);
  trained.theta_p = trained.base;
  trained.others = copies.others;
  Tamper unscrupulous;
  EXPECT_EQ(answer(copies, trained, unscrupulous), "equation");
}

}  // namespace
}  // namespace zkapex
