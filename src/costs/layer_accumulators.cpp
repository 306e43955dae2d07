// The integers that a layer's relation is about, computed plainly.
#include "base/hash.h"
#include "costs/layer_relation.h"

namespace zkapex {

namespace {

// Entry (i, k) of a matrix in tiles, or of its transpose, as rows of one tile.
struct Operand {
  TileGrid grid;
  std::span<const int16_t> tiles;
  bool transposed;

  // Tile (i, k) of the matrix or its transpose.
  [[nodiscard]] std::vector<int16_t> tile(size_t i, size_t k) const {
    const size_t index = transposed ? k * grid.cols + i : i * grid.cols + k, side = grid.side;
    const auto entries = tiles.subspan(index * grid.tile_entries(), grid.tile_entries());
    std::vector<int16_t> out(entries.begin(), entries.end());
    if (transposed) {
      for (size_t r = 0; r < side; ++r) {
        for (size_t c = 0; c < side; ++c) out[r * side + c] = entries[c * side + r];
      }
    }
    return out;
  }
  [[nodiscard]] size_t inner() const { return transposed ? grid.rows : grid.cols; }  // as a left factor
};

// out += left · rightᵀ, one tile each. Sums of `side` products of 16-bit integers fit in 48 bits.
void add_product(std::span<const int16_t> left, std::span<const int16_t> right, size_t side, std::span<int64_t> out) {
  for (size_t i = 0; i < side; ++i) {
    for (size_t j = 0; j < side; ++j) {
      int64_t sum = 0;
      for (size_t k = 0; k < side; ++k) {
        const int32_t product = int32_t{left[i * side + k]} * int32_t{right[j * side + k]};
        sum += product;
      }
      out[i * side + j] += sum;
    }
  }
}

// left · rightᵀ + 2^(f−1), tile by tile.
std::vector<int64_t> accumulate(const LayerStatement& s, const TileGrid& result, const Operand& left,
                                const Operand& right, ThreadPool& pool) {
  const size_t entries = result.tile_entries();
  std::vector<int64_t> out(result.entries(), int64_t{1} << (s.shift - 1));
  pool.for_each(result.tiles(), [&](size_t t) {
    for (size_t k = 0; k < left.inner(); ++k) {
      add_product(left.tile(t / result.cols, k), right.tile(t % result.cols, k), s.side,
                  std::span(out).subspan(t * entries, entries));
    }
  });
  return out;
}

}  // namespace

Result<LayerAccumulators> layer_accumulators(const LayerStatement& s, const LayerOperands& operands, ThreadPool& pool) {
  if (const Verdict sound = s.sound(); !sound) return error("{}", sound.error().detail);
  if (operands.x.size() != s.x().entries() || operands.w.size() != s.w().entries() ||
      operands.g.size() != s.g().entries()) {
    return error("X, W and G must have {}, {} and {} entries", s.x().entries(), s.w().entries(), s.g().entries());
  }
  const auto x = [&](bool transposed) { return Operand{s.x(), operands.x, transposed}; };
  const auto w = [&](bool transposed) { return Operand{s.w(), operands.w, transposed}; };
  const auto g = [&](bool transposed) { return Operand{s.g(), operands.g, transposed}; };
  // X · (Wᵀ)ᵀ, G · Wᵀ, Xᵀ · (Gᵀ)ᵀ
  LayerAccumulators out{accumulate(s, s.result(LayerProduct::kForward), x(false), w(true), pool),
                        accumulate(s, s.result(LayerProduct::kInputGradient), g(false), w(false), pool),
                        accumulate(s, s.result(LayerProduct::kWeightGradient), x(true), g(true), pool)};
  ZKAPEX_CHECK(require_fit(s, out));
  return out;
}

Status require_fit(const LayerStatement& s, const LayerAccumulators& accumulators) {
  const int64_t limit = int64_t{1} << (s.planes() - 1);
  for (const std::vector<int64_t>& part : accumulators) {
    for (const int64_t p : part) {
      if (p < -limit || p >= limit) {
        return error("a product is {}: more than {} bits, {} of them to be rounded away", p, s.planes(), s.shift);
      }
    }
  }
  return Done{};
}

Result<CommittedRows> commit_operands(const LayerOperands& operands, size_t tile_entries, const Generators& generators,
                                      ThreadPool& pool) {
  const auto bytes = [](std::span<const int16_t> part) {
    return ByteView(reinterpret_cast<const uint8_t*>(part.data()), part.size_bytes());
  };
  // One stream for all three: operands that are equal must not share blindings, whatever the source of randomness.
  const std::string rows_of = fmt::format("layer operands, rows of {}", tile_entries);
  ZKAPEX_TRY(Nonces nonces, Nonces::create({view(rows_of), sha512(bytes(operands.x)), sha512(bytes(operands.w)),
                                            sha512(bytes(operands.g))}));
  CommittedRows out;
  for (const std::span<const int16_t> part : {operands.x, operands.w, operands.g}) {
    const PackedRows packed{bytes(part).data(), part.size() / tile_entries, 2 * tile_entries, tile_entries, 16};
    ZKAPEX_TRY(const CommittedRows rows, commit_rows_var(generators, packed, nonces, pool));
    out.append(rows);
  }
  return out;
}

}  // namespace zkapex
