#include "argument/matrix_relation_testing.h"

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/row_openings.h"
#include "argument/sumcheck.h"
#include "base/bits.h"
#include "base/hash.h"

namespace zkapex {

namespace {

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

Verdict MatrixRelation::sound() const {
  const MatrixStatement& s = statement_;
  if (!is_row_length(s.row_length))
    return Rejection{Reason::kStatement, "the row length is not a supported power of two"};
  if (!std::has_single_bit(s.side) || s.side > s.row_length / s.side) {
    return Rejection{Reason::kStatement, "a block's side must be a power of two, and a row must hold a whole block"};
  }
  if (s.blocks < 1 || s.blocks > kMaxRows || s.blocks % (s.row_length / s.side) != 0) {
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

void MatrixRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  main.absorb("parameters", ByteView(encode_parameters(statement_)));
  main.absorb("context", statement_.context);
  main.absorb("rows", rows);
}

void MatrixRelation::replay(ArgumentVerifier& verifier) const {
  const MatrixStatement& s = statement_;
  const Sizes size(s);
  verifier.for_forks("blocks", [&](size_t, Receiver& channel) {
    const Points r = channel.transcript().challenges("r", size.vector());
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
      verifier.add_pair(std::move(pair));
    };
    open(r, y_r, s.vector_rows());
    open(rho.point, product[1], s.vector_rows());
    open(matrix_point(sigma.point, rho.point, size.side), entry, s.matrix_rows());
    verifier.add_product({product[0], product[1], product[2]});
  });
}

namespace {

ByteView bytes_of(const auto& v) { return {reinterpret_cast<const uint8_t*>(v.data()), v.size_bytes()}; }

class MatrixWitness : public Witness {
 public:
  MatrixWitness(const MatrixStatement& statement, const MatrixValues& values) : s_(statement), values_(values) {}

  [[nodiscard]] Sha512::Digest digest() const override {
    Sha512 hash;
    for (const ByteView part : {bytes_of(values_.matrix), bytes_of(values_.x), bytes_of(values_.y)}) hash.update(part);
    return hash.finish();
  }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    ZKAPEX_TRY(CommittedRows rows, commit_integers_var(generators, values_.y, s_.row_length, nonces, pool));
    ZKAPEX_TRY(const CommittedRows x, commit_integers_var(generators, values_.x, s_.row_length, nonces, pool));
    const PackedRows packed{bytes_of(values_.matrix).data(), s_.matrix_rows(), s_.row_length, s_.row_length, 8};
    ZKAPEX_TRY(const CommittedRows matrix, commit_rows_var(generators, packed, nonces, pool));
    rows.append(x);
    rows.append(matrix);
    return rows;
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    return prover.for_forks("blocks", [&](size_t, Sender& channel) { return prove_blocks(prover, rows, channel); });
  }

 private:
  Status prove_blocks(ArgumentProver& prover, const CommittedRows& rows, Sender& channel) const {
    const Sizes size(s_);
    ThreadPool& pool = prover.pool();
    // y(r) = Σ_{b,l} v(b, l) x(b, l)
    const Points r = channel.transcript().challenges("r", size.vector());
    std::vector<Scalar> y_scalars;
    for (const int64_t value : values_.y) y_scalars.push_back(Scalar::from_i64(value));
    const Scalar y_r = channel.send("y", {evaluate(y_scalars, r)})[0];
    Sumcheck first{.variables = size.vector(),
                   .degree = 2,
                   .tables = {{left_product(s_, r, values_.matrix, pool)}, {values_.x}},
                   .terms = {{Scalar::one(), {0, 1}}},
                   .eq_point = {},
                   .bits = {}};
    const SumcheckProof rho = prove_sumcheck(channel, "first", std::move(first), y_r, pool);
    const std::vector<Scalar> product =
        channel.send("v, x, vx", {rho.tables[0], rho.tables[1], rho.tables[0] * rho.tables[1]},
                     {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, rho.claim);
    prover.add_product({product[0], product[1], product[2]});

    // v(ρ) = Σ_{b,j} eq(ρ_b, b) eq(r, (b, j)) A(b, j, ρ_l)
    const IntMatrix columns(values_.matrix.data(), s_.blocks * s_.side, s_.side, s_.side);
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

    const size_t vector_rows = s_.vector_rows();
    ZKAPEX_CHECK(prover.add_pair(open_vector(s_, r, y_r, values_.y, rows.blindings_from(0, vector_rows), pool)));
    ZKAPEX_CHECK(prover.add_pair(
        open_vector(s_, rho.point, product[1], values_.x, rows.blindings_from(vector_rows, vector_rows), pool)));
    const Points at = matrix_point(sigma.point, rho.point, size.side);
    const std::vector<Scalar> weights = row_weights(at, size.position, s_.matrix_rows());
    const IntMatrix matrix(values_.matrix.data(), s_.matrix_rows(), s_.row_length, s_.row_length);
    return prover.add_pair({fold_rows(matrix, weights, pool),
                            inner_product(weights, rows.blindings_from(2 * vector_rows, s_.matrix_rows())),
                            {low(at, size.position).begin(), low(at, size.position).end()},
                            entry});
  }

  const MatrixStatement& s_;
  const MatrixValues& values_;
};

}  // namespace

Result<Proof> prove_matrix(const MatrixStatement& s, const MatrixValues& values, const Generators& generators,
                           ThreadPool& pool, ProveOptions options) {
  const MatrixRelation relation(s);
  if (const Verdict sound = relation.sound(); !sound) return error("{}", sound.error().detail);
  if (values.matrix.size() != s.blocks * s.side * s.side || values.x.size() != s.blocks * s.side ||
      values.y.size() != s.blocks * s.side) {
    return error("the matrix, x and y must have {} blocks of side {}", s.blocks, s.side);
  }
  MatrixWitness witness(s, values);
  return prove(relation, witness, generators, pool, std::move(options));
}

}  // namespace zkapex
