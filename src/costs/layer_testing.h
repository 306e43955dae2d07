// Random layers, for tests.
#pragma once

#include <functional>

#include "argument/attacks/dishonest_testing.h"
#include "costs/layer_relation.h"

namespace zkapex::testing {

// Operands small enough for the statement's bits and shift, with their commitments filled into the statement.
struct LayerInstance {
  LayerStatement statement;
  std::vector<int16_t> x, w, g;
  LayerAccumulators accumulators;
  CommittedRows rows;
  [[nodiscard]] LayerOperands operands() const { return {x, w, g}; }
  [[nodiscard]] LayerValues values() const { return {operands(), rows.all_blindings(), accumulators}; }
};
inline LayerInstance instance_of(LayerStatement s, const std::function<int16_t()>& entry, ThreadPool& pool) {
  LayerInstance out;
  const auto entries = [&](const TileGrid& grid) {
    std::vector<int16_t> tiles(grid.entries());
    for (int16_t& v : tiles) v = entry();
    return tiles;
  };
  out.x = entries(s.x());
  out.w = entries(s.w());
  out.g = entries(s.g());
  out.rows = commit_operands(out.operands(), s.side * s.side, test_generators(), pool).value();
  s.operands = out.rows.encoded;
  out.accumulators = layer_accumulators(s, out.operands(), pool).value();
  out.statement = std::move(s);
  return out;
}
inline LayerInstance random_instance(const LayerStatement& s, std::mt19937_64& rng, ThreadPool& pool) {
  return instance_of(
      s, [&] { return static_cast<int16_t>(static_cast<int>(rng() % 15) - 7); }, pool);
}

inline AnyRelation relation(const LayerStatement& s) { return std::make_shared<LayerRelation>(s); }

// The tiles that a layer's statement brings.
inline std::vector<OpenCommitment> open_operands(const LayerInstance& layer) {
  const ProofShape shape = layer.statement.shape();
  std::vector<OpenCommitment> out;
  for (const auto* part : {&layer.x, &layer.w, &layer.g}) {
    for (size_t at = 0; at < part->size(); at += shape.row_length) {
      std::vector<Scalar> entries(shape.generators());
      for (size_t l = 0; l < shape.row_length; ++l) entries[l] = Scalar::from_i64((*part)[at + l]);
      out.push_back({std::move(entries), layer.rows.all_blindings()[out.size()]});
    }
  }
  return out;
}

}  // namespace zkapex::testing
