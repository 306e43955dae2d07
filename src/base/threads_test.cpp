#include "base/threads.h"

#include <gtest/gtest.h>

#include <numeric>

namespace zkapex {
namespace {

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (unsigned threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}}) {
      std::vector<std::atomic<int>> visits(count);
      pool.for_each(count, [&](size_t k) { ++visits[k]; });
      for (const auto& v : visits) EXPECT_EQ(v, 1);
    }
  }
}

TEST(ThreadPool, RangesAreDisjointAndCover) {
  ThreadPool pool(3);
  for (size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{1001}}) {
    for (size_t grain : {size_t{0}, size_t{1}, size_t{8}, size_t{5000}}) {
      std::vector<std::atomic<int>> visits(count);
      pool.for_ranges(count, grain, [&](size_t begin, size_t end) {
        EXPECT_LT(begin, end);
        if (end != count) {
          EXPECT_GE(end - begin, grain);
        }
        for (size_t k = begin; k < end; ++k) ++visits[k];
      });
      for (const auto& v : visits) EXPECT_EQ(v, 1);
    }
  }
}

TEST(ThreadPool, NestedLoopsRunInPlace) {
  ThreadPool pool(2);
  std::vector<std::atomic<int>> visits(64);
  pool.for_each(8, [&](size_t a) { pool.for_each(8, [&](size_t b) { ++visits[8 * a + b]; }); });
  for (const auto& v : visits) EXPECT_EQ(v, 1);
}

TEST(ThreadPool, ManyShortLoops) {
  ThreadPool pool(4);
  std::atomic<size_t> sum = 0;
  for (int loop = 0; loop < 2000; ++loop) pool.for_each(5, [&](size_t k) { sum += k; });
  EXPECT_EQ(sum, 20000U);
}

TEST(ThreadPool, SeveralCallersTakeTurns) {
  ThreadPool pool(3);
  std::atomic<size_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 100; ++loop) pool.for_each(10, [&](size_t k) { sum += k; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4U * 100 * 45);
}

}  // namespace
}  // namespace zkapex
