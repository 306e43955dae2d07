// zkapex bench layer: what it costs to prove one linear layer's part of a step of training.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/json.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "costs/layer_relation.h"

namespace zkapex::cli {

namespace {

struct LayerBenchFlags {
  size_t tokens = 768, inputs = 768, outputs = 3072, tile = 256;
  unsigned bits = 16, shift = 12;
  uint64_t seed = 1;
  CommonFlags common;
};

// Fixed point with `shift` bits after the point, of a normal distribution.
std::vector<int16_t> made_up(const TileGrid& grid, double deviation, unsigned shift, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(0, std::ldexp(deviation, static_cast<int>(shift)));
  std::vector<int16_t> out(grid.entries());
  for (int16_t& v : out) v = static_cast<int16_t>(std::lround(std::clamp(normal(rng), -32768.0, 32767.0)));
  return out;
}

Result<LayerStatement> make_statement(const LayerBenchFlags& flags) {
  for (const size_t side : {flags.tokens, flags.inputs, flags.outputs}) {
    if (flags.tile == 0 || side % flags.tile != 0)
      return error("{} is not a multiple of the tile's side {}", side, flags.tile);
  }
  return LayerStatement{.context = "bench",
                        .side = flags.tile,
                        .tokens = flags.tokens / flags.tile,
                        .inputs = flags.inputs / flags.tile,
                        .outputs = flags.outputs / flags.tile,
                        .bits = flags.bits,
                        .shift = flags.shift,
                        .operands = {}};
}

Result<Outcome> run(const LayerBenchFlags& flags) {
  ThreadPool pool(flags.common.threads);
  ZKAPEX_TRY(LayerStatement statement, make_statement(flags));
  // Activations after a norm, weights of a trained transformer, gradients scaled to be seen in fixed point.
  const std::vector<int16_t> x = made_up(statement.x(), 1, flags.shift, 3 * flags.seed);
  const std::vector<int16_t> w = made_up(statement.w(), 0.02, flags.shift, 3 * flags.seed + 1);
  const std::vector<int16_t> g = made_up(statement.g(), 0.01, flags.shift, 3 * flags.seed + 2);
  const LayerOperands operands{x, w, g};
  const size_t tile_entries = flags.tile * flags.tile;
  statement.operands.resize(statement.results());  // as many tiles as there are results, for the shape
  if (const auto sound = statement.sound(); !sound) return error("{}", sound.error().detail);
  const Generators generators = Generators::derive(statement.shape().generators(), pool);
  Stopwatch watch;
  ZKAPEX_TRY(const CommittedRows rows, commit_operands(operands, tile_entries, generators, pool));
  statement.operands = rows.encoded;
  const double commit_seconds = watch.lap();
  ZKAPEX_TRY(const LayerAccumulators accumulators, layer_accumulators(statement, operands, pool));
  const double compute_seconds = watch.lap();

  reset_memory_peak();
  watch.lap();
  ZKAPEX_TRY(const Proof proof,
             prove_layer(statement, {operands, rows.all_blindings(), accumulators}, generators, pool));
  const double prove_seconds = watch.lap();
  ZKAPEX_TRY(const MemoryUse memory, memory_use());
  const Bytes bytes = proof.encode();
  watch.lap();
  if (const auto verdict = verify(LayerRelation(statement), bytes, generators, pool); !verdict)
    return error("an honest proof was rejected: {}", verdict.error().detail);

  const nlohmann::ordered_json out = {{"tokens", flags.tokens},
                                      {"inputs", flags.inputs},
                                      {"outputs", flags.outputs},
                                      {"bits", flags.bits},
                                      {"shift", flags.shift},
                                      {"result_entries", statement.results() * tile_entries},
                                      {"threads", pool.size()},
                                      {"compute_s", compute_seconds},
                                      {"commit_operands_s", commit_seconds},
                                      {"prove_s", prove_seconds},
                                      {"peak_rss_bytes", memory.peak},
                                      {"verify_s", watch.lap()},
                                      {"proof_bytes", bytes.size()}};
  if (flags.common.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& [key, value] : out.items()) fmt::print("{:>18}  {}\n", key, value.dump());
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench_layer(Command bench, Action& action) {
  auto flags = std::make_shared<LayerBenchFlags>();
  const Command command =
      bench.add_command("layer", "Prove one linear layer's products in a step of training, forward and backward");
  command.add_option("--tokens", flags->tokens, "rows: samples times tokens").shows_default();
  command.add_option("--inputs", flags->inputs, "the layer's inputs").shows_default();
  command.add_option("--outputs", flags->outputs, "the layer's outputs").shows_default();
  command.add_option("--tile", flags->tile, "side of a tile: a committed row has its square").shows_default();
  command.add_option("--bits", flags->bits, "bits of a result").shows_default();
  command.add_option("--shift", flags->shift, "bits rounded away, those after the point").shows_default();
  command.add_option("--seed", flags->seed, "of the made-up matrices").shows_default();
  flags->common.offer_json(command);
  flags->common.offer_threads(command);
  command.footer(
      "Y = X W, dX = G W^T, dW = X^T G in fixed point, rounded; X, W and G are made up and committed to before.\n\n"
      "Examples:\n"
      "  zkapex bench layer                     fc1 of ViT-B/16, 768 rows\n"
      "  zkapex bench layer --tokens 256 --inputs 256 --outputs 256 --json");
  command.runs(action, [flags] { return run(*flags); });
}

}  // namespace zkapex::cli
