#include "data/membership.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/result_testing.h"
#include "data/shuffle.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Membership, ConstructedLosses) {
  std::vector<double> low, high;
  for (int k = 0; k < 50; ++k) low.push_back(0.01 * k), high.push_back(1 + 0.01 * k);
  const auto apart = membership_inference(low, high);
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(apart->auc, 1);
  EXPECT_EQ(apart->auc_low, 1);
  EXPECT_EQ(apart->accuracy, 1);
  EXPECT_EQ(membership_inference(high, low)->auc, 0);
  EXPECT_EQ(membership_inference(high, low)->advantage, 0.5);
  EXPECT_EQ(membership_inference(low, low)->auc, 0.5);  // ties count half
  EXPECT_EQ(membership_inference(std::vector<double>(20, 3.0), std::vector<double>(30, 3.0))->auc, 0.5);
  EXPECT_EQ(membership_inference(low, std::vector<double>(7, 9.0))->per_side, 7);
  // Beyond ±100 all is the same.
  EXPECT_EQ(membership_inference(std::vector<double>(9, 200.0), std::vector<double>(9, 1e9))->auc, 0.5);
}

TEST(Membership, ExponentialLossesHaveAKnownAuc) {
  // Members with mean 1, others with mean 3: P(member < other) = 3 / (1 + 3).
  SampleRandom random(5);
  std::vector<double> members, others;
  for (int k = 0; k < 4000; ++k) {
    members.push_back(-std::log(1 - random.unit()));
    others.push_back(-3 * std::log(1 - random.unit()));
  }
  const auto found = membership_inference(members, others, {.bootstrap = 200});
  EXPECT_NEAR(found->auc, 0.75, 0.015);
  EXPECT_LT(found->auc_low, 0.75);
  EXPECT_GT(found->auc_high, 0.75);
  // The standard deviation of the AUC is about 0.0054 here: the interval is about four of them wide.
  EXPECT_NEAR(found->auc_high - found->auc_low, 0.021, 0.006);
  EXPECT_NEAR(found->accuracy, 0.69, 0.03);  // the best threshold, 1.5 ln 3, gives 0.692
}

TEST(Membership, Refusals) {
  const std::vector<double> few(3, 1.0), many(30, 1.0), broken(30, std::nan(""));
  EXPECT_NE(refusal(membership_inference(few, many)).find("at least 5"), std::string::npos);
  EXPECT_NE(refusal(membership_inference(many, many, {.folds = 1})).find("two folds"), std::string::npos);
  EXPECT_FALSE(membership_inference(many, broken).ok());
}

}  // namespace
}  // namespace zkapex
