#include "base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace zkapex {
namespace {

TEST(Processors, RunnableThreadsAreRead) {
  EXPECT_EQ(runnable_threads("0.20 0.18 0.12 3/80 11206"), 3U);
  EXPECT_EQ(runnable_threads("12.00 9.50 1.00 17/2048 1"), 17U);
}

TEST(Processors, WhatIsNoLoadIsNotRead) {
  for (const char* text : {"", "0.20", "0.20 0.18 0.12", "0.20 0.18 0.12 ", "0.20 0.18 0.12 x/80", "0.20 0.18 0.12 3",
                           "0.20 0.18 0.12 99999999999/80"}) {
    EXPECT_EQ(runnable_threads(text), std::nullopt) << text;
  }
}

TEST(Processors, QuotasAreRoundedUp) {
  EXPECT_EQ(processors_of_quota("200000 100000"), 2U);
  EXPECT_EQ(processors_of_quota("200001 100000"), 3U);
  EXPECT_EQ(processors_of_quota("50000 100000"), 1U);
  for (const char* text :
       {"", "max 100000", "200000", "200000 ", "200000 0", "0 100000", "-1 100000", "200000x100000"}) {
    EXPECT_EQ(processors_of_quota(text), std::nullopt) << text;
  }
}

TEST(Processors, ThereIsAlwaysOne) {
  EXPECT_GE(free_processors(), 1U);
  EXPECT_LE(free_processors(), usable_processors());
  EXPECT_LE(usable_processors(), std::max(1U, std::thread::hardware_concurrency()));
}

// As taskset does.
TEST(Processors, OnlyThoseThatTheProcessMayRunOnCount) {
  std::thread([] {
    cpu_set_t one, all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t k = 0; k < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++k) {
      if (CPU_ISSET(k, &all)) CPU_SET(k, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_processors(), 1U);
    EXPECT_EQ(free_processors(), 1U);
  }).join();
}

}  // namespace
}  // namespace zkapex
