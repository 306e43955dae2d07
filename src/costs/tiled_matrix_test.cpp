#include "costs/tiled_matrix.h"

#include <gtest/gtest.h>

#include <random>

#include "algebra/multilinear.h"

namespace zkapex {
namespace {

// The extension of a matrix at (row, column), from its entries one by one.
Scalar plain(const TileGrid& grid, const std::vector<int16_t>& tiles, std::span<const Scalar> row,
             std::span<const Scalar> col) {
  const std::vector<Scalar> row_eq = eq_table(row), col_eq = eq_table(col);
  Scalar out;
  for (size_t i = 0; i < grid.rows * grid.side; ++i) {
    for (size_t j = 0; j < grid.cols * grid.side; ++j) {
      const size_t tile = i / grid.side * grid.cols + j / grid.side;
      const int16_t entry = tiles[(tile * grid.side + i % grid.side) * grid.side + j % grid.side];
      out += row_eq[i] * col_eq[j] * Scalar::from_i64(entry);
    }
  }
  return out;
}

TEST(TiledMatrix, TilesAtAPositionAndBoundAxesGiveTheExtension) {
  std::mt19937_64 rng(3);
  ThreadPool pool(2);
  for (const TileGrid grid : {TileGrid{1, 1, 4}, TileGrid{3, 2, 4}, TileGrid{2, 5, 8}, TileGrid{3, 3, 2}}) {
    std::vector<int16_t> tiles(grid.entries());
    for (int16_t& v : tiles) v = static_cast<int16_t>(rng());
    std::vector<Scalar> row(side_variables(grid.rows, grid.side)), col(side_variables(grid.cols, grid.side));
    for (Scalar& s : row) s = Scalar::from_u64(rng());
    for (Scalar& s : col) s = Scalar::from_u64(rng());
    const Scalar expected = plain(grid, tiles, row, col);

    const TilePoint point = tile_point(grid, row, col);
    ASSERT_EQ(point.weights.size(), grid.tiles());
    Scalar by_tiles;
    for (size_t t = 0; t < grid.tiles(); ++t) {
      std::vector<Scalar> tile;
      for (size_t k = 0; k < grid.tile_entries(); ++k)
        tile.push_back(Scalar::from_i64(tiles[t * grid.tile_entries() + k]));
      by_tiles += point.weights[t] * evaluate(tile, point.position);
    }
    EXPECT_EQ(by_tiles, expected);
    EXPECT_EQ(evaluate(bind_axis(grid, tiles, Axis::kRows, row, pool), col), expected);
    EXPECT_EQ(evaluate(bind_axis(grid, tiles, Axis::kColumns, col, pool), row), expected);
  }
}

}  // namespace
}  // namespace zkapex
