#include "costs/layer_relation.h"

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/bit_check.h"
#include "argument/bit_matrix.h"
#include "base/bits.h"

namespace zkapex {

namespace {

// With these no size overflows. A tile of the largest side is a row of the largest length.
constexpr size_t kMaxSide = 1 << 12, kMaxTiles = 1 << 12;
static_assert(kMaxSide * kMaxSide == kMaxRowLength);

// One factor of a product: an operand, and which of its axes belongs to the result (the other is summed over).
struct Factor {
  TileGrid grid;
  Axis outer;
  size_t first_row = 0;                 // of its tiles among the statement's operands
  std::span<const int16_t> tiles = {};  // the prover's

  [[nodiscard]] size_t outer_tiles() const { return outer == Axis::kRows ? grid.rows : grid.cols; }
  [[nodiscard]] size_t inner_tiles() const { return outer == Axis::kRows ? grid.cols : grid.rows; }
  [[nodiscard]] TilePoint at(std::span<const Scalar> outer_point, std::span<const Scalar> inner_point) const {
    return outer == Axis::kRows ? tile_point(grid, outer_point, inner_point)
                                : tile_point(grid, inner_point, outer_point);
  }
};

struct Product {
  Factor left, right;

  [[nodiscard]] TileGrid result() const { return {left.outer_tiles(), right.outer_tiles(), left.grid.side}; }
  [[nodiscard]] unsigned row_variables() const { return side_variables(left.outer_tiles(), left.grid.side); }
  [[nodiscard]] unsigned col_variables() const { return side_variables(right.outer_tiles(), left.grid.side); }
  [[nodiscard]] unsigned inner_variables() const { return side_variables(left.inner_tiles(), left.grid.side); }
  // Of an index into all tiles of the result, one after another.
  [[nodiscard]] unsigned flat_variables() const {
    return log2_ceil(result().tiles()) + log2_ceil(result().tile_entries());
  }
};

Product product_of(const LayerStatement& s, LayerProduct which, const LayerOperands& operands = {}) {
  const size_t w_row = s.x().tiles(), g_row = w_row + s.w().tiles();
  const auto x = [&](Axis outer) { return Factor{s.x(), outer, 0, operands.x}; };
  const auto w = [&](Axis outer) { return Factor{s.w(), outer, w_row, operands.w}; };
  const auto g = [&](Axis outer) { return Factor{s.g(), outer, g_row, operands.g}; };
  switch (which) {
    case LayerProduct::kForward:  // Y[t, o] = Σ_i X[t, i] W[i, o]
      return {x(Axis::kRows), w(Axis::kColumns)};
    case LayerProduct::kInputGradient:  // ∂X[t, i] = Σ_o G[t, o] W[i, o]
      return {g(Axis::kRows), w(Axis::kRows)};
    case LayerProduct::kWeightGradient:  // ∂W[i, o] = Σ_t X[t, i] G[t, o]
      return {x(Axis::kColumns), g(Axis::kColumns)};
  }
  return {};
}

// What P exceeds the product by at a point of the result: 2^(f−1) on every tile that is there.
Scalar rounding_offset(const LayerStatement& s, const TilePoint& point) {
  Scalar sum;
  for (const Scalar& weight : point.weights) sum += weight;
  return sum * Scalar::power_of_two(s.shift - 1);
}

// What is opened of P's bits: Σ_k eq(κ, k) Σ_t eq(r_tile, t) R[k, t] at r_position.
struct BitOpening {
  std::vector<Scalar> plane, tile, point;
  BitOpening(const LayerStatement& s, const TileGrid& grid, std::span<const Scalar> r, std::span<const Scalar> kappa)
      : plane(eq_prefix(kappa, s.planes())),
        tile(eq_prefix(r.first(log2_ceil(grid.tiles())), grid.tiles())),
        point(r.begin() + log2_ceil(grid.tiles()), r.end()) {}
};

Bytes encode_parameters(const LayerStatement& s) {
  ByteWriter out;
  for (const size_t value : {s.side, s.tokens, s.inputs, s.outputs}) out.u64(value);
  out.u32(s.bits);
  out.u32(s.shift);
  return out.take();
}

std::array<size_t, kLayerProducts> result_tiles(const LayerStatement& s) {
  std::array<size_t, kLayerProducts> out{};
  for (size_t k = 0; k < kLayerProducts; ++k) out[k] = s.result(static_cast<LayerProduct>(k)).tiles();
  return out;
}

}  // namespace

Verdict LayerStatement::sound() const {
  if (!std::has_single_bit(side) || side > kMaxSide) {
    return Rejection{Reason::kStatement, fmt::format("a tile's side of {}, not a power of two to {}", side, kMaxSide)};
  }
  for (const size_t tiles : {tokens, inputs, outputs}) {
    if (tiles < 1 || tiles > kMaxTiles) {
      return Rejection{Reason::kStatement, fmt::format("a side of {} tiles, not 1 to {}", tiles, kMaxTiles)};
    }
  }
  if (bits < 2 || bits > 16) return Rejection{Reason::kStatement, fmt::format("{} bits, not 2 to 16", bits)};
  if (shift < 1 || shift > 24) return Rejection{Reason::kStatement, fmt::format("a shift of {}, not 1 to 24", shift)};
  const size_t rows = x().tiles() + w().tiles() + g().tiles();
  if (operands.size() != rows) {
    return Rejection{Reason::kStatement, fmt::format("{} rows of operands, not {}", operands.size(), rows)};
  }
  return Done{};
}

TileGrid LayerStatement::result(LayerProduct product) const {
  switch (product) {
    case LayerProduct::kForward:
      return g();
    case LayerProduct::kInputGradient:
      return x();
    case LayerProduct::kWeightGradient:
      return w();
  }
  return {};
}

size_t LayerStatement::results() const { return x().tiles() + w().tiles() + g().tiles(); }

ProofShape LayerStatement::shape() const {
  ProofShape shape{.row_length = side * side,
                   .rows = planes() * results(),
                   .forks = {},
                   .pairs = 4 * kLayerProducts,
                   .products = 2 * kLayerProducts};
  for (size_t k = 0; k < kLayerProducts; ++k) {
    const Product product = product_of(*this, static_cast<LayerProduct>(k));
    shape.forks.push_back(bit_check_scalars(planes(), product.flat_variables()) + 1 +
                          2 * size_t{product.inner_variables()} + 3);
  }
  return shape;
}

void LayerRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  main.absorb("parameters", ByteView(encode_parameters(statement_)));
  main.absorb("context", statement_.context);
  main.absorb("operands", statement_.operands);
  main.absorb("bit rows", rows);
}

void LayerRelation::replay(ArgumentVerifier& verifier) const {
  const LayerStatement& s = statement_;
  const size_t first_operand = s.planes() * s.results();
  size_t first_bit_row = 0;
  verifier.for_forks("product", [&](size_t k, Receiver& channel) {
    const Product product = product_of(s, static_cast<LayerProduct>(k));
    const TileGrid grid = product.result();
    const auto tau = BitChallenges::draw(channel.transcript(), s.planes(), product.flat_variables());
    const VerifierBits bits = verify_bits(channel, verifier, tau);
    const BitOpening opening(s, grid, bits.r, bits.kappa);
    VerifierPair digits{{}, opening.point, bits.b};
    add_bit_rows(digits.commitment, first_bit_row, opening.plane, opening.tile);
    verifier.add_pair(std::move(digits));

    const std::vector<Scalar> row = channel.transcript().challenges("row", product.row_variables());
    const std::vector<Scalar> col = channel.transcript().challenges("column", product.col_variables());
    const TilePoint at = tile_point(grid, row, col);
    const Expression p = channel.receive("P", 1)[0];
    const SumcheckClaim end =
        verify_sumcheck(channel, "product", product.inner_variables(), 2, p + (-rounding_offset(s, at)));
    const std::vector<Expression> factors = channel.receive("a, b, ab", 3);
    verifier.require_zero(end.claim - factors[2]);
    verifier.add_product({factors[0], factors[1], factors[2]});
    VerifierPair accumulator{{}, at.position, p};
    add_bit_rows(accumulator.commitment, first_bit_row, sign_weights(s.planes()), at.weights);
    verifier.add_pair(std::move(accumulator));
    const auto open = [&](const Factor& factor, std::span<const Scalar> outer, const Expression& value) {
      TilePoint point = factor.at(outer, end.point);
      VerifierPair pair{{}, std::move(point.position), value};
      size_t tile = first_operand + factor.first_row;
      for (const Scalar& weight : point.weights) pair.commitment.emplace_back(tile++, weight);
      verifier.add_pair(std::move(pair));
    };
    open(product.left, row, factors[0]);
    open(product.right, col, factors[1]);
    first_bit_row += s.planes() * grid.tiles();
  });
}

namespace {

class LayerWitness : public Witness {
 public:
  LayerWitness(const LayerStatement& statement, const LayerValues& values, ThreadPool& pool)
      : s_(statement), values_(values), bits_(s_.side * s_.side, s_.planes(), result_tiles(s_)) {
    for (size_t k = 0; k < kLayerProducts; ++k) {
      const std::vector<int64_t>& part = values.accumulators[k];
      bits_.fill(k, 0, {reinterpret_cast<const uint64_t*>(part.data()), part.size()}, pool);
    }
  }

  // The operands are bound by their commitments.
  [[nodiscard]] Sha512::Digest digest() const override {
    Sha512 hash;
    for (const std::vector<int64_t>& part : values_.accumulators) {
      hash.update({reinterpret_cast<const uint8_t*>(part.data()), 8 * part.size()});
    }
    return hash.finish();
  }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    return commit_rows_var(generators, bits_.packed(), nonces, pool);
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    return prover.for_forks("product",
                            [&](size_t k, Sender& channel) { return prove_product(prover, rows, k, channel); });
  }

 private:
  Status prove_product(ArgumentProver& prover, const CommittedRows& rows, size_t k, Sender& channel) const {
    const Product product = product_of(s_, static_cast<LayerProduct>(k), values_.operands);
    const TileGrid grid = product.result();
    const size_t n = grid.tile_entries();
    ThreadPool& pool = prover.pool();
    // P consists of bits.
    const auto tau = BitChallenges::draw(channel.transcript(), s_.planes(), product.flat_variables());
    const ProverBits bits = prove_bits(channel, prover, tau, bits_.planes(k));
    const BitRows bit_rows{bits_.segment(k), bits_.words_per_row(), n,
                           rows.blindings_from(bits_.first_row(k), s_.planes() * grid.tiles())};
    const BitOpening opening(s_, grid, bits.r, bits.kappa);
    ProverPair digits = fold_bit_rows(bit_rows, opening.plane, opening.tile, pool);
    digits.point = opening.point;
    digits.value = bits.b;
    ZKAPEX_CHECK(prover.add_pair(std::move(digits)));

    // P − 2^(f−1) is the product, at a random entry of its extension.
    const std::vector<Scalar> row = channel.transcript().challenges("row", product.row_variables());
    const std::vector<Scalar> col = channel.transcript().challenges("column", product.col_variables());
    const TilePoint at = tile_point(grid, row, col);
    ProverPair accumulator{fold_i64(values_.accumulators[k], n, at.weights, pool), {}, at.position, {}};
    const std::vector<Scalar> signs = sign_weights(s_.planes());
    for (size_t plane = 0; plane < signs.size(); ++plane) {
      const auto blindings = bit_rows.blindings.subspan(plane * grid.tiles(), grid.tiles());
      accumulator.blinding += signs[plane] * inner_product(at.weights, blindings);
    }
    accumulator.value = channel.send("P", {evaluate(accumulator.vector, at.position)})[0];
    Sumcheck sumcheck{.variables = product.inner_variables(),
                      .degree = 2,
                      .tables = {{bind_axis(product.left.grid, product.left.tiles, product.left.outer, row, pool)},
                                 {bind_axis(product.right.grid, product.right.tiles, product.right.outer, col, pool)}},
                      .terms = {{Scalar::one(), {0, 1}}},
                      .eq_point = {},
                      .bits = {}};
    const SumcheckProof end =
        prove_sumcheck(channel, "product", std::move(sumcheck), accumulator.value - rounding_offset(s_, at), pool);
    const std::vector<Scalar> factors =
        channel.send("a, b, ab", {end.tables[0], end.tables[1], end.tables[0] * end.tables[1]},
                     {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, end.claim);
    prover.add_product({factors[0], factors[1], factors[2]});
    ZKAPEX_CHECK(prover.add_pair(std::move(accumulator)));
    const auto open = [&](const Factor& factor, std::span<const Scalar> outer, const Scalar& value) {
      TilePoint point = factor.at(outer, end.point);
      const IntMatrix tiles(factor.tiles.data(), factor.grid.tiles(), n, n);
      return prover.add_pair(
          {fold_rows(tiles, point.weights, pool),
           inner_product(point.weights, values_.blindings.subspan(factor.first_row, factor.grid.tiles())),
           std::move(point.position), value});
    };
    ZKAPEX_CHECK(open(product.left, row, factors[0]));
    return open(product.right, col, factors[1]);
  }

  const LayerStatement& s_;
  const LayerValues& values_;
  BitMatrix bits_;
};

Status require_entries(const LayerStatement& s, const LayerValues& values) {
  std::vector<size_t> given{values.operands.x.size(), values.operands.w.size(), values.operands.g.size()};
  std::vector<size_t> entries{s.x().entries(), s.w().entries(), s.g().entries()};
  for (size_t k = 0; k < kLayerProducts; ++k) {
    given.push_back(values.accumulators[k].size());
    entries.push_back(s.result(static_cast<LayerProduct>(k)).entries());
  }
  if (given != entries || values.blindings.size() != s.operands.size()) {
    return error("the operands, their blindings and the accumulators do not fit the statement's tiles");
  }
  return Done{};
}

}  // namespace

Result<Proof> prove_layer(const LayerStatement& s, const LayerValues& values, const Generators& generators,
                          ThreadPool& pool, ProveOptions options) {
  if (const Verdict sound = s.sound(); !sound) return error("{}", sound.error().detail);
  ZKAPEX_CHECK(require_entries(s, values));
  ZKAPEX_CHECK(require_fit(s, values.accumulators));
  LayerWitness witness(s, values, pool);
  return prove(LayerRelation(s), witness, generators, pool, std::move(options));
}

}  // namespace zkapex
