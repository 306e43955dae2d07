#include "exchange/reverify.h"

#include <gtest/gtest.h>

#include "exchange/exchange_testing.h"

namespace zkapex {
namespace {

// An audit of a long log keeps nothing of what has its verdict.
TEST(Reverifier, ForgetsAnUpdateWithItsVerdict) {
  const WorkSettings settings;
  Reverifier again("no files", "", "no scratch", settings);
  const UpdateNotice update = testing::sample_update();
  const Envelope envelope = *sign_envelope(update.encode(), testing::fixed_key(3));
  const std::string entry = envelope.encode();
  ASSERT_TRUE(again.add(0, view(entry), update).ok());
  EXPECT_EQ(again.waiting(), 1U);
  VerdictNotice verdict = testing::sample_verdict(testing::sample_registration());
  ASSERT_TRUE(again.add(1, {}, verdict).ok());
  EXPECT_EQ(again.waiting(), 1U);
  verdict.of = StatementKind::kUpdate;
  verdict.id = envelope.payload_digest();
  ASSERT_TRUE(again.add(2, {}, verdict).ok());
  EXPECT_EQ(again.waiting(), 0U);
  EXPECT_EQ(again.missing(), 2U);
}

}  // namespace
}  // namespace zkapex
