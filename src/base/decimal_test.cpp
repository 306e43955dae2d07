#include "base/decimal.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(Decimal, HasOneFormForEachNumber) {
  for (const char* text : {"0.04", "4e-2", "0.0400", ".04", "40e-3", "0.4E-1", "4000e-5"}) {
    const auto v = Decimal::parse(text);
    ASSERT_TRUE(v.ok()) << text;
    EXPECT_EQ(*v, (Decimal{4, 2})) << text;
  }
  EXPECT_EQ(*Decimal::parse("12"), (Decimal{12, 0}));
  EXPECT_EQ(*Decimal::parse("1e+3"), (Decimal{1000, 0}));
  EXPECT_EQ(*Decimal::parse("10.0"), (Decimal{10, 0}));
  EXPECT_EQ(Decimal::parse("1e-5")->text(), "1e-5");
  EXPECT_EQ(*Decimal::parse(Decimal{123456789, 18}.text()), (Decimal{123456789, 18}));
  EXPECT_DOUBLE_EQ(Decimal::parse("2.5e-3")->approximate(), 0.0025);
}

TEST(Decimal, RefusesEverythingElse) {
  for (const char* text : {"", ".", "-1", "+1", "0", "0.0", "1.2.3", "1e", "1e-", "e5", "1e-19", "1e16", "1 ", " 1",
                           "nan", "inf", "0x1", "1e99999999999", "12345678901234567", "1e5x", "1e1001", "1x1",
                           // Beyond 64 bits, where 1 and 2^20 are what is left of them.
                           "18446744073709551617", "4027301413585e20"})
    EXPECT_FALSE(Decimal::parse(text).ok()) << text;
  EXPECT_FALSE(Decimal::from_parts(10, 1).ok());
  EXPECT_FALSE(Decimal::from_parts(0, 0).ok());
  EXPECT_FALSE(Decimal::from_parts(1, 19).ok());
  EXPECT_FALSE(Decimal::from_parts(Decimal::kMaxDigits + 1, 0).ok());
  EXPECT_TRUE(Decimal::from_parts(Decimal::kMaxDigits, 0).ok());
  EXPECT_TRUE(Decimal::from_parts(10, 0).ok());
}

}  // namespace
}  // namespace zkapex
