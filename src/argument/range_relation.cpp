#include "argument/range_relation.h"

#include "argument/bit_units.h"

namespace zkapex {

namespace {

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
      return prove_unit(statement_.units(), k, bits_, rows.all_blindings(), channel, prover);
    });
  }

 private:
  const RangeStatement& statement_;
  Sha512::Digest digest_;
  BitMatrix bits_;
};

}  // namespace

ProofShape RangeStatement::shape() const {
  const BitUnits cut = units();
  ProofShape shape{.row_length = row_length,
                   .rows = cut.bit_rows(),
                   .forks = {},
                   .pairs = segments.size(),
                   .products = segments.size()};
  for (size_t k = 0; k < segments.size(); ++k) shape.forks.push_back(cut.scalars(k));
  return shape;
}

void RangeRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  main.absorb("parameters", ByteView(encode_parameters(statement_)));
  main.absorb("context", statement_.context);
  main.absorb("bit rows", rows);
}

void RangeRelation::replay(ArgumentVerifier& verifier) const {
  const BitUnits units = statement_.units();
  verifier.for_forks("segment", [&](size_t k, Receiver& channel) { replay_unit(units, k, 0, channel, verifier); });
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
