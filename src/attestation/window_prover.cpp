#include "attestation/window_prover.h"

#include "attestation/derived_rows.h"
#include "attestation/segment_prover.h"
#include "attestation/window_verifier.h"

namespace zkapex {

namespace {

SecretVector<Scalar> unlearned_blindings(const WindowPlan& plan, const CommittedRows& rows) {
  SecretVector<Scalar> out;
  size_t first = 0;
  for (const WindowSegment& segment : plan.segments()) {
    const size_t count = plan.block_planes() * segment.rows.rows;
    append_value_blindings(rows.blindings_from(first, count), segment.rows.rows, plan.width(), out);
    first += count;
  }
  return out;
}

}  // namespace

Result<WindowProof> prove_window(const WindowStatement& statement, const WindowPlan& plan, const WindowBits& bits,
                                 const ModelReader& before, const ModelOpenings& openings, size_t bits_in_memory,
                                 const Generators& generators, ThreadPool& pool, ProveOptions options) {
  // Hedged by the whole statement as the transcript absorbs it, which binds θ_p and L by their commitments, and by θ_u.
  const Transcript bound = window_transcript(statement, plan, {}, {});
  ZKAPEX_TRY(Nonces nonces, Nonces::create({bound.state(), bits.digest()}));
  ZKAPEX_TRY(CommittedRows rows, bits.commit(bits_in_memory, generators, nonces, pool));

  const ProofShape shape = plan.shape();
  ArgumentProver prover(generators, shape, std::move(nonces), pool, options.tamper, std::move(options.scratch));
  Transcript main = window_transcript(statement, plan, rows.encoded, prover.pad_commitment());
  std::vector<Transcript> forks;
  std::vector<ProverProduct> products;
  for (const WindowSegment& segment : plan.segments()) {
    forks.push_back(main.fork("segment", segment.rows.index));
    Sender channel = prover.fork(segment.rows.index, forks.back());
    ZKAPEX_TRY(SegmentBits part, bits.segment(segment, before, rows, pool));
    ZKAPEX_CHECK(prove_segment(statement, plan, segment, before, openings, std::move(part.witness), part.rows, channel,
                               pool, prover, products));
    options.progress();
  }
  SecretVector<Scalar> blindings = unlearned_blindings(plan, rows);
  ZKAPEX_TRY(Proof proof, prover.finish(main, forks, {}, products, std::move(rows.encoded), [&](const Proof& sealed) {
    Transcript again = window_transcript(statement, plan, sealed.rows, sealed.pads);
    return replay_window(statement, plan, shape, sealed, again);
  }));
  return WindowProof{std::move(proof), std::move(blindings)};
}

}  // namespace zkapex
