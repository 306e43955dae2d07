#include "base/load.h"

#include <gtest/gtest.h>

#include <thread>

namespace zkapex {
namespace {

TEST(Load, RunnableThreadsAreRead) {
  EXPECT_EQ(runnable_threads("0.20 0.18 0.12 3/80 11206"), 3U);
  EXPECT_EQ(runnable_threads("12.00 9.50 1.00 17/2048 1"), 17U);
}

TEST(Load, WhatIsNoLoadIsNotRead) {
  for (const char* text : {"", "0.20", "0.20 0.18 0.12", "0.20 0.18 0.12 ", "0.20 0.18 0.12 x/80", "0.20 0.18 0.12 3",
                           "0.20 0.18 0.12 99999999999/80"}) {
    EXPECT_EQ(runnable_threads(text), std::nullopt) << text;
  }
}

TEST(Load, ThereIsAlwaysAProcessor) {
  EXPECT_GE(free_processors(), 1U);
  EXPECT_LE(free_processors(), std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace zkapex
