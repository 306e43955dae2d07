#include "argument/projected_range_relation.h"

namespace zkapex {

namespace {

Bytes encode_parameters(const ProjectionShape& s) {
  ByteWriter out;
  out.u64(s.row_length);
  out.u64(s.rows);
  out.u64(s.chunk);
  out.u32(s.count);
  out.u32(s.bits);
  for (const size_t rows : s.units) out.u64(rows);
  return out.take();
}

class ProjectedRangeWitness : public Witness {
 public:
  ProjectedRangeWitness(const ProjectionShape& shape, std::span<const int64_t> values)
      : shape_(shape), values_(values) {}

  [[nodiscard]] Sha512::Digest digest() const override {
    return sha512({reinterpret_cast<const uint8_t*>(values_.data()), values_.size_bytes()});
  }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    return commit_integers_var(generators, values_, shape_.row_length, nonces, pool);
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    const RowSource all = [&](const auto& visit) { return visit(values_); };
    ProjectionProver projection(shape_, all, rows.all_blindings());
    ZKAPEX_CHECK(projection.draw(prover.main().challenge("projection"), 0, prover.pool()));
    ZKAPEX_TRY(const CommittedRows later, prover.commit_rows("projections", [&](Nonces& nonces) {
      return projection.commit(*generators_, nonces, prover.pool());
    }));
    return prover.for_forks(
        "part", [&](size_t k, Sender& channel) { return projection.prove(k, later.all_blindings(), channel, prover); });
  }

 private:
  const ProjectionShape& shape_;
  std::span<const int64_t> values_;
  const Generators* generators_ = nullptr;
};

}  // namespace

ProofShape ProjectedRangeStatement::shape() const {
  ProofShape out{.row_length = projection.row_length,
                 .rows = projection.rows + projection.later_rows(),
                 .forks = projection.fork_scalars(),
                 .pairs = projection.pairs(),
                 .products = projection.products(),
                 .later_rows = projection.later_rows()};
  return out;
}

void ProjectedRangeRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  main.absorb("parameters", ByteView(encode_parameters(statement_.projection)));
  main.absorb("context", statement_.context);
  main.absorb("rows", rows);
}

void ProjectedRangeRelation::replay(ArgumentVerifier& verifier) const {
  const ProjectionShape& shape = statement_.projection;
  const TernaryMatrix matrix = draw_projection(shape, verifier.main().challenge("projection"), 0);
  const ProjectionNumbers numbers{0, verifier.absorb_rows("projections", shape.later_rows())};
  verifier.for_forks(
      "part", [&](size_t k, Receiver& channel) { replay_projection(shape, k, matrix, numbers, channel, verifier); });
}

Result<Proof> prove_projected_range(const ProjectedRangeStatement& statement, std::span<const int64_t> values,
                                    const Generators& generators, ThreadPool& pool, ProveOptions options) {
  const ProjectedRangeRelation relation(statement);
  if (const Verdict sound = relation.sound(); !sound) return error("{}", sound.error().detail);
  const ProjectionShape& shape = statement.projection;
  if (values.size() != shape.rows * shape.row_length)
    return error("{} values do not fill {} rows of {}", values.size(), shape.rows, shape.row_length);
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] > shape.largest() || values[k] < -shape.largest())
      return error("the value {} at position {} is larger than {}", values[k], k, shape.largest());
  }
  ProjectedRangeWitness witness(shape, values);
  return prove(relation, witness, generators, pool, std::move(options));
}

}  // namespace zkapex
