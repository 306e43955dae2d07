#include "argument/matrix_relation.h"

#include <bit>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/row_openings.h"
#include "argument/sumcheck.h"
#include "base/hash.h"

namespace zkapex {

namespace {

unsigned log2_ceil(size_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

// Variables: an index of x or y is (block, position in block), of A (block, row, column).
struct Sizes {
  unsigned block, side, position;  // variables of a block's number, of an index inside a block, of a position in a row
  explicit Sizes(const MatrixStatement& s)
      : block(log2_ceil(s.blocks)), side(log2_ceil(s.side)), position(log2_ceil(s.row_length)) {}
  [[nodiscard]] unsigned vector() const { return block + side; }
};

using Points = std::vector<Scalar>;

// The last `count` variables of a point, and those before.
std::span<const Scalar> low(const Points& point, unsigned count) { return std::span(point).last(count); }
std::span<const Scalar> high(const Points& point, unsigned count) {
  return std::span(point).first(point.size() - count);
}

// (σ_b, σ_j, ρ_l): where A is opened.
Points matrix_point(const Points& sigma, const Points& rho, unsigned side) {
  Points out = sigma;
  const auto column = low(rho, side);
  out.insert(out.end(), column.begin(), column.end());
  return out;
}

// The weights eq(row part of the point, t) of `count` rows.
std::vector<Scalar> row_weights(const Points& point, unsigned position, size_t count) {
  std::vector<Scalar> out = eq_table(high(point, position));
  out.resize(count);
  return out;
}

Bytes encode_parameters(const MatrixStatement& s) {
  ByteWriter out;
  out.u64(s.row_length);
  out.u64(s.side);
  out.u64(s.blocks);
  return out.take();
}

ProverPair open_vector(const MatrixStatement& s, const Points& point, const Scalar& value,
                       std::span<const int64_t> entries, std::span<const Scalar> blindings, ThreadPool& pool) {
  const unsigned position = Sizes(s).position;
  const std::vector<Scalar> weights = row_weights(point, position, s.vector_rows());
  const auto at = low(point, position);
  return {
      fold_i64(entries, s.row_length, weights, pool), inner_product(weights, blindings), {at.begin(), at.end()}, value};
}

// v(b, l) = eq(r_b, b) Σ_j eq(r_j, j) A_b[j, l]
std::vector<Scalar> left_product(const MatrixStatement& s, const Points& r, std::span<const int8_t> matrix,
                                 ThreadPool& pool) {
  const std::vector<Scalar> block = eq_table(high(r, Sizes(s).side)), row = eq_table(low(r, Sizes(s).side));
  std::vector<Scalar> out(s.blocks * s.side);
  pool.for_each(s.blocks, [&](size_t b) {
    const IntMatrix part(matrix.data() + b * s.side * s.side, s.side, s.side, s.side);
    const std::vector<Scalar> v = fold_rows(part, row, pool);
    for (size_t l = 0; l < s.side; ++l) out[b * s.side + l] = block[b] * v[l];
  });
  return out;
}

}  // namespace

Verdict MatrixStatement::check() const {
  if (!is_row_length(row_length))
    return Rejection{Reason::kStatement, "the row length is not a supported power of two"};
  if (!std::has_single_bit(side) || side > row_length / side) {
    return Rejection{Reason::kStatement, "a block's side must be a power of two, and a row must hold a whole block"};
  }
  if (blocks < 1 || blocks > kMaxRows || blocks % (row_length / side) != 0) {
    return Rejection{Reason::kStatement, "the blocks do not fill whole rows of x"};
  }
  return Done{};
}

ProofShape MatrixStatement::shape() const {
  const Sizes size(*this);
  return {.row_length = row_length,
          .rows = 2 * vector_rows() + matrix_rows(),
          .forks = {1 + 2 * size_t{size.vector()} + 3 + 3 * size_t{size.vector()} + 1},
          .pairs = 3,
          .products = 1};
}

Transcript matrix_transcript(const MatrixStatement& statement, std::span<const EncodedPoint> rows,
                             const EncodedPoint& pads, Transcript::Manifest* manifest, Transcript::Oracle* oracle) {
  Transcript transcript("zkapex matrix 1", manifest, oracle);
  transcript.absorb("parameters", ByteView(encode_parameters(statement)));
  transcript.absorb("context", statement.context);
  transcript.absorb("rows", rows);
  transcript.absorb("pads", {&pads, 1});
  return transcript;
}

Result<Proof> prove_matrix(const MatrixStatement& s, const MatrixWitness& witness, const Generators& generators,
                           ThreadPool& pool, Tamper* tamper) {
  if (const Verdict sound = s.check(); !sound) return error("{}", sound.error().detail);
  ZKAPEX_CHECK(require_generators(generators, s.shape()));
  const Sizes size(s);
  if (witness.matrix.size() != s.blocks * s.side * s.side || witness.x.size() != s.blocks * s.side ||
      witness.y.size() != s.blocks * s.side) {
    return error("the matrix, x and y must have {} blocks of side {}", s.blocks, s.side);
  }
  const auto bytes = [](const auto& v) { return ByteView(reinterpret_cast<const uint8_t*>(v.data()), v.size_bytes()); };
  ZKAPEX_TRY(Nonces nonces,
             Nonces::create({view("matrix"), encode_parameters(s), view(s.context), sha512(bytes(witness.matrix)),
                             sha512(bytes(witness.x)), sha512(bytes(witness.y))}));
  ZKAPEX_TRY(const CommittedRows y_rows, commit_integers_var(generators, witness.y, s.row_length, nonces, pool));
  ZKAPEX_TRY(const CommittedRows x_rows, commit_integers_var(generators, witness.x, s.row_length, nonces, pool));
  const PackedRows packed{bytes(witness.matrix).data(), s.matrix_rows(), s.row_length, s.row_length, 8};
  ZKAPEX_TRY(const CommittedRows matrix_rows, commit_rows_var(generators, packed, nonces, pool));
  std::vector<EncodedPoint> rows = y_rows.encoded;
  rows.insert(rows.end(), x_rows.encoded.begin(), x_rows.encoded.end());
  rows.insert(rows.end(), matrix_rows.encoded.begin(), matrix_rows.encoded.end());

  const ProofShape shape = s.shape();
  ArgumentProver prover(generators, shape, std::move(nonces), pool, tamper);
  Transcript main = matrix_transcript(s, rows, prover.pad_commitment());
  std::vector<Transcript> forks;
  Transcript& fork = forks.emplace_back(main.fork("blocks", 0));
  Sender channel = prover.fork(0, fork);

  // y(r) = Σ_{b,l} v(b, l) x(b, l)
  const Points r = fork.challenges("r", size.vector());
  std::vector<Scalar> y_scalars;
  for (const int64_t value : witness.y) y_scalars.push_back(Scalar::from_i64(value));
  const Scalar y_r = channel.send("y", {evaluate(y_scalars, r)})[0];
  Sumcheck first{.variables = size.vector(),
                 .degree = 2,
                 .tables = {{left_product(s, r, witness.matrix, pool)}, {witness.x}},
                 .terms = {{Scalar::one(), {0, 1}}},
                 .eq_point = {},
                 .bits = {}};
  const SumcheckProof rho = prove_sumcheck(channel, "first", std::move(first), y_r, pool);
  const std::vector<Scalar> product =
      channel.send("v, x, vx", {rho.tables[0], rho.tables[1], rho.tables[0] * rho.tables[1]},
                   {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, rho.claim);

  // v(ρ) = Σ_{b,j} eq(ρ_b, b) eq(r, (b, j)) A(b, j, ρ_l)
  const IntMatrix columns(witness.matrix.data(), s.blocks * s.side, s.side, s.side);
  const auto rho_block = high(rho.point, size.side);
  Sumcheck second{.variables = size.vector(),
                  .degree = 3,
                  .tables = {{fold_columns(columns, eq_table(low(rho.point, size.side)), pool)}, {eq_table(r)}},
                  .terms = {{Scalar::one(), {0, 1}, true}},
                  .eq_point = {rho_block.begin(), rho_block.end()},
                  .bits = {}};
  const SumcheckProof sigma = prove_sumcheck(channel, "second", std::move(second), product[0], pool);
  const Scalar weight = eq(rho_block, high(sigma.point, size.side)) * eq(r, sigma.point);
  const Scalar entry = channel.send("A", {sigma.tables[0]}, {{weight}}, sigma.claim)[0];

  const Points at = matrix_point(sigma.point, rho.point, size.side);
  const std::vector<Scalar> weights = row_weights(at, size.position, s.matrix_rows());
  const IntMatrix matrix(witness.matrix.data(), s.matrix_rows(), s.row_length, s.row_length);
  std::vector<ProverPair> pairs;
  pairs.push_back(open_vector(s, r, y_r, witness.y, y_rows.all_blindings(), pool));
  pairs.push_back(open_vector(s, rho.point, product[1], witness.x, x_rows.all_blindings(), pool));
  pairs.push_back({fold_rows(matrix, weights, pool),
                   inner_product(weights, matrix_rows.all_blindings()),
                   {low(at, size.position).begin(), low(at, size.position).end()},
                   entry});
  const ProverProduct products[] = {{product[0], product[1], product[2]}};
  return prover.finish(main, forks, std::move(pairs), products, std::move(rows), [&](const Proof& proof) {
    Transcript again = matrix_transcript(s, proof.rows, proof.pads);
    return replay_matrix(s, shape, proof, again);
  });
}

OpeningClaim replay_matrix(const MatrixStatement& s, const ProofShape& shape, const Proof& proof, Transcript& main) {
  const Sizes size(s);
  ArgumentVerifier verifier(shape, proof);
  std::vector<Transcript> forks;
  Transcript& fork = forks.emplace_back(main.fork("blocks", 0));
  Receiver channel = verifier.fork(0, fork);
  const Points r = fork.challenges("r", size.vector());
  const Expression y_r = channel.receive("y", 1)[0];
  const SumcheckClaim rho = verify_sumcheck(channel, "first", size.vector(), 2, y_r);
  const std::vector<Expression> product = channel.receive("v, x, vx", 3);
  verifier.require_zero(rho.claim - product[2]);
  const SumcheckClaim sigma = verify_sumcheck(channel, "second", size.vector(), 3, product[0]);
  const Expression entry = channel.receive("A", 1)[0];
  const Scalar weight = eq(high(rho.point, size.side), high(sigma.point, size.side)) * eq(r, sigma.point);
  verifier.require_zero(sigma.claim - entry * weight);

  size_t row = 0;
  const auto open = [&](const Points& point, const Expression& value, size_t rows) {
    VerifierPair pair{{}, {low(point, size.position).begin(), low(point, size.position).end()}, value};
    for (const Scalar& coefficient : row_weights(point, size.position, rows))
      pair.commitment.emplace_back(row++, coefficient);
    return pair;
  };
  std::vector<VerifierPair> pairs;
  pairs.push_back(open(r, y_r, s.vector_rows()));
  pairs.push_back(open(rho.point, product[1], s.vector_rows()));
  pairs.push_back(open(matrix_point(sigma.point, rho.point, size.side), entry, s.matrix_rows()));
  const VerifierProduct products[] = {{product[0], product[1], product[2]}};
  return verifier.reduce(main, forks, pairs, products);
}

Result<PointSum, Rejection> check_matrix(const MatrixStatement& statement, ByteView bytes, ThreadPool& pool) {
  ZKAPEX_CHECK(statement.check());
  const ProofShape shape = statement.shape();
  ZKAPEX_TRY(const Proof proof, Proof::decode(bytes, shape));
  ZKAPEX_TRY(const std::vector<Point> rows, decode_rows(proof.rows, pool));
  Transcript main = matrix_transcript(statement, proof.rows, proof.pads);
  const OpeningClaim claim = replay_matrix(statement, shape, proof, main);
  return settle(main, claim, proof, rows);
}

Verdict verify_matrix(const MatrixStatement& statement, ByteView proof, const Generators& generators,
                      ThreadPool& pool) {
  ZKAPEX_TRY(const PointSum sum, check_matrix(statement, proof, pool));
  return verdict_var(sum, generators, pool);
}

}  // namespace zkapex
