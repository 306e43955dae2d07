#include "attestation/rule_terms.h"

#include <array>

namespace zkapex {

RuleSums sum_moves(std::span<const int64_t> x, std::span<const uint8_t> free, std::span<const int64_t> guide) {
  constexpr size_t kAtOnce = 4096;  // |x| and |Δ| are below 2^54: so many products fit 128 bits
  RuleSums out;
  for (size_t first = 0; first < x.size(); first += kAtOnce) {
    const size_t end = std::min(x.size(), first + kAtOnce);
    std::array<uint128, 2> squares{};  // on the mask, outside
    for (size_t i = first; i < end; ++i) {
      const int128 move = x[i];
      squares[free[i]] += static_cast<uint128>(move * move);
    }
    int128 followed = 0;
    uint128 of_guide = 0;
    for (size_t i = first; i < std::min(end, guide.size()); ++i) {
      const int128 delta = guide[i];
      followed += delta * x[i];
      of_guide += static_cast<uint128>(delta * delta);
    }
    out.guide += Wide::from(of_guide);
    out.removed += Wide::from(squares[0]);
    out.moved += Wide::from(squares[1]);
    (followed < 0 ? out.backward : out.forward) +=
        Wide::from(static_cast<uint128>(followed < 0 ? -followed : followed));
  }
  return out;
}

std::vector<RuleSums> sum_moves(const WindowSegment& segment, std::span<const int64_t> x, std::span<const uint8_t> free,
                                const GuideTable& guide, ThreadPool& pool) {
  const size_t n = x.size() / segment.rows.rows, s = guide.empty() ? n : guide.stride();
  std::vector<RuleSums> rows(segment.rows.rows);
  pool.for_each(rows.size(), [&](size_t t) {
    std::vector<int64_t> of_slot(guide.empty() ? 0 : s);
    for (size_t at = t * n; at < (t + 1) * n; at += s) {
      if (!guide.empty()) guide.read(at / s, of_slot);
      rows[t] += sum_moves(x.subspan(at, s), free.subspan(at, s), of_slot);
    }
  });
  std::vector<RuleSums> out;
  for (const SegmentGroup& group : segment.groups) {
    RuleSums& sum = out.emplace_back();
    for (uint64_t t = group.first_row; t < group.first_row + group.rows; ++t) sum += rows[t];
  }
  return out;
}

Scalar weigh(std::span<const RuleSums> sums, const WindowSegment& segment, const RuleWeights& rules) {
  Scalar out;
  for (size_t g = 0; g < sums.size(); ++g) {
    const RuleWeights::Group& weights = rules.of(segment.groups[g]);
    out += weights.removed * to_scalar(sums[g].removed) + weights.moved * to_scalar(sums[g].moved) +
           weights.followed * (to_scalar(sums[g].forward) - to_scalar(sums[g].backward));
  }
  return out;
}

SumcheckTable on_padding(const WindowSegment& segment, std::vector<Scalar> values, unsigned block_bits) {
  std::fill_n(values.begin(), segment.size() >> block_bits, Scalar::zero());
  return {SumcheckTable::Blocks{std::move(values), block_bits}, true};
}

void add_rule_terms(const WindowPlan& plan, const WindowSegment& segment, const RuleWeights& rules, const Scalar& alpha,
                    const RuleTables& tables, ProverTerms& to) {
  const unsigned x = tables.x;
  if (segment.groups.size() == 1) {  // the same weights everywhere
    const RuleWeights::Group& weights = rules.of(segment.groups[0]);
    to.terms.push_back({alpha * weights.moved, {x, x}});
    const Scalar difference = alpha * (weights.removed - weights.moved);
    to.terms.push_back({difference, {tables.held, x, x}});
    if (segment.padded()) to.terms.push_back({difference, {tables.padding, x, x}});
    if (plan.guided()) to.terms.push_back({alpha * weights.followed, {tables.guide, x}});
    return;
  }
  std::vector<Scalar> moved(size_t{1} << segment.row_variables), difference = moved, followed = moved;
  for (const SegmentGroup& rows : segment.groups) {
    const RuleWeights::Group& weights = rules.of(rows);
    const bool last = &rows == &segment.groups.back();
    for (uint64_t t = rows.first_row; t < (last ? moved.size() : rows.first_row + rows.rows); ++t) {
      moved[t] = weights.moved;
      difference[t] = weights.removed - weights.moved;
      followed[t] = weights.followed;
    }
  }
  const unsigned position = plan.position_variables(), first = static_cast<unsigned>(to.tables.size());
  to.tables.push_back({SumcheckTable::Blocks{std::move(moved), position}});
  to.tables.push_back(on_padding(segment, difference, position));
  to.tables.push_back({SumcheckTable::Chosen{std::move(difference), position, tables.held_bytes}, true});
  to.tables.push_back({SumcheckTable::Blocks{std::move(followed), position}});
  for (const unsigned weighted : {first, first + 1, first + 2}) to.terms.push_back({alpha, {weighted, x, x}});
  to.terms.push_back({alpha, {first + 3, tables.guide, x}});
}

}  // namespace zkapex
