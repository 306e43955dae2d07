#include "unlearning/rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "unlearning/bounds.h"

namespace zkapex {
namespace {

Mask guided(uint64_t pull = 9, uint32_t progress = 250, uint32_t distance = 700, uint32_t removed = 30) {
  Mask mask;
  mask.op = Operator::kGuided;
  mask.guidance = {pull, progress, distance, removed, {}};
  return mask;
}

Deployment two_tensors(const Parameters& parameters = {}, Geometry geometry = {.block = 16, .row = 256}) {
  const auto layout = Layout::make({{"a", Dtype::kF32, {700}}, {"b", Dtype::kF32, {5}}, {"c", Dtype::kF32, {30}}},
                                   {"a", "c"}, geometry);
  return *Deployment::make(*layout, parameters);
}

// By their definitions, on numbers.
TEST(Rules, SlacksAreWhatTheRulesSay) {
  Parameters p;
  p.cap_numerator = 3;
  p.cap_denominator = 2;
  const Mask mask = guided();
  const std::vector<Rule> rules = rules_of(p, mask);
  ASSERT_EQ(rules.size(), 3U);
  // x = (5, −2) outside the mask, −7 on it; Δ = (4, 1).
  const RuleSums sums{.removed = 49, .moved = 29, .forward = 20, .backward = 2, .guide = 17};
  EXPECT_EQ(slack_of(rules[0], sums), Wide(3 * (49 + 17) - 2 * 29));
  EXPECT_EQ(slack_of(rules[1], sums), Wide(1000 * 18 - 250 * 17));
  EXPECT_EQ(slack_of(rules[2], sums), Wide(700 * 17 + 30 * 49 - 1000 * (1 + 9)));
  EXPECT_EQ(rules_of(p, Mask{}).size(), 1U);
  EXPECT_EQ(slack_of(rules_of(p, Mask{})[0], sums), Wide(3 * 49 - 2 * 29));
  Mask only;
  only.op = Operator::kMaskOnly;
  EXPECT_TRUE(rules_of(p, only).empty());
}

TEST(Rules, HoldUpToTheLastInteger) {
  const Rule rule{.name = "", .removed = 2, .moved = -3, .followed = 5, .guide = -7};
  EXPECT_EQ(slack_of(rule, {.removed = 3, .moved = 2, .forward = 7, .backward = 0, .guide = 5}), Wide(0));
  EXPECT_EQ(slack_of(rule, {.removed = 3, .moved = 2, .forward = 7, .backward = 1, .guide = 4}), Wide(2));
  EXPECT_FALSE(slack_of(rule, {.removed = 1, .moved = 1, .forward = 1, .backward = 1, .guide = 0}));
}

TEST(Rules, GoByTensorWhereThereIsAGuide) {
  const Deployment deployment = two_tensors();
  const std::vector<RowGroup> all = row_groups(deployment.layout(), Mask{});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rows, deployment.layout().rows());
  const std::vector<RowGroup> groups = row_groups(deployment.layout(), guided());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].first_row, 0U);
  EXPECT_EQ(groups[0].rows, 3U);
  EXPECT_EQ(groups[1].first_row, 3U);
  EXPECT_EQ(groups[1].rows, 1U);
  EXPECT_EQ(deployment.layout().tensors()[groups[1].tensor].name, "c");
}

TEST(Bounds, OfARequest) {
  const Deployment deployment = two_tensors();
  const auto plain = window_bounds(deployment, Mask{});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->residual, deployment.residual_bound());
  EXPECT_EQ(plain->slack_bits, deployment.slack_bits());
  const auto bounds = window_bounds(deployment, guided(16'129));
  ASSERT_TRUE(bounds.ok()) << bounds.error().message;
  EXPECT_EQ(bounds->residual, deployment.residual_bound(16'129));
  // distance: 30 + 2 · 2000 is the most
  const Wide largest = Wide(4030) * Wide(730) * Wide::power_of_two(2 * deployment.parameters().weights.width - 2);
  EXPECT_EQ(bounds->slack_bits, std::max(bounds->residual.bit_length(), largest.bit_length()));
}

TEST(Bounds, RefuseWhatHasNoRoom) {
  const auto refusal = [](const Deployment& deployment, const Mask& mask) {
    const auto bounds = window_bounds(deployment, mask);
    return bounds.ok() ? "" : bounds.error().message;
  };
  Parameters coarse;
  coarse.error = {.digits = 1, .places = 1};
  coarse.weights = {.fraction_bits = 30, .width = 36};
  EXPECT_EQ(refusal(two_tensors(coarse), guided(uint64_t{1} << 30)), "");
  // (2^40 · 0.1 · 2^30)² has 134 bits
  EXPECT_NE(refusal(two_tensors(coarse, {.block = 8, .row = 128}), guided(uint64_t{1} << 40)).find("134 bits"),
            std::string::npos);
  // Six rules in rows that have room for one each, beside planes of two bits.
  EXPECT_NE(refusal(two_tensors(coarse, {.block = 2, .row = 128}), guided(uint64_t{1} << 32)).find("bit planes"),
            std::string::npos);
}

// A deployment with the largest floor, and room for no pull as large: y is 2^121 with both, which B y² does not bear.
TEST(Bounds, RefuseWhatWraps) {
  Parameters p;
  p.floor = Deployment::kMaxFloor;
  p.curvature_chunk = p.weight_chunk = uint64_t{1} << 16;  // entries below 2^24, weights below 2^56
  const Deployment deployment = two_tensors(p, {.block = 256, .row = 1 << 17});
  EXPECT_TRUE(window_bounds(deployment, guided(Guidance::kMaxPull / 2)).ok());
  const auto bounds = window_bounds(deployment, guided(Guidance::kMaxPull));
  ASSERT_FALSE(bounds.ok());
  EXPECT_NE(bounds.error().message.find("wrap around"), std::string::npos) << bounds.error().message;
}

// The edges of docs/formats.md, "Mask": the last number that fits, by bisection, and by the formula.
class NoWrap : public ::testing::Test {
 protected:
  NoWrap() {
    p_.curvature_bits = 2;
    p_.weight_chunk = p_.curvature_chunk = 1;
    p_.weights.width = 63;
  }
  bool fits(uint64_t pull, const Rule& rule, uint64_t padded) const {
    const Rule rules[] = {rule};
    return check_no_wrap({1, 1}, p_, padded, 10, pull, rules).ok();
  }
  template <class Fits>
  static uint64_t last(const Fits& fits) {
    uint64_t low = 0, high = ~uint64_t{0};
    EXPECT_TRUE(fits(low));
    EXPECT_FALSE(fits(high));
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }

  Parameters p_;
  const Wide room_ =
      (Wide::power_of_two(252) + Wide::from(static_cast<uint128>(0x14def9dea2f79cd6) << 64 | 0x5812631a5cf5d3ed))
          .divided_by(4);
  const Wide move_ = Wide(2) * (Wide::power_of_two(63) - Wide(1)), guide_ = Wide::power_of_two(62) - Wide(1);
  const Wide slack_ = Wide::power_of_two(10);
};

TEST_F(NoWrap, RulesHoldUpToTheLastInteger) {
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::max();
  for (const auto& [rule, factor] : {std::pair(Rule{"r", -kLarge, 0, 0, 0}, move_ * move_),
                                     {Rule{"r", 0, -kLarge, 0, 0}, move_ * move_},
                                     {Rule{"r", 0, 0, kLarge, 0}, move_ * guide_},
                                     {Rule{"r", 0, 0, 0, -kLarge}, guide_ * guide_}}) {
    const uint64_t most = last([&, &of = rule](uint64_t padded) { return fits(0, of, padded); });
    const Wide term = Wide(static_cast<uint64_t>(kLarge)) * factor;
    EXPECT_LT(Wide(most) * term + slack_, room_);
    EXPECT_GE(Wide(most + 1) * term + slack_, room_);
  }
}

TEST_F(NoWrap, PullsHoldUpToTheLastInteger) {
  const uint64_t most = last([&](uint64_t pull) { return fits(pull, Rule{"r", 0, 0, 0, 0}, 1); });
  const auto sum = [&](uint64_t pull) {  // y = (3² + μ + t) x + t D
    const Wide y = (Wide(9 + 4) + Wide(pull)) * move_ + Wide(pull) * guide_;
    return y * y + slack_;
  };
  EXPECT_LT(sum(most), room_);
  EXPECT_GE(sum(most + 1), room_);
}

}  // namespace
}  // namespace zkapex
