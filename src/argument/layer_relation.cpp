#include "argument/layer_relation.h"

#include <bit>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/bit_check.h"
#include "argument/bit_matrix.h"
#include "argument/sumcheck.h"
#include "base/hash.h"

namespace zkapex {

namespace {

// With these no size overflows. A tile of the largest side is a row of the largest length.
constexpr size_t kMaxSide = 1 << 12, kMaxTiles = 1 << 12;
static_assert(kMaxSide * kMaxSide == kMaxRowLength);

unsigned log2_ceil(size_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

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

// Coefficients of the bit rows of P, plane by plane, whose sum commits to P at the point's tiles.
std::vector<Scalar> accumulator_weights(const LayerStatement& s, const TilePoint& point) {
  std::vector<Scalar> out;
  for (const Scalar& plane : sign_weights(s.planes())) {
    for (const Scalar& tile : point.weights) out.push_back(plane * tile);
  }
  return out;
}

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

// Collects what one fork leaves to the end.
struct Claims {
  std::vector<ProverPair> pairs;
  std::vector<ProverProduct> products;
};

void prove_product(const LayerStatement& s, const Product& product, std::span<const int64_t> accumulators,
                   const BitMatrix& bits, size_t index, std::span<const Scalar> bit_blindings,
                   std::span<const Scalar> operand_blindings, Sender channel, ThreadPool& pool, Claims& out) {
  const TileGrid grid = product.result();
  const size_t n = grid.tile_entries();
  // P consists of bits.
  const auto [r, planes] = prove_bits(channel, bits.planes(index), product.flat_variables(), pool);
  const auto row_point = std::span(r).first(log2_ceil(grid.tiles()));
  const std::vector<Scalar> bit_weights = bit_row_weights(s.planes(), grid.tiles(), planes.kappa, row_point);
  out.pairs.push_back({fold_bits(bits.segment(index), bits.words_per_row(), n, bit_weights, pool),
                       inner_product(bit_weights, bit_blindings),
                       {r.begin() + log2_ceil(grid.tiles()), r.end()},
                       planes.b});
  out.products.push_back({planes.b, planes.b, planes.square});

  // P − 2^(f−1) is the product, at a random entry of its extension.
  const std::vector<Scalar> row = channel.transcript().challenges("row", product.row_variables());
  const std::vector<Scalar> col = channel.transcript().challenges("column", product.col_variables());
  const TilePoint at = tile_point(grid, row, col);
  std::vector<Scalar> p_vector = fold_i64(accumulators, n, at.weights, pool);
  const Scalar p = channel.send("P", {evaluate(p_vector, at.position)})[0];
  Sumcheck sumcheck{.variables = product.inner_variables(),
                    .degree = 2,
                    .tables = {{bind_axis(product.left.grid, product.left.tiles, product.left.outer, row, pool)},
                               {bind_axis(product.right.grid, product.right.tiles, product.right.outer, col, pool)}},
                    .terms = {{Scalar::one(), {0, 1}}},
                    .eq_point = {},
                    .bits = {}};
  const SumcheckProof end = prove_sumcheck(channel, "product", std::move(sumcheck), p - rounding_offset(s, at), pool);
  const std::vector<Scalar> factors =
      channel.send("a, b, ab", {end.tables[0], end.tables[1], end.tables[0] * end.tables[1]},
                   {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, end.claim);
  out.products.push_back({factors[0], factors[1], factors[2]});

  out.pairs.push_back({std::move(p_vector), inner_product(accumulator_weights(s, at), bit_blindings), at.position, p});
  const auto open = [&](const Factor& factor, std::span<const Scalar> outer, const Scalar& value) {
    TilePoint point = factor.at(outer, end.point);
    const IntMatrix tiles(factor.tiles.data(), factor.grid.tiles(), n, n);
    out.pairs.push_back({fold_rows(tiles, point.weights, pool),
                         inner_product(point.weights, operand_blindings.subspan(factor.first_row, factor.grid.tiles())),
                         std::move(point.position), value});
  };
  open(product.left, row, factors[0]);
  open(product.right, col, factors[1]);
}

}  // namespace

Verdict LayerStatement::check() const {
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

Transcript layer_transcript(const LayerStatement& statement, std::span<const EncodedPoint> rows,
                            const EncodedPoint& pads, Transcript::Manifest* manifest, Transcript::Oracle* oracle) {
  Transcript transcript("zkapex layer 1", manifest, oracle);
  transcript.absorb("parameters", ByteView(encode_parameters(statement)));
  transcript.absorb("context", statement.context);
  transcript.absorb("operands", statement.operands);
  transcript.absorb("bit rows", rows);
  transcript.absorb("pads", {&pads, 1});
  return transcript;
}

Result<Proof> prove_layer(const LayerStatement& s, const LayerWitness& witness, const Generators& generators,
                          ThreadPool& pool, Tamper* tamper) {
  if (const Verdict sound = s.check(); !sound) return error("{}", sound.error().detail);
  const ProofShape shape = s.shape();
  ZKAPEX_CHECK(require_generators(generators, shape));
  const std::array<size_t, kLayerProducts> tiles = result_tiles(s);
  std::vector<size_t> witness_entries{witness.operands.x.size(), witness.operands.w.size(), witness.operands.g.size()};
  std::vector<size_t> entries{s.x().entries(), s.w().entries(), s.g().entries()};
  for (size_t k = 0; k < kLayerProducts; ++k) {
    witness_entries.push_back(witness.accumulators[k].size());
    entries.push_back(tiles[k] * shape.row_length);
  }
  if (witness_entries != entries || witness.blindings.size() != s.operands.size()) {
    return error("the operands, their blindings and the accumulators do not fit the statement's tiles");
  }
  ZKAPEX_CHECK(require_fit(s, witness.accumulators));

  BitMatrix bits(shape.row_length, s.planes(), tiles);
  Sha512 digest;
  for (const EncodedPoint& operand : s.operands) digest.update(operand);
  for (size_t k = 0; k < kLayerProducts; ++k) {
    const std::vector<int64_t>& part = witness.accumulators[k];
    bits.fill(k, 0, {reinterpret_cast<const uint64_t*>(part.data()), part.size()}, pool);
    digest.update({reinterpret_cast<const uint8_t*>(part.data()), 8 * part.size()});
  }
  ZKAPEX_TRY(Nonces nonces, Nonces::create({view("layer"), encode_parameters(s), view(s.context), digest.finish()}));
  ZKAPEX_TRY(const CommittedRows rows, commit_rows_var(generators, bits.packed(), nonces, pool));

  ArgumentProver prover(generators, shape, std::move(nonces), pool, tamper);
  Transcript main = layer_transcript(s, rows.encoded, prover.pad_commitment());
  std::vector<Transcript> forks;
  Claims claims;
  for (size_t k = 0; k < kLayerProducts; ++k) {
    forks.push_back(main.fork("product", k));
    prove_product(s, product_of(s, static_cast<LayerProduct>(k), witness.operands), witness.accumulators[k], bits, k,
                  rows.blindings_from(bits.first_row(k), s.planes() * tiles[k]), witness.blindings,
                  prover.fork(k, forks.back()), pool, claims);
  }
  return prover.finish(main, forks, std::move(claims.pairs), claims.products, rows.encoded, [&](const Proof& proof) {
    Transcript again = layer_transcript(s, proof.rows, proof.pads);
    return replay_layer(s, shape, proof, again);
  });
}

OpeningClaim replay_layer(const LayerStatement& s, const ProofShape& shape, const Proof& proof, Transcript& main) {
  ArgumentVerifier verifier(shape, proof);
  std::vector<Transcript> forks;
  std::vector<VerifierPair> pairs;
  std::vector<VerifierProduct> products;
  size_t first_bit_row = 0;
  const auto open = [&](size_t first_row, std::span<const Scalar> weights, std::vector<Scalar> position,
                        const Expression& value) {
    VerifierPair& pair = pairs.emplace_back(VerifierPair{{}, std::move(position), value});
    for (const Scalar& weight : weights) pair.commitment.emplace_back(first_row++, weight);
  };
  for (size_t k = 0; k < kLayerProducts; ++k) {
    const Product product = product_of(s, static_cast<LayerProduct>(k));
    const TileGrid grid = product.result();
    const unsigned tile_variables = log2_ceil(grid.tiles());
    Transcript& fork = forks.emplace_back(main.fork("product", k));
    Receiver channel = verifier.fork(k, fork);
    const auto [r, planes] = verify_bits(channel, verifier, s.planes(), product.flat_variables());
    open(first_bit_row, bit_row_weights(s.planes(), grid.tiles(), planes.kappa, std::span(r).first(tile_variables)),
         {r.begin() + tile_variables, r.end()}, planes.b);
    products.push_back({planes.b, planes.b, planes.square});

    const std::vector<Scalar> row = fork.challenges("row", product.row_variables());
    const std::vector<Scalar> col = fork.challenges("column", product.col_variables());
    const TilePoint at = tile_point(grid, row, col);
    const Expression p = channel.receive("P", 1)[0];
    const SumcheckClaim end =
        verify_sumcheck(channel, "product", product.inner_variables(), 2, p + (-rounding_offset(s, at)));
    const std::vector<Expression> factors = channel.receive("a, b, ab", 3);
    verifier.require_zero(end.claim - factors[2]);
    products.push_back({factors[0], factors[1], factors[2]});
    open(first_bit_row, accumulator_weights(s, at), at.position, p);
    for (const auto& [factor, outer, value] :
         {std::tuple{&product.left, &row, &factors[0]}, std::tuple{&product.right, &col, &factors[1]}}) {
      const TilePoint point = factor->at(*outer, end.point);
      open(shape.rows + factor->first_row, point.weights, point.position, *value);
    }
    first_bit_row += s.planes() * grid.tiles();
  }
  return verifier.reduce(main, forks, pairs, products);
}

Result<PointSum, Rejection> check_layer(const LayerStatement& statement, ByteView bytes, ThreadPool& pool) {
  ZKAPEX_CHECK(statement.check());
  const ProofShape shape = statement.shape();
  ZKAPEX_TRY(const Proof proof, Proof::decode(bytes, shape));
  std::vector<EncodedPoint> encoded = proof.rows;
  encoded.insert(encoded.end(), statement.operands.begin(), statement.operands.end());
  ZKAPEX_TRY(const std::vector<Point> rows, decode_rows(encoded, pool));
  Transcript main = layer_transcript(statement, proof.rows, proof.pads);
  const OpeningClaim claim = replay_layer(statement, shape, proof, main);
  return settle(main, claim, proof, rows);
}

Verdict verify_layer(const LayerStatement& statement, ByteView proof, const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(const PointSum sum, check_layer(statement, proof, pool));
  return verdict_var(sum, generators, pool);
}

}  // namespace zkapex
