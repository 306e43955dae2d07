#include "costs/tiled_matrix.h"

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "base/bits.h"

namespace zkapex {

unsigned side_variables(size_t tiles, size_t side) { return log2_ceil(tiles) + log2_ceil(side); }

TilePoint tile_point(const TileGrid& grid, std::span<const Scalar> row, std::span<const Scalar> col) {
  const unsigned inside = log2_ceil(grid.side);
  const std::vector<Scalar> row_tile = eq_table(row.first(row.size() - inside));
  const std::vector<Scalar> col_tile = eq_table(col.first(col.size() - inside));
  TilePoint out;
  for (size_t i = 0; i < grid.rows; ++i) {
    for (size_t j = 0; j < grid.cols; ++j) out.weights.push_back(row_tile[i] * col_tile[j]);
  }
  out.position.assign(row.end() - inside, row.end());
  out.position.insert(out.position.end(), col.end() - inside, col.end());
  return out;
}

std::vector<Scalar> bind_axis(const TileGrid& grid, std::span<const int16_t> tiles, Axis axis,
                              std::span<const Scalar> point, ThreadPool& pool) {
  const bool by_rows = axis == Axis::kRows;
  const size_t side = grid.side, kept = by_rows ? grid.cols : grid.rows, bound = by_rows ? grid.rows : grid.cols;
  const std::vector<Scalar> weights = eq_table(point);
  std::vector<Scalar> out(kept * side);
  pool.for_each(kept, [&](size_t k) {
    for (size_t b = 0; b < bound; ++b) {
      const size_t tile = by_rows ? b * grid.cols + k : k * grid.cols + b;
      const IntMatrix entries(tiles.data() + tile * grid.tile_entries(), side, side, side);
      const auto part = std::span(weights).subspan(b * side, side);
      const std::vector<Scalar> sums = by_rows ? fold_rows(entries, part, pool) : fold_columns(entries, part, pool);
      for (size_t l = 0; l < side; ++l) out[k * side + l] += sums[l];
    }
  });
  return out;
}

}  // namespace zkapex
