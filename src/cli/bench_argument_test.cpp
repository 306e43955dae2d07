#include "cli/bench_argument.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace zkapex::cli {
namespace {

const std::vector<ArgumentFigure> kArgumentFigures{
    {"range", "1000 integers of 40 bits", "bit", 40000, 0.0008, 0.0006, 0.0004, 0.002, 4096, 1 << 20}};

TEST(BenchArgument, TextSaysWhatWasMeasured) {
  EXPECT_EQ(argument_as_text(kArgumentFigures),
            "range: 1000 integers of 40 bits\n"
            "  prove    0.00 s on one thread, 0.00 s on two (2.00 times as fast)\n"
            "           20.00 ns a committed bit (15.00 ns of processor time), 1.0 MiB at most\n"
            "  verify   0.002 s on two threads, 4096 bytes of proof\n");
}

TEST(BenchArgument, JsonHasTheAgreedKeys) {
  const auto parsed = nlohmann::json::parse(argument_as_json(kArgumentFigures));
  ASSERT_EQ(parsed["argument"].size(), 1U);
  const auto& figure = parsed["argument"][0];
  EXPECT_EQ(figure["relation"], "range");
  EXPECT_EQ(figure["units"], 40000);
  EXPECT_EQ(figure["speedup"], 2.0);
  EXPECT_EQ(figure["ns_per_unit"], 20.0);
  EXPECT_EQ(figure["cpu_ns_per_unit"], 15.0);
  EXPECT_EQ(figure["proof_bytes"], 4096);
  for (const char* key : {"size", "unit", "prover_seconds", "prover_cpu_seconds", "prover_seconds_2_threads",
                          "verifier_seconds", "peak_bytes"}) {
    EXPECT_TRUE(figure.contains(key)) << key;
  }
}

}  // namespace
}  // namespace zkapex::cli
