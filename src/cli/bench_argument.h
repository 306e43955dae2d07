// What `zkapex bench argument` measures, and how it prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zkapex::cli {

struct ArgumentFigure {
  std::string relation;
  std::string size;  // in words
  std::string unit;  // what there are `units` of
  uint64_t units = 0;
  double prover_seconds = 0;      // one thread
  double prover_cpu_seconds = 0;  // the same in processor time, which other programs do not stretch
  double prover_seconds_2 = 0;    // two threads
  double verifier_seconds = 0;    // two threads
  uint64_t proof_bytes = 0;
  uint64_t peak_bytes = 0;  // of the process while it proved, one thread

  [[nodiscard]] double ns_per_unit() const { return 1e9 * prover_seconds / static_cast<double>(units); }
  [[nodiscard]] double cpu_ns_per_unit() const { return 1e9 * prover_cpu_seconds / static_cast<double>(units); }
  [[nodiscard]] double speedup() const { return prover_seconds / prover_seconds_2; }
};

[[nodiscard]] std::string argument_as_text(const std::vector<ArgumentFigure>& figures);
// {"argument": [{"relation", "size", "unit", "units", "prover_seconds", "prover_cpu_seconds",
//                "prover_seconds_2_threads", "speedup", "verifier_seconds", "proof_bytes", "peak_bytes", "ns_per_unit",
//                "cpu_ns_per_unit"}, …]}
[[nodiscard]] std::string argument_as_json(const std::vector<ArgumentFigure>& figures);

}  // namespace zkapex::cli
