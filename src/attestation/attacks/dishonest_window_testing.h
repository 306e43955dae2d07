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
  std::vector<Wide> rule_slacks;

  // The honest slacks where there are any, zero where a bound is exceeded.
  static WindowWitness of(const TestWindow& window) {
    const WindowPlan plan = window.plan();
    const auto difference = [](const Wide& a, const Wide& b) { return a > b ? a - b : Wide(); };
    WindowWitness out{window.theta_u, {}, {}};
    for (uint64_t slot = 0; slot < window.deployment->layout().slots(); ++slot) {
      out.slacks.push_back(difference(plan.residual_bound(), window.residual(slot)));
    }
    for (const RuleSums& sums : window.rule_sums()) {
      for (const Rule& rule : plan.rules()) out.rule_slacks.push_back(slack_of(rule, sums).value_or(Wide()));
    }
    return out;
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
        rules_(plan.rule_rows(), witness.rule_slacks) {
    if (plan.compensates())
      bits_ = BitMatrix(slack_words(), plan.geometry().row, plan.slack_planes(), segments(), pool);
  }

  [[nodiscard]] Sha512::Digest digest() const override { return {}; }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    generators_ = &generators;
    ZKAPEX_TRY(CommittedRows rows,
               commit_integers_var(generators, witness_.theta_u, plan_.geometry().row, nonces, pool));
    if (plan_.compensates()) {
      ZKAPEX_TRY(const CommittedRows bit_rows, commit_rows_var(generators, bits_.packed(), nonces, pool));
      rows.append(bit_rows);
      ZKAPEX_TRY(const CommittedRows rule_rows, commit_rows_var(generators, rules_.packed(), nonces, pool));
      rows.append(rule_rows);
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
    const RuleWeights weights_of_rules = RuleWeights::draw(plan_, prover.main());
    return prover.for_forks("segment", [&](size_t k, Sender& channel) -> Status {
      if (k >= plan_.segments().size())
        return projection.prove(k - plan_.segments().size(), later.all_blindings(), channel, prover);
      const WindowSegment& segment = plan_.segments()[k];
      ZKAPEX_TRY(SegmentWitness part, part_of(segment, weights_of_rules));
      const size_t count = plan_.slack_planes() * segment.rows.rows;
      const SegmentRows opened{rows.blindings_from(segment.rows.first_row, segment.rows.rows),
                               {bits_.segment(k), bits_.words_per_row(), plan_.geometry().row,
                                rows.blindings_from(plan_.first_bit_row(segment), count)},
                               &rules_,
                               rows.blindings_from(plan_.first_rule_row(), plan_.rule_planes())};
      return prove_segment(statement_, plan_, segment, weights_of_rules, before_, openings_, std::move(part), opened,
                           channel, prover);
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
  [[nodiscard]] Result<SegmentWitness> part_of(const WindowSegment& segment, const RuleWeights& rules) const {
    const size_t n = plan_.geometry().row;
    SegmentWitness part;
    if (plan_.compensates()) part.planes = bits_.planes(segment.rows.index);
    part.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
    const auto first = witness_.theta_u.begin() + static_cast<ptrdiff_t>(segment.rows.first_row * n);
    part.theta_u.assign(first, first + static_cast<ptrdiff_t>(segment.size()));
    part.x.resize(segment.size());
    ZKAPEX_CHECK(before_.weights(segment.rows.first_row, part.x));
    for (size_t i = 0; i < part.x.size(); ++i) part.x[i] = part.theta_u[i] - part.x[i];
    if (segment.rule_planes > 0) {
      for (std::vector<uint8_t>& plane : rules_.planes()) part.planes.push_back(std::move(plane));
      part.rule_slack = rules_.sum(rules.powers);
    }
    return part;
  }

  const WindowStatement& statement_;
  const WindowPlan& plan_;
  const WindowWitness& witness_;
  const ModelReader& before_;
  const ModelOpenings openings_;
  BitMatrix bits_;
  SlackBits rules_;
  const Generators* generators_ = nullptr;
};

inline Result<Proof> prove_false_window(const TestWindow& window, const WindowWitness& witness,
                                        const ModelReader& before, Tamper& tamper, ThreadPool& pool) {
  const WindowPlan plan = window.plan();
  const WindowStatement statement = window.statement();
  FalseWindow lies(window, statement, plan, witness, before, pool);
  return prove(WindowRelation(statement, plan), lies, window.generators(), pool,
               {.scratch = {}, .progress = go_on, .tamper = &tamper});
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
