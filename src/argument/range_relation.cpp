#include "argument/range_relation.h"

#include <numeric>

#include "algebra/multilinear.h"
#include "argument/bit_check.h"
#include "argument/bit_matrix.h"
#include "base/bits.h"

namespace zkapex {

namespace {

unsigned row_variables(const RangeStatement& s, size_t segment) { return log2_ceil(s.segments[segment]); }
unsigned variables(const RangeStatement& s, size_t segment) {
  return row_variables(s, segment) + log2_ceil(s.row_length);
}

// What is opened of a segment: Σ_k eq(κ, k) Σ_t eq(r_row, t) R[k, t] at r_position.
struct Opening {
  std::vector<Scalar> plane, row, point;
  Opening(const RangeStatement& s, size_t segment, std::span<const Scalar> r, std::span<const Scalar> kappa)
      : plane(eq_prefix(kappa, s.bits)),
        row(eq_prefix(r.first(row_variables(s, segment)), s.segments[segment])),
        point(r.begin() + row_variables(s, segment), r.end()) {}
};

Bytes encode_parameters(const RangeStatement& s) {
  ByteWriter out;
  out.u64(s.row_length);
  out.u32(s.bits);
  for (const size_t rows : s.segments) out.u64(rows);
  return out.take();
}

class RangeWitness : public Witness {
 public:
  RangeWitness(const RangeStatement& statement, std::span<const int64_t> values, ThreadPool& pool)
      : statement_(statement),
        digest_(sha512({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()})),
        bits_({reinterpret_cast<const uint64_t*>(values.data()), values.size()}, statement.row_length, statement.bits,
              statement.segments, pool) {}

  [[nodiscard]] Sha512::Digest digest() const override { return digest_; }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    return commit_rows_var(generators, bits_.packed(), nonces, pool);
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    return prover.for_forks("segment", [&](size_t k, Sender& channel) -> Status {
      const auto tau = BitChallenges::draw(channel.transcript(), statement_.bits, variables(statement_, k));
      const ProverBits bits = prove_bits(channel, prover, tau, bits_.planes(k));
      const BitRows bit_rows{bits_.segment(k), bits_.words_per_row(), statement_.row_length,
                             rows.blindings_from(bits_.first_row(k), statement_.bits * statement_.segments[k])};
      const Opening opening(statement_, k, bits.r, bits.kappa);
      ProverPair pair = fold_bit_rows(bit_rows, opening.plane, opening.row, prover.pool());
      pair.point = opening.point;
      pair.value = bits.b;
      return prover.add_pair(std::move(pair));
    });
  }

 private:
  const RangeStatement& statement_;
  Sha512::Digest digest_;
  BitMatrix bits_;
};

}  // namespace

Verdict RangeRelation::sound() const {
  const RangeStatement& s = statement_;
  if (!is_row_length(s.row_length))
    return Rejection{Reason::kStatement, "the row length is not a supported power of two"};
  if (s.bits < 1 || s.bits > 64) return Rejection{Reason::kStatement, fmt::format("{} bits, not 1 to 64", s.bits)};
  if (s.segments.empty() || s.segments.size() > kMaxForks) {
    return Rejection{Reason::kStatement, fmt::format("{} segments, not 1 to {}", s.segments.size(), kMaxForks)};
  }
  for (const size_t count : s.segments) {
    if (count < 1 || count > kMaxRows) {
      return Rejection{Reason::kStatement, fmt::format("a segment of {} rows, not 1 to {}", count, kMaxRows)};
    }
  }
  return Done{};
}

size_t RangeStatement::rows() const { return std::accumulate(segments.begin(), segments.end(), size_t{0}); }

ProofShape RangeStatement::shape() const {
  ProofShape shape{.row_length = row_length,
                   .rows = bits * rows(),
                   .forks = {},
                   .pairs = segments.size(),
                   .products = segments.size()};
  for (size_t k = 0; k < segments.size(); ++k) {
    shape.forks.push_back(bit_check_scalars(bits, variables(*this, k)));
  }
  return shape;
}

void RangeRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  main.absorb("parameters", ByteView(encode_parameters(statement_)));
  main.absorb("context", statement_.context);
  main.absorb("bit rows", rows);
}

void RangeRelation::replay(ArgumentVerifier& verifier) const {
  size_t first_row = 0;
  verifier.for_forks("segment", [&](size_t k, Receiver& channel) {
    const auto tau = BitChallenges::draw(channel.transcript(), statement_.bits, variables(statement_, k));
    const VerifierBits bits = verify_bits(channel, verifier, tau);
    const Opening opening(statement_, k, bits.r, bits.kappa);
    VerifierPair pair{{}, opening.point, bits.b};
    add_bit_rows(pair.commitment, first_row, opening.plane, opening.row);
    verifier.add_pair(std::move(pair));
    first_row += statement_.bits * statement_.segments[k];
  });
}

Result<Proof> prove_range(const RangeStatement& statement, std::span<const int64_t> values,
                          const Generators& generators, ThreadPool& pool, ProveOptions options) {
  const RangeRelation relation(statement);
  if (const Verdict sound = relation.sound(); !sound) return error("{}", sound.error().detail);
  if (values.size() != statement.rows() * statement.row_length) {
    return error("{} values do not fill {} rows of {}", values.size(), statement.rows(), statement.row_length);
  }
  const int64_t limit = static_cast<int64_t>((uint64_t{1} << (statement.bits - 1)) - 1);
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] > limit || values[k] < -limit - 1) {
      return error("the value {} at position {} has more than {} bits", values[k], k, statement.bits);
    }
  }
  RangeWitness witness(statement, values, pool);
  return prove(relation, witness, generators, pool, std::move(options));
}

}  // namespace zkapex
