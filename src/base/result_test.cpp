#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace zkapex {
namespace {

Result<int> half(int v) {
  if (v % 2 != 0) return error("{} is odd", v);
  return v / 2;
}

Result<int> quarter(int v) {
  ZKAPEX_TRY(const int once, half(v));
  ZKAPEX_TRY(const int twice, half(once));
  return twice;
}

Status check_all(std::initializer_list<int> values, int& checked) {
  for (int v : values) {
    if (v >= 0)
      ZKAPEX_CHECK(half(v));
    else
      return error("{} is negative", v);
    ++checked;
  }
  return Done{};
}

TEST(Result, HoldsAValueOrAnError) {
  const auto good = half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 4);
  const auto bad = half(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "7 is odd");
}

TEST(Result, TryBindsTheValueOrReturnsTheError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, CheckGoesOnOrReturnsTheError) {
  int checked = 0;
  EXPECT_TRUE(check_all({2, 4}, checked).ok());
  EXPECT_EQ(checked, 2);
  EXPECT_EQ(check_all({2, 5, 8}, checked).error().message, "5 is odd");
  EXPECT_EQ(checked, 3);
  EXPECT_EQ(check_all({-1}, checked).error().message, "-1 is negative");
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto pass = [&]() -> Result<std::unique_ptr<int>> {
    ZKAPEX_TRY(std::unique_ptr<int> inner, make());
    return inner;
  };
  const std::unique_ptr<int> out = *pass();
  EXPECT_EQ(*out, 5);
}

TEST(Result, NestsInOneExpression) {
  const auto run = [](int v) -> Status {
    ZKAPEX_CHECK(([&]() -> Status {
      ZKAPEX_CHECK(half(v));
      return Done{};
    }()));
    return Done{};
  };
  EXPECT_TRUE(run(2).ok());
  EXPECT_EQ(run(3).error().message, "3 is odd");
}

TEST(Result, ContextComesFirst) { EXPECT_EQ(error("too short").within("file f").message, "file f: too short"); }

}  // namespace
}  // namespace zkapex
