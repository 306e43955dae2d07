// zkapex bench argument: the worked relation at a size that matters.
#include "cli/bench_argument.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <memory>
#include <random>

#include "argument/range_relation.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "cli/bench.h"
#include "cli/command.h"

namespace zkapex::cli {

namespace {

template <class Body>
double seconds(const Body& body) {
  const Stopwatch watch;
  body();
  return watch.seconds();
}

// Proves with one thread and with two, and verifies. `prove(pool)` gives a Result<Proof>, `verify(bytes, pool)` a
// verdict.
template <class Prove, class Verify>
Result<ArgumentFigure> measure(ArgumentFigure figure, const Prove& prove, const Verify& verify) {
  Bytes proof;
  for (const unsigned threads : {1U, 2U}) {
    ThreadPool pool(threads);
    reset_memory_peak();
    std::string failure;
    const std::clock_t cpu = std::clock();
    const double time = seconds([&] {
      Result<Proof> result = prove(pool);
      if (result.ok()) {
        proof = result->encode();
      } else {
        failure = result.error().message;
      }
    });
    if (!failure.empty()) return error("{}: {}", figure.relation, failure);
    (threads == 1 ? figure.prover_seconds : figure.prover_seconds_2) = time;
    if (threads == 1) {
      figure.prover_cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
      ZKAPEX_TRY(const MemoryUse memory, memory_use());
      figure.peak_bytes = memory.peak;
    }
  }
  figure.proof_bytes = proof.size();
  ThreadPool pool(2);
  std::string failure;
  figure.verifier_seconds = seconds([&] {
    const auto verdict = verify(proof, pool);
    if (!verdict.ok()) failure = verdict.error().detail;
  });
  if (!failure.empty()) return error("{}: an honest proof was rejected: {}", figure.relation, failure);
  return figure;
}

Result<ArgumentFigure> bench_range(bool quick) {
  const unsigned bits = 40;
  const size_t row_length = quick ? 1 << 10 : 1 << 14, rows_a_segment = 16, segments = quick ? 2 : 16;
  const RangeStatement statement{"bench", row_length, bits, std::vector<size_t>(segments, rows_a_segment)};
  std::mt19937_64 rng(1);
  std::vector<int64_t> values(statement.rows() * row_length);
  for (int64_t& v : values) v = static_cast<int64_t>(rng()) >> (64 - bits);
  ThreadPool pool(2);
  const Generators generators = Generators::derive(statement.shape().generators(), pool);
  return measure(
      {.relation = "range",
       .size = fmt::format("{} integers of {} bits", values.size(), bits),
       .unit = "bit",
       .units = values.size() * bits},
      [&](ThreadPool& p) { return prove_range(statement, values, generators, p); },
      [&](ByteView proof, ThreadPool& p) { return verify(RangeRelation(statement), proof, generators, p); });
}

}  // namespace

std::string argument_as_text(const std::vector<ArgumentFigure>& figures) {
  std::string out;
  for (const ArgumentFigure& f : figures) {
    out += fmt::format("{}: {}\n", f.relation, f.size);
    out += fmt::format("  prove    {:.2f} s on one thread, {:.2f} s on two ({:.2f} times as fast)\n", f.prover_seconds,
                       f.prover_seconds_2, f.speedup());
    out += fmt::format("           {:.2f} ns a committed {} ({:.2f} ns of processor time), {} at most\n",
                       f.ns_per_unit(), f.unit, f.cpu_ns_per_unit(), format_size(f.peak_bytes));
    out += fmt::format("  verify   {:.3f} s on two threads, {} bytes of proof\n", f.verifier_seconds, f.proof_bytes);
  }
  return out;
}

std::string argument_as_json(const std::vector<ArgumentFigure>& figures) {
  const auto rounded = [](double v) { return std::round(v * 1e4) / 1e4; };
  auto list = nlohmann::ordered_json::array();
  for (const ArgumentFigure& f : figures) {
    list.push_back({{"relation", f.relation},
                    {"size", f.size},
                    {"unit", f.unit},
                    {"units", f.units},
                    {"prover_seconds", rounded(f.prover_seconds)},
                    {"prover_cpu_seconds", rounded(f.prover_cpu_seconds)},
                    {"prover_seconds_2_threads", rounded(f.prover_seconds_2)},
                    {"speedup", rounded(f.speedup())},
                    {"verifier_seconds", rounded(f.verifier_seconds)},
                    {"proof_bytes", f.proof_bytes},
                    {"peak_bytes", f.peak_bytes},
                    {"ns_per_unit", rounded(f.ns_per_unit())},
                    {"cpu_ns_per_unit", rounded(f.cpu_ns_per_unit())}});
  }
  return nlohmann::ordered_json{{"argument", list}}.dump(2) + "\n";
}

void add_bench_argument(Command bench, Action& action) {
  struct BenchArgumentOptions {
    CommonFlags common;
    bool quick = false;
  };
  const auto options = std::make_shared<BenchArgumentOptions>();
  const Command argument = bench.add_command("argument", "Time the proof system on its worked relation");
  options->common.offer_json(argument);
  argument.add_flag("--quick", options->quick, "Small sizes: seconds instead of a minute");
  argument.footer(
      "range: committed integers are of 40 bits.\n\n"
      "Examples:\n"
      "  zkapex bench argument\n"
      "  zkapex bench argument --json --quick");
  argument.runs(action, [options]() -> Result<Outcome> {
    ZKAPEX_TRY(const ArgumentFigure range, bench_range(options->quick));
    const std::vector<ArgumentFigure> figures{range};
    fmt::print("{}", options->common.json ? argument_as_json(figures) : argument_as_text(figures));
    return Outcome::kDone;
  });
}

}  // namespace zkapex::cli
