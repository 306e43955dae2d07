#include <gtest/gtest.h>

#include "attestation/update_testing.h"

namespace zkapex {
namespace {

using testing::TestUpdate;

class UpdateTest : public ::testing::Test {
 protected:
  ThreadPool pool_{2};
};

TEST_F(UpdateTest, HonestUpdatesAreAccepted) {
  for (const bool curvature : {false, true}) {
    for (const uint64_t rows_per_segment : {1U, 7U}) {
      TestUpdate update({}, pool_);
      update.curvature = curvature;
      update.cut = cut_rows(update.window.deployment->layout().rows(), rows_per_segment);
      const auto proved = update.prove(pool_);
      ASSERT_TRUE(proved.ok()) << proved.error().message;
      EXPECT_EQ(update.answer(proved->proof, pool_), "accepted");
      EXPECT_EQ(proved->model_blindings.size(), update.window.deployment->layout().rows());
      EXPECT_EQ(proved->curvature_blindings.empty(), !curvature);
      EXPECT_EQ(registered_rows(update.plan(), proved->proof).curvature.empty(), !curvature);
    }
  }
  const TestUpdate odd({.block = 7, .tensors = {7, 50}, .seed = 3}, pool_);
  EXPECT_EQ(odd.answer(odd.prove(pool_).value().proof, pool_), "accepted");
}

// Nothing of the past but the base model.
TEST_F(UpdateTest, BeforeAnyWindow) {
  TestUpdate update({}, pool_);
  update.next.theta_p = update.window.theta_p;
  update.next.theta_p[0] += 5;
  UpdateTerms none;
  none.current = update.current.encoded;
  const BaseRows base = update.window.base_rows();
  const RegistrationStatement statement{&*update.window.deployment, "client 1", &base, &none};
  const RegistrationPlan plan = RegistrationPlan::make(*update.window.deployment, update.cut, &none).value();
  const auto proved = prove_update(statement, plan, testing::TestWindow::Before(update.next), update.known(), 1 << 12,
                                   update.window.generators(), pool_);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_TRUE(update.verify(proved->proof, none, pool_).ok());
  // It is no registration, and a registration is no update.
  const RegistrationStatement registration{&*update.window.deployment, "client 1", &base};
  EXPECT_EQ(RegistrationRelation(statement, plan).protocol(), "zkapex update 2");
  EXPECT_EQ(RegistrationRelation(registration, plan).protocol(), "zkapex registration 3");
}

TEST_F(UpdateTest, TheReferenceFollowsTheGuidesAndIsZeroWhereWeightsWereRemoved) {
  const TestUpdate update({}, pool_);
  const Layout& layout = update.window.deployment->layout();
  const UpdateTerms terms = update.terms();
  const std::vector<int64_t> guide = update.window.guide();
  std::vector<int64_t> rows(layout.padded_size()), expected = update.window.base;
  ASSERT_TRUE(reference_rows(layout, terms, update.window.base_rows().covered)(0, rows).ok());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += guide[i];
  for (const uint64_t c : update.second.support) expected[layout.padded_index(c)] = 0;
  EXPECT_EQ(rows, expected);
  // Rows in the middle are those of the whole.
  const size_t n = layout.geometry().row;
  std::vector<int64_t> some(n);
  ASSERT_TRUE(reference_rows(layout, terms, update.window.base_rows().covered)(1, some).ok());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), expected.begin() + static_cast<ptrdiff_t>(n)));
}

// The room is that of the registration, and the guides take it along: whoever follows them, with the drift that it had
// before, has as much as it had, even at the edge, where θ0 alone would refuse it.
TEST_F(UpdateTest, AtTheEdgeOfTheAnchorWhoFollowsTheGuidesHasRoom) {
  TestUpdate update({}, pool_);
  const Layout& layout = update.window.deployment->layout();
  constexpr int64_t kRatio = 250;
  const auto edge = [](int64_t v) {  // θ0 with |v − θ0| <= ρ |θ0|, by less than an integer
    const int64_t size = (std::abs(v) * 1000 + 1000 + kRatio - 1) / (1000 + kRatio);
    return v < 0 ? -size : size;
  };
  std::ranges::transform(update.earlier, update.window.base.begin(), edge);
  update.window.base_others = update.next.others;
  const AnchorLimits limits{.ratio = kRatio, .drift = {.digits = 1, .places = 6}};
  update.window.set_anchor(limits, std::vector(layout.tensors().size(), Anchored::kNear));
  const std::vector<int64_t> guide = update.window.guide();
  const auto drawn = [&](int64_t times, int64_t out_of) {
    for (uint64_t c = 0; c < layout.coordinates(); ++c) {
      const uint64_t i = layout.padded_index(c);
      const bool removed = std::ranges::binary_search(update.second.support, c);
      update.next.theta_p[i] = removed ? 0 : update.earlier[i] + guide[i] * times / out_of;
    }
  };
  drawn(1, 1);
  const auto proved = update.prove(pool_);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_EQ(update.answer(proved->proof, pool_), "accepted");
  const std::vector<AnchoredTensor>& anchored = update.window.deployment->anchored();
  const std::vector<Wide> bounds = update.plan().sums()->bounds;
  ASSERT_EQ(bounds.size(), anchored.size());
  for (size_t k = 0; k < bounds.size(); ++k) EXPECT_EQ(bounds[k], anchored[k].bound);
  // Half way has the progress that was asked for, but is half a guide away.
  drawn(1, 2);
  EXPECT_NE(update.refusal(pool_).find("measured from where the windows have moved the base model"), std::string::npos);
  EXPECT_NE(update.refusal(pool_).find("drifted"), std::string::npos);
  // From θ0 the model that follows is further away than the bound.
  drawn(1, 1);
  Wide distance;
  for (size_t i = 0; i < layout.tensors()[0].rows * 64; ++i)
    distance += Wide::square_of(update.next.theta_p[i] - update.window.base[i]);
  EXPECT_GT(distance, bounds[0]);
}

// What a later window removed is no part of an earlier guide any more.
TEST_F(UpdateTest, GuidesOfThePast) {
  const TestUpdate update({}, pool_);
  const Layout& layout = update.window.deployment->layout();
  const UpdateTerms terms = update.terms();
  const PastGuide past(layout, terms, 0);
  std::vector<int64_t> rows(layout.padded_size()), expected = update.window.guide();
  ASSERT_TRUE(past.rows()(0, rows).ok());
  for (const uint64_t c : update.second.support) expected[layout.padded_index(c)] = 0;
  EXPECT_NE(expected, update.window.guide());
  EXPECT_EQ(rows, expected);
  std::vector<Wide> squares(layout.covered().size());
  for (size_t k = 0; k < squares.size(); ++k) {
    const LayoutTensor& tensor = layout.tensors()[layout.covered()[k]];
    for (size_t i = tensor.first_row * 64; i < (tensor.first_row + tensor.rows) * 64; ++i)
      squares[k] += Wide::square_of(expected[i]);
  }
  EXPECT_EQ(past.squares(), squares);
}

// A tensor that a guide leaves where it is has no rule, and rows of such tensors alone no fork.
TEST_F(UpdateTest, OnlyTensorsThatAreDrawnHaveARule) {
  TestUpdate update({}, pool_);
  EXPECT_EQ(update.plan().sums()->progress.size(), 2U);
  update.window.mask.guidance->guide.scales[0] = 0;
  ASSERT_EQ(update.plan().sums()->progress.size(), 1U);
  EXPECT_EQ(update.plan().sums()->progress[0].tensor, 1U);
  update.window.mask.guidance->guide.scales[1] = 0;
  EXPECT_EQ(update.plan().sums()->progress.size(), 0U);
  EXPECT_EQ(update.plan().sums()->progress_units.size(), 0U);
}

TEST_F(UpdateTest, GuidesThatAddUpToTooMuchAreRefused) {
  TestUpdate update({}, pool_);
  update.window.mask.guidance->guide.scales[0] = uint64_t{1} << 51;
  UpdateTerms terms;
  const PastWindow one{&update.window.mask, update.before};
  terms.windows.assign(1 << 10, one);
  EXPECT_TRUE(check_guides(terms).ok());
  terms.windows.push_back(one);
  EXPECT_FALSE(check_guides(terms).ok());
  const auto plan = RegistrationPlan::make(*update.window.deployment, update.cut, &terms);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("add up to too much"), std::string::npos);
}

TEST_F(UpdateTest, ModelsBeforeGuidedWindowsAndNoOthers) {
  const TestUpdate update({}, pool_);
  const RegistrationPlan plan = update.plan();
  const BaseRows base = update.window.base_rows();
  const auto sound = [&](const UpdateTerms& terms) {
    const RegistrationStatement statement{&*update.window.deployment, "client 1", &base, &terms};
    return RegistrationRelation(statement, plan).sound().ok();
  };
  UpdateTerms fewer = update.terms(), more = update.terms(), nowhere = update.terms();
  EXPECT_TRUE(sound(fewer));
  fewer.windows[0].before.pop_back();
  EXPECT_FALSE(sound(fewer));
  more.windows[1].before = more.windows[0].before;
  EXPECT_FALSE(sound(more));
  nowhere.current.pop_back();
  EXPECT_FALSE(sound(nowhere));
}

TEST_F(UpdateTest, NoProofIsLongerThanTheMostThereCanBe) {
  for (const bool curvature : {false, true}) {
    TestUpdate update({}, pool_);
    update.curvature = curvature;
    const UpdateTerms terms = update.terms();
    const RegistrationPlan::Most most = RegistrationPlan::most(*update.window.deployment, &terms).value();
    update.cut.assign(update.window.deployment->layout().rows(), 1);
    EXPECT_EQ(update.plan().shape().bytes(), most.proof_bytes);
    EXPECT_EQ(most.parts, update.cut.size());
  }
}

}  // namespace
}  // namespace zkapex
