// Matrices of small integers in square tiles, one committed row a tile. The sides need not be powers of two: a grid is
// a part of the next larger one whose other tiles are zero and never touched.
//
// An index of a matrix is (tile row, row in the tile) and (tile column, column in the tile); a point of its multilinear
// extension is a point for the rows and one for the columns, high variables choosing the tile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/scalar.h"
#include "base/threads.h"

namespace zkapex {

struct TileGrid {
  size_t rows = 0, cols = 0;  // in tiles
  size_t side = 0;            // of a tile, a power of two

  [[nodiscard]] size_t tiles() const { return rows * cols; }
  [[nodiscard]] size_t tile_entries() const { return side * side; }
  [[nodiscard]] size_t entries() const { return tiles() * tile_entries(); }
};

// The number of variables of an index into `tiles` tiles' sides.
[[nodiscard]] unsigned side_variables(size_t tiles, size_t side);

// The extension at (row point, column point) is Σ_t weights[t] · (tile t at `position`), tiles in row-major order.
struct TilePoint {
  std::vector<Scalar> weights, position;
};
[[nodiscard]] TilePoint tile_point(const TileGrid& grid, std::span<const Scalar> row, std::span<const Scalar> col);

enum class Axis { kRows, kColumns };

// The matrix with its index along `axis` bound to `point`: one value for each index of the other axis. `tiles` in
// row-major order, row-major inside.
[[nodiscard]] std::vector<Scalar> bind_axis(const TileGrid& grid, std::span<const int16_t> tiles, Axis axis,
                                            std::span<const Scalar> point, ThreadPool& pool);

}  // namespace zkapex
