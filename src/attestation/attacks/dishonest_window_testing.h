// A prover of windows for the tests. Its witness is any bits at all, and a tamper may change what it sends; beyond that
// it is made of the honest prover's parts, so that where a check is missing in the verifier its lies pass.
#pragma once

#include "argument/attacks/dishonest_testing.h"
#include "attestation/public_terms.h"
#include "attestation/real_indices.h"
#include "attestation/window_testing.h"

namespace zkapex::testing {

// What a window commits to, whether or not it meets the relation.
struct WindowWitness {
  std::vector<int64_t> theta_u;  // by padded index
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
class FalseWindow : public Witness {
 public:
  FalseWindow(const TestWindow& window, const WindowStatement& statement, const WindowPlan& plan,
              const WindowWitness& witness, const ModelReader& before, ThreadPool& pool)
      : statement_(statement),
        plan_(plan),
        witness_(witness),
        before_(before),
        openings_{window.model.all_blindings(), window.curvature.all_blindings()},
        bits_(plan.geometry().row, plan.slack_planes(), segments()),
        cap_row_((plan.geometry().row + 63) / 64) {
    if (plan.compensates())
      bits_ = BitMatrix(slack_words(), plan.geometry().row, plan.slack_planes(), segments(), pool);
    for (unsigned i = 0; i < plan.slack_bits(); ++i) {
      cap_row_[i / 64] |= uint64_t{witness.cap_slack.bit(i)} << (i % 64);
    }
  }

  [[nodiscard]] Sha512::Digest digest() const override { return {}; }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    ZKAPEX_TRY(CommittedRows rows,
               commit_integers_var(generators, witness_.theta_u, plan_.geometry().row, nonces, pool));
    if (plan_.compensates()) {
      ZKAPEX_TRY(const CommittedRows bit_rows, commit_rows_var(generators, bits_.packed(), nonces, pool));
      rows.append(bit_rows);
      const auto* cap = reinterpret_cast<const uint8_t*>(cap_row_.data());
      const PackedRows packed{cap, 1, 8 * cap_row_.size(), plan_.geometry().row, 1};
      ZKAPEX_TRY(const CommittedRows cap_row, commit_rows_var(generators, packed, nonces, pool));
      rows.append(cap_row);
    }
    return rows;
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    const ProjectedRows& projected = plan_.projection();
    const RowSource weights = [&](const auto& visit) { return visit(std::span<const int64_t>(witness_.theta_u)); };
    ProjectionProver projection(projected.shape, weights, rows.blindings_from(0, plan_.weight_rows()));
    ZKAPEX_CHECK(projection.draw(prover.main().challenge("projection"), projected.number, prover.pool()));
    ZKAPEX_TRY(const CommittedRows later, prover.commit_rows("projections", [&](Nonces& nonces) {
      return projection.commit(*generators_, nonces, prover.pool());
    }));
    return prover.for_forks("segment", [&](size_t k, Sender& channel) -> Status {
      if (k >= plan_.segments().size())
        return projection.prove(k - plan_.segments().size(), later.all_blindings(), channel, prover);
      const WindowSegment& segment = plan_.segments()[k];
      ZKAPEX_TRY(SegmentWitness part, part_of(segment));
      const size_t count = plan_.slack_planes() * segment.rows.rows;
      const SegmentRows opened{rows.blindings_from(segment.rows.first_row, segment.rows.rows),
                               {bits_.segment(k), bits_.words_per_row(), plan_.geometry().row,
                                rows.blindings_from(plan_.first_bit_row(segment), count)},
                               cap_row_,
                               plan_.compensates() ? rows.blindings[plan_.cap_row()] : Scalar::zero()};
      return prove_segment(statement_, plan_, segment, before_, openings_, std::move(part), opened, channel, prover);
    });
  }

 private:
  [[nodiscard]] std::vector<size_t> segments() const {
    return {plan_.segmentation().begin(), plan_.segmentation().end()};
  }
  [[nodiscard]] std::vector<uint64_t> slack_words() const {
    const size_t s = plan_.geometry().stride();
    std::vector<uint64_t> out(witness_.theta_u.size());
    for (size_t i = 0; i < out.size(); ++i) {
      for (unsigned k = static_cast<unsigned>(i % s); k < plan_.slack_bits(); k += static_cast<unsigned>(s)) {
        out[i] |= uint64_t{witness_.slacks[i / s].bit(k)} << (k / s);
      }
    }
    return out;
  }
  [[nodiscard]] Result<SegmentWitness> part_of(const WindowSegment& segment) const {
    const size_t n = plan_.geometry().row;
    SegmentWitness part;
    if (plan_.compensates()) part.planes = bits_.planes(segment.rows.index);
    part.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
    const auto first = witness_.theta_u.begin() + static_cast<ptrdiff_t>(segment.rows.first_row * n);
    part.theta_u.assign(first, first + static_cast<ptrdiff_t>(segment.size()));
    part.x.resize(segment.size());
    ZKAPEX_CHECK(before_.weights(segment.rows.first_row, part.x));
    for (size_t i = 0; i < part.x.size(); ++i) part.x[i] = part.theta_u[i] - part.x[i];
    if (segment.cap) {
      const auto* cap = reinterpret_cast<const uint8_t*>(cap_row_.data());
      part.planes.emplace_back(cap, cap + n / 8);
      part.cap_slack = to_scalar(witness_.cap_slack);
    }
    return part;
  }

  const WindowStatement& statement_;
  const WindowPlan& plan_;
  const WindowWitness& witness_;
  const ModelReader& before_;
  const ModelOpenings openings_;
  BitMatrix bits_;
  std::vector<uint64_t> cap_row_;
  const Generators* generators_ = nullptr;
};

inline Result<Proof> prove_false_window(const TestWindow& window, const WindowWitness& witness,
                                        const ModelReader& before, Tamper& tamper, ThreadPool& pool) {
  const WindowPlan plan = window.plan();
  const WindowStatement statement = window.statement();
  FalseWindow lies(window, statement, plan, witness, before, pool);
  return prove(WindowRelation(statement, plan), lies, window.generators(), pool,
               {.scratch = {}, .progress = [] {}, .tamper = &tamper});
}

// The window's relation, with the statement and the plan that it refers to.
inline AnyRelation relation(const WindowStatement& statement, const WindowPlan& plan) {
  struct Owned {
    Owned(const WindowStatement& s, const WindowPlan& p) : statement(s), plan(p), relation(statement, plan) {}
    const WindowStatement statement;
    const WindowPlan plan;
    const WindowRelation relation;
  };
  const auto owned = std::make_shared<const Owned>(statement, plan);
  return {owned, &owned->relation};
}

}  // namespace zkapex::testing
