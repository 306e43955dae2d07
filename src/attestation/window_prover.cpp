#include "attestation/window_prover.h"

#include "attestation/segment_prover.h"
#include "base/large_blocks.h"
#include "base/stopwatch.h"

namespace zkapex {

namespace {

class WindowWitness : public Witness {
 public:
  WindowWitness(const WindowStatement& statement, const WindowPlan& plan, const WindowBits& bits,
                const ModelReader& before, const ModelOpenings& openings)
      : statement_(statement), plan_(plan), bits_(bits), before_(before), openings_(openings) {}

  // Of θ_u; the statement binds θ_p and L by their commitments.
  [[nodiscard]] Sha512::Digest digest() const override { return bits_.digest(); }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    Stopwatch watch;
    Result<CommittedRows> rows = bits_.commit(generators, nonces, pool);
    commit_seconds = watch.lap();
    return rows;
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    Stopwatch watch;
    const ProjectedRows& projected = plan_.projection();
    for (size_t t = 0; t < plan_.weight_rows(); ++t) blindings.push_back(rows.blindings[t]);
    const RowSource weights = [&](const auto& visit) {
      return bits_.for_weights([&](std::span<const int64_t> theta) { return visit(theta); }, prover.pool());
    };
    ProjectionProver projection(projected.shape, weights, rows.blindings_from(0, plan_.weight_rows()));
    ZKAPEX_CHECK(projection.draw(prover.main().challenge("projection"), projected.number, prover.pool()));
    ZKAPEX_TRY(const CommittedRows later, prover.commit_rows("projections", [&](Nonces& nonces) {
      return projection.commit(*generators_, nonces, prover.pool());
    }));
    project_seconds = watch.lap();
    const RuleWeights rules = RuleWeights::draw(plan_, prover.main());
    const std::vector<WindowSegment>& segments = plan_.segments();
    return prover.for_forks("segment", [&](size_t k, Sender& channel) -> Status {
      if (k >= segments.size()) return projection.prove(k - segments.size(), later.all_blindings(), channel, prover);
      ZKAPEX_TRY(SegmentBits part, bits_.segment(segments[k], rules, before_, rows, prover.pool()));
      return prove_segment(statement_, plan_, segments[k], rules, before_, openings_, std::move(part.witness),
                           part.rows, channel, prover);
    });
  }

  SecretVector<Scalar> blindings;  // of Com(θ_u)
  double commit_seconds = 0, project_seconds = 0;

 private:
  const WindowStatement& statement_;
  const WindowPlan& plan_;
  const WindowBits& bits_;
  const ModelReader& before_;
  const ModelOpenings& openings_;
  const Generators* generators_ = nullptr;
};

}  // namespace

Result<WindowProof> prove_window(const WindowStatement& statement, const WindowPlan& plan, const WindowBits& bits,
                                 const ModelReader& before, const ModelOpenings& openings, const Generators& generators,
                                 ThreadPool& pool, ProveOptions options) {
  WindowWitness witness(statement, plan, bits, before, openings);
  const LargeBlocksKept tables;  // those of one segment are as large as those of the next
  ZKAPEX_TRY(Proof proof, prove(WindowRelation(statement, plan), witness, generators, pool, std::move(options)));
  return WindowProof{std::move(proof), std::move(witness.blindings), witness.commit_seconds, witness.project_seconds};
}

}  // namespace zkapex
