#include "unlearning/anchor.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "unlearning/deployment.h"

namespace zkapex {
namespace {

// In the layout's order: added, counter (two entries an element), covered, near.
Layout four_tensors() {
  return *Layout::make({{"added", Dtype::kF32, {10}},
                        {"counter", Dtype::kI64, {3}},
                        {"covered", Dtype::kF32, {1000}},
                        {"near", Dtype::kF32, {7}}},
                       {"covered"}, {.block = 16, .row = 256});
}
Parameters with_few_bits() {
  Parameters p;
  p.weights = {.fraction_bits = 20, .width = 24};
  return p;
}
Anchor anchor_of_four() {
  return {.limits = {.ratio = 300, .drift = {.digits = 2, .places = 2}, .added = {.digits = 5, .places = 1}},
          .base = {},
          .tensors = {Anchored::kAdded, Anchored::kSame, Anchored::kNear, Anchored::kNear},
          .squares = {Wide(), Wide(), Wide(123'456'789'012'345), Wide(7)}};
}
Result<Deployment> made(const Anchor& anchor) { return Deployment::make(four_tensors(), with_few_bits(), anchor); }
std::string refusal(const Anchor& anchor) { return testing::refusal(made(anchor)); }
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Anchor, BoundsAreExact) {
  const Deployment deployment = *made(anchor_of_four());
  const std::vector<AnchoredTensor>& tensors = deployment.anchored();
  ASSERT_EQ(tensors.size(), 4U);
  // 0.25 · 10 · 4^20;  0;  0.09 · 123456789012345 + 0.0004 · 1000 · 4^20;  0.63 + 0.0004 · 7 · 4^20, rounded down.
  EXPECT_EQ(tensors[0].bound.decimal(), "2748779069440");
  EXPECT_EQ(tensors[1].bound, Wide());
  EXPECT_EQ(tensors[2].bound.decimal(), "11550915662221");
  EXPECT_EQ(tensors[3].bound.decimal(), "3078632558");
  EXPECT_EQ(tensors[1].entries, 6U);
  EXPECT_EQ(deployment.anchor_bits(), 44U);
}

TEST(Anchor, OnlyVectorsMayDriftWhateverTheirSize) {
  const auto bound = [](const std::vector<uint64_t>& shape) {
    const Layout layout = *Layout::make({{"covered", Dtype::kF32, shape}}, {"covered"}, {.block = 16, .row = 256});
    Anchor anchor{.limits = {.ratio = 500, .drift = {.digits = 1, .places = 0}},
                  .base = {},
                  .tensors = {Anchored::kNear},
                  .squares = {Wide(400)}};
    return Deployment::make(layout, with_few_bits(), anchor)->anchored()[0].bound;
  };
  EXPECT_EQ(bound({2, 3}), Wide(100));
  EXPECT_EQ(bound({2, 1, 3}), Wide(100));
  const Wide vector = Wide(100) + Wide(6) * Wide::power_of_two(40);
  EXPECT_EQ(bound({6}), vector);
  EXPECT_EQ(bound({1, 1, 6}), vector);
}

TEST(Anchor, ATensorOfTwoEntriesAnElementIsNotNear) {
  Anchor anchor = anchor_of_four();
  anchor.tensors[1] = Anchored::kNear;
  EXPECT_TRUE(contains(refusal(anchor), "'counter' is no tensor of weights"));
}

TEST(Anchor, AFreeTensorIsLeftOut) {
  Anchor anchor = anchor_of_four();
  anchor.tensors[2] = Anchored::kFree;
  anchor.squares[2] = Wide();
  const Deployment deployment = *made(anchor);
  ASSERT_EQ(deployment.anchored().size(), 3U);
  EXPECT_EQ(deployment.anchored()[2].tensor, 3U);
  EXPECT_EQ(tensors_anchored(deployment, Anchored::kFree), std::vector<std::string>{"covered"});
  EXPECT_EQ(tensors_anchored(deployment, Anchored::kAdded), std::vector<std::string>{"added"});
}

TEST(Anchor, RefusesWhatDoesNotFitItsLayout) {
  EXPECT_TRUE(made(anchor_of_four()).ok());
  Anchor short_of_one = anchor_of_four();
  short_of_one.tensors.pop_back();
  short_of_one.squares.pop_back();
  EXPECT_TRUE(contains(refusal(short_of_one), "3 tensors"));
  Anchor all_free = anchor_of_four();
  all_free.tensors.assign(4, Anchored::kFree);
  all_free.squares.assign(4, Wide());
  EXPECT_TRUE(contains(refusal(all_free), "holds nothing"));
  Anchor wide = anchor_of_four();
  wide.limits.ratio = AnchorLimits::kMaxRatio;
  EXPECT_TRUE(made(wide).ok());
  ++wide.limits.ratio;
  EXPECT_TRUE(contains(refusal(wide), "ratio"));
}

// Σ θ0² of weights that all have the largest size there is, and one more.
TEST(Anchor, RefusesSquaresThatNoModelHas) {
  Anchor anchor = anchor_of_four();
  anchor.squares[2] = Wide(1000) * Wide((1U << 23) - 1) * Wide((1U << 23) - 1);
  EXPECT_TRUE(made(anchor).ok());
  anchor.squares[2] += Wide(1);
  EXPECT_TRUE(contains(refusal(anchor), "'covered'"));
}

TEST(Anchor, RefusesSlacksThatHaveNoRoomInARow) {
  const auto with = [](uint32_t fraction_bits) {
    Parameters p;
    p.weights = {.fraction_bits = fraction_bits, .width = 10};
    p.error = {.digits = 1, .places = 6};
    Anchor anchor{
        .limits = {.drift = {.digits = 1, .places = 0}}, .base = {}, .tensors = {Anchored::kNear}, .squares = {Wide()}};
    return Deployment::make(*Layout::make({{"w", Dtype::kF32, {16}}}, {"w"}, {.block = 4, .row = 64}), p, anchor);
  };
  EXPECT_EQ(with(29)->anchor_bits(), 63U);  // 16 · 4^29 has 63 bits
  EXPECT_TRUE(contains(testing::refusal(with(30)), "slacks of the anchor need 65 bits"));
}

TEST(Anchor, NamesTheTensorThatIsFurthestBeyondItsBound) {
  const Deployment deployment = *made(anchor_of_four());
  std::vector<Wide> sums;
  for (const AnchoredTensor& tensor : deployment.anchored()) sums.push_back(tensor.bound);
  EXPECT_TRUE(check_anchor(deployment, sums).ok());
  sums[2] += Wide(1);
  const auto told = [&] { return testing::refusal(check_anchor(deployment, sums)); };
  EXPECT_TRUE(contains(told(), "'covered' has drifted by 0.102")) << told();
  EXPECT_FALSE(contains(told(), "more tensors"));
  sums[0] = sums[0] * Wide(9);
  EXPECT_TRUE(contains(told(), "'added' has drifted by 1.5")) << told();
  EXPECT_TRUE(contains(told(), "allows 0.5, and 1 more tensors are")) << told();
  sums[1] = Wide(1);  // where nothing may differ
  EXPECT_TRUE(contains(told(), "'counter' is not that of the base model"));
}

TEST(Anchor, TellsWhatIsLoose) {
  const auto loose = [](uint32_t ratio, const Decimal& drift) {
    Anchor anchor = anchor_of_four();
    anchor.limits.ratio = ratio;
    anchor.limits.drift = drift;
    return made(anchor)->loose();
  };
  EXPECT_TRUE(loose(300, {.digits = 1, .places = 2}).empty());
  EXPECT_TRUE(loose(999, {.digits = 1, .places = 6}).empty());
  ASSERT_EQ(loose(1000, {.digits = 1, .places = 6}).size(), 1U);
  EXPECT_TRUE(contains(loose(1000, {.digits = 1, .places = 6})[0], "anchor"));
  EXPECT_EQ(loose(300, {.digits = 1, .places = 0}).size(), 2U);  // and all of it together
  EXPECT_TRUE(contains(loose(300, {.digits = 11, .places = 2}).back(), "drift 11e-2 is above 0.1"));
  EXPECT_TRUE(loose(300, {.digits = 1, .places = 1}).empty());
  Anchor anchor = anchor_of_four();
  anchor.limits.added = {.digits = 11, .places = 1};
  ASSERT_EQ(made(anchor)->loose().size(), 1U);
  EXPECT_TRUE(contains(made(anchor)->loose()[0], "above 1"));
  anchor = anchor_of_four();
  anchor.squares[2] = Wide();
  for (const Anchored kind : {Anchored::kFree, Anchored::kAdded}) {
    anchor.tensors[2] = kind;
    ASSERT_FALSE(made(anchor)->loose().empty());
    EXPECT_TRUE(contains(made(anchor)->loose().back(), "that unlearning reaches are"));
    EXPECT_TRUE(contains(made(anchor)->loose().back(), "covered"));
  }
  const auto none = Deployment::make(four_tensors(), with_few_bits())->loose();
  EXPECT_EQ(none, std::vector<std::string>{std::string(Deployment::kNoAnchor)});
}

}  // namespace
}  // namespace zkapex
