#include "argument/channel.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class ChannelTest : public ::testing::Test {
 protected:
  std::mt19937_64 rng_{91};
  const std::vector<Scalar> pads_ = random_scalars(rng_, 5);
  const std::vector<Scalar> values_ = random_scalars(rng_, 5);
};

TEST_F(ChannelTest, WhatIsSentIsSealedAndMeansTheSame) {
  Transcript ours("t"), theirs("t");
  std::vector<Scalar> sealed;
  Sender sender(ours, pads_, sealed);
  EXPECT_EQ(sender.send("first", {values_[0], values_[1]}), (std::vector{values_[0], values_[1]}));
  EXPECT_FALSE(sender.exhausted());
  (void)sender.send("second", {values_[2], values_[3], values_[4]});
  EXPECT_TRUE(sender.exhausted());
  ASSERT_EQ(sealed.size(), 5U);
  for (size_t k = 0; k < 5; ++k) EXPECT_EQ(sealed[k], values_[k] + pads_[k]);

  Receiver receiver(theirs, sealed, 10);
  std::vector<Expression> received = receiver.receive("first", 2);
  for (Expression& e : receiver.receive("second", 3)) received.push_back(std::move(e));
  EXPECT_TRUE(receiver.exhausted());
  EXPECT_EQ(receiver.next_pad(), 15U);
  for (uint32_t k = 0; k < 5; ++k) {  // s = sealed − pad
    EXPECT_EQ(received[k].constant(), sealed[k]);
    ASSERT_EQ(received[k].terms().size(), 1U);
    EXPECT_EQ(received[k].terms()[0], (Expression::Term{10 + k, -Scalar::one()}));
  }
  EXPECT_EQ(ours.challenge("c"), theirs.challenge("c"));
}

TEST_F(ChannelTest, ChallengesDependOnEveryMessage) {
  const auto run = [&](size_t changed) {
    Transcript t("t");
    std::vector<Scalar> sealed, values = values_;
    if (changed < 5) values[changed] += Scalar::one();
    Sender sender(t, pads_, sealed);
    (void)sender.send("m", values);
    return t.challenge("c");
  };
  for (size_t k = 0; k < 5; ++k) EXPECT_NE(run(k), run(5));
}

TEST_F(ChannelTest, ATamperSeesTheEquationAndChangesWhatIsSent) {
  class AddOne : public Tamper {
   public:
    void send(const std::string& transcript, std::string_view label, std::span<Scalar> values,
              std::span<const Scalar> coefficients, const Scalar& claim) override {
      EXPECT_EQ(transcript, "main");
      EXPECT_EQ(label, "m");
      EXPECT_EQ(coefficients.size(), 1U);
      EXPECT_EQ(claim, Scalar::from_u64(7));
      values[0] += Scalar::one();
    }
  } tamper;
  Transcript t("t", &tamper);
  std::vector<Scalar> sealed;
  Sender sender(t, pads_, sealed);
  const std::vector<Scalar> sent = sender.send("m", {values_[0]}, {{Scalar::one()}}, Scalar::from_u64(7));
  EXPECT_EQ(sent[0], values_[0] + Scalar::one());
  EXPECT_EQ(sealed[0], sent[0] + pads_[0]);
}

}  // namespace
}  // namespace zkapex
