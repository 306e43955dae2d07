// A prover of windows for the tests. Its witness is any bits at all, and a tamper may change what it sends; beyond that
// it is made of the honest prover's parts, so that where a check is missing in the verifier its lies pass.
#pragma once

#include "argument/dishonest.h"
#include "attestation/public_terms.h"
#include "attestation/real_indices.h"
#include "attestation/window_testing.h"

namespace zkapex::testing {

// What a window commits to, whether or not it meets the relation.
struct WindowWitness {
  std::vector<int64_t> theta_u;  // by padded index, w bits each
  std::vector<Wide> slacks;      // by slot, NB bits each
  Wide cap_slack;

  // The honest slacks where there are any, zero where a bound is exceeded.
  static WindowWitness of(const TestWindow& window) {
    const Deployment& deployment = *window.deployment;
    const auto difference = [](const Wide& a, const Wide& b) { return a > b ? a - b : Wide(); };
    WindowWitness out{window.theta_u, {}, {}};
    for (uint64_t slot = 0; slot < deployment.layout().slots(); ++slot) {
      out.slacks.push_back(difference(deployment.residual_bound(), window.residual(slot)));
    }
    const auto [have, need] = cap_sides(window);
    out.cap_slack = difference(have, need);
    return out;
  }

  // num Σ_M x² and den Σ_C x².
  static std::pair<Wide, Wide> cap_sides(const TestWindow& window) {
    Wide removed, moved;
    const Layout& layout = window.deployment->layout();
    for (uint64_t c = 0; c < layout.coordinates(); ++c) {
      const uint64_t i = layout.padded_index(c);
      const bool masked = std::ranges::binary_search(window.mask.support, c);
      (masked ? removed : moved) += Wide::square_of(window.theta_u[i] - window.theta_p[i]);
    }
    const Parameters& p = window.deployment->parameters();
    return {Wide(p.cap_numerator) * removed, Wide(p.cap_denominator) * moved};
  }
};

// Proves with `before` as θ_p and L, which need not be what the statement commits to.
inline Result<Proof> prove_false_window(const TestWindow& window, const WindowWitness& witness,
                                        const ModelReader& before, Tamper& tamper, ThreadPool& pool) {
  const WindowPlan plan = window.plan();
  const WindowStatement statement = window.statement();
  const size_t n = plan.geometry().row, s = plan.geometry().stride();
  std::vector<uint64_t> words(witness.theta_u.size());
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<uint64_t>(witness.theta_u[i]) & (~uint64_t{0} >> (64 - plan.width()));
    for (unsigned k = static_cast<unsigned>(i % s); k < plan.slack_bits(); k += static_cast<unsigned>(s)) {
      words[i] |= uint64_t{witness.slacks[i / s].bit(k)} << (plan.width() + k / s);
    }
  }
  const std::vector<size_t> segments(plan.segmentation().begin(), plan.segmentation().end());
  const BitMatrix bits(words, n, plan.block_planes(), segments, pool);
  std::vector<uint64_t> cap_row((n + 63) / 64);
  for (unsigned i = 0; i < plan.slack_bits(); ++i) cap_row[i / 64] |= uint64_t{witness.cap_slack.bit(i)} << (i % 64);

  ZKAPEX_TRY(Nonces nonces, Nonces::create({}));
  ZKAPEX_TRY(CommittedRows rows, commit_rows_var(window.generators(), bits.packed(), nonces, pool));
  if (plan.compensates()) {
    const PackedRows packed{reinterpret_cast<const uint8_t*>(cap_row.data()), 1, 8 * cap_row.size(), n, 1};
    ZKAPEX_TRY(const CommittedRows cap, commit_rows_var(window.generators(), packed, nonces, pool));
    rows.encoded.push_back(cap.encoded[0]);
    rows.blindings.push_back(cap.blindings[0]);
  }
  const ModelOpenings openings{window.model.all_blindings(), window.curvature.all_blindings()};
  ArgumentProver prover(window.generators(), plan.shape(), std::move(nonces), pool, &tamper);
  Transcript main = window_transcript(statement, plan, rows.encoded, prover.pad_commitment());
  std::vector<Transcript> forks;
  std::vector<ProverProduct> products;
  for (const WindowSegment& segment : plan.segments()) {
    forks.push_back(main.fork("segment", segment.rows.index));
    Sender channel = prover.fork(segment.rows.index, forks.back());
    SegmentWitness part;
    part.planes = bits.planes(segment.rows.index);
    part.free = free_indices(plan.geometry(), segment.rows, segment.masked);
    const auto first = witness.theta_u.begin() + static_cast<ptrdiff_t>(segment.rows.first_row * n);
    part.theta_u.assign(first, first + static_cast<ptrdiff_t>(segment.size()));
    part.x.resize(segment.size());
    ZKAPEX_CHECK(before.weights(segment.rows.first_row, part.x));
    for (size_t i = 0; i < part.x.size(); ++i) part.x[i] = part.theta_u[i] - part.x[i];
    if (segment.cap) {
      const auto* cap = reinterpret_cast<const uint8_t*>(cap_row.data());
      part.planes.emplace_back(cap, cap + n / 8);
      part.cap_slack = to_scalar(witness.cap_slack);
    }
    const size_t count = plan.block_planes() * segment.rows.rows;
    const SegmentRows opened{bits.segment(segment.rows.index), bits.words_per_row(),
                             rows.blindings_from(bits.first_row(segment.rows.index), count), cap_row,
                             plan.compensates() ? rows.all_blindings().back() : Scalar::zero()};
    ZKAPEX_CHECK(prove_segment(statement, plan, segment, before, openings, std::move(part), opened, channel, pool,
                               prover, products));
  }
  const ProofShape shape = plan.shape();
  return prover.finish(main, forks, {}, products, std::move(rows.encoded), [&](const Proof& sealed) {
    Transcript again = window_transcript(statement, plan, sealed.rows, sealed.pads);
    return replay_window(statement, plan, shape, sealed, again);
  });
}

// The window as the verifier sees it.
inline Relation relation(const WindowStatement& statement, const WindowPlan& plan) {
  std::vector<EncodedPoint> rows = statement.model;
  if (plan.compensates()) rows.insert(rows.end(), statement.curvature.begin(), statement.curvature.end());
  return {
      plan.shape(),
      [=](const Proof& proof, Transcript::Manifest* manifest, Transcript::Oracle*) {
        return window_transcript(statement, plan, proof.rows, proof.pads, manifest);
      },
      [=](const Proof& proof, Transcript& main) { return replay_window(statement, plan, plan.shape(), proof, main); },
      rows};
}

}  // namespace zkapex::testing
