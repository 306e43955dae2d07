#include "attestation/window_prover.h"

#include "attestation/derived_rows.h"
#include "attestation/segment_prover.h"

namespace zkapex {

namespace {

class WindowWitness : public Witness {
 public:
  WindowWitness(const WindowStatement& statement, const WindowPlan& plan, const WindowBits& bits,
                const ModelReader& before, const ModelOpenings& openings, size_t bits_in_memory)
      : statement_(statement),
        plan_(plan),
        bits_(bits),
        before_(before),
        openings_(openings),
        bits_in_memory_(bits_in_memory) {}

  // Of θ_u; the statement binds θ_p and L by their commitments.
  [[nodiscard]] Sha512::Digest digest() const override { return bits_.digest(); }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    return bits_.commit(bits_in_memory_, generators, nonces, pool);
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    size_t first = 0;
    return prover.for_forks("segment", [&](size_t k, Sender& channel) -> Status {
      const WindowSegment& segment = plan_.segments()[k];
      ZKAPEX_TRY(SegmentBits part, bits_.segment(segment, before_, rows, prover.pool()));
      ZKAPEX_CHECK(prove_segment(statement_, plan_, segment, before_, openings_, std::move(part.witness), part.rows,
                                 channel, prover));
      const size_t count = plan_.block_planes() * segment.rows.rows;
      append_value_blindings(rows.blindings_from(first, count), segment.rows.rows, plan_.width(), blindings);
      first += count;
      return Done{};
    });
  }

  SecretVector<Scalar> blindings;  // of Com(θ_u)

 private:
  const WindowStatement& statement_;
  const WindowPlan& plan_;
  const WindowBits& bits_;
  const ModelReader& before_;
  const ModelOpenings& openings_;
  const size_t bits_in_memory_;
};

}  // namespace

Result<WindowProof> prove_window(const WindowStatement& statement, const WindowPlan& plan, const WindowBits& bits,
                                 const ModelReader& before, const ModelOpenings& openings, size_t bits_in_memory,
                                 const Generators& generators, ThreadPool& pool, ProveOptions options) {
  WindowWitness witness(statement, plan, bits, before, openings, bits_in_memory);
  ZKAPEX_TRY(Proof proof, prove(WindowRelation(statement, plan), witness, generators, pool, std::move(options)));
  return WindowProof{std::move(proof), std::move(witness.blindings)};
}

}  // namespace zkapex
