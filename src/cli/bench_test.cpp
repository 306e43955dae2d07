#include "cli/bench.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace zkapex::cli {
namespace {

const std::vector<KernelFigure> kKernelFigures{{"point_madd", "addition", 60.0, "libsodium", 240.0},
                                               {"mul", "product", 7.5, "portable path", 15.0}};

TEST(Bench, TextIsAligned) {
  EXPECT_EQ(figures_as_text(kKernelFigures),
            "kernel                 ns  for one       baseline              ns   ratio\n"
            "point_madd          60.00  addition      libsodium         240.00    4.00\n"
            "mul                  7.50  product       portable path      15.00    2.00\n");
}

TEST(Bench, JsonHasTheAgreedKeys) {
  const auto parsed = nlohmann::json::parse(figures_as_json(kKernelFigures));
  ASSERT_EQ(parsed["kernels"].size(), 2U);
  EXPECT_EQ(parsed["kernels"][1],
            (nlohmann::json{
                {"name", "mul"}, {"ns", 7.5}, {"baseline", "portable path"}, {"baseline_ns", 15.0}, {"ratio", 2.0}}));
}

TEST(Bench, CallsTheBodyUntilASampleIsFull) {
  constexpr Effort kEffort{std::chrono::microseconds(50), 5};
  size_t calls = 0;
  const double ns = median_ns(kEffort, 10, [&] {
    ++calls;
    keep(calls);
  });
  // The search for the number of calls, and then five samples: the last search alone took 50 microseconds or more.
  EXPECT_GT(calls, 5U);
  EXPECT_GT(ns, 0.0);
}

TEST(Bench, CountsTheOperationsOfACall) {
  // A call that works for a millisecond and claims a thousand operations: at least a microsecond for each.
  const double ns = median_ns({std::chrono::milliseconds(1), 1}, 1000, [] {
    const auto end = thread_time() + std::chrono::milliseconds(1);
    while (thread_time() < end) {
    }
  });
  EXPECT_GE(ns, 1000.0);
}

}  // namespace
}  // namespace zkapex::cli
