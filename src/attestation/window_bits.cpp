#include "attestation/window_bits.h"

#include <algorithm>

#include "attestation/public_terms.h"
#include "attestation/real_indices.h"
#include "attestation/segment_guide.h"
#include "base/first_error.h"
#include "base/hash.h"

namespace zkapex {

namespace {

// Rows in parallel.
template <class Reader>
Result<UnsetVector<int64_t>> read_segment(const Reader& reader, const WindowSegment& segment, ThreadPool& pool) {
  UnsetVector<int64_t> out(segment.size());
  const size_t n = out.size() / segment.rows.rows;
  FirstError failed;
  pool.for_each(segment.rows.rows, [&](size_t t) {
    failed.note(reader.weights(segment.rows.first_row + t, std::span(out).subspan(t * n, n)));
  });
  ZKAPEX_CHECK(failed.status());
  return out;
}

// Of each row of θ_u, in parallel.
std::vector<Sha512::Digest> row_digests(const WindowSegment& segment, std::span<const int64_t> theta_u,
                                        ThreadPool& pool) {
  std::vector<Sha512::Digest> out(segment.rows.rows);
  const size_t n = theta_u.size() / out.size();
  pool.for_each(out.size(), [&](size_t t) {
    Sha512 hash;
    hash.update({reinterpret_cast<const uint8_t*>(theta_u.data() + t * n), n * sizeof(int64_t)});
    out[t] = hash.finish();
  });
  return out;
}

constexpr size_t kIndicesAtOnce = size_t{1} << 16;  // of indices, by a thread

// In place of θ_p: x = θ_u − θ_p
void subtract_from(std::span<const int64_t> theta_u, std::span<int64_t> theta_p, ThreadPool& pool) {
  pool.for_ranges(theta_p.size(), kIndicesAtOnce, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) theta_p[i] = theta_u[i] - theta_p[i];
  });
}

Status check_zeros(std::span<const int64_t> after, std::span<const uint8_t> free, ThreadPool& pool) {
  FirstError failed;
  pool.for_ranges(after.size(), kIndicesAtOnce, [&](size_t begin, size_t end) {
    int64_t seen = 0;
    for (size_t i = begin; i < end; ++i) seen |= free[i] == 0 ? after[i] : 0;
    if (seen != 0) failed.note(error("a weight on the mask or on padding is not zero"));
  });
  return failed.status();
}

}  // namespace

WindowBits::WindowBits(const Deployment& deployment, const Mask& mask, const WindowPlan& plan,
                       const OperatorOutput& after)
    : deployment_(deployment), mask_(mask), plan_(plan), after_(after) {}

Result<WindowBits> WindowBits::make(const Deployment& deployment, const Mask& mask, const WindowPlan& plan,
                                    const ModelReader& before, const OperatorOutput& after, ThreadPool& pool) {
  WindowBits out(deployment, mask, plan, after);
  const std::vector<WindowSegment>& segments = plan.segments();
  const std::optional<GuideReader> reader = guide_reader(deployment, mask);
  std::vector<RuleSums> total(plan.groups().size());
  Sha512 hash;
  for (const WindowSegment& segment : segments) {
    ZKAPEX_TRY(UnsetVector<int64_t> x, read_segment(before, segment, pool));
    ZKAPEX_TRY(const UnsetVector<int64_t> theta_u, out.weights(segment, pool));
    const std::vector<uint8_t> free = free_indices(plan.geometry(), segment.rows, segment.masked);
    ZKAPEX_CHECK(check_zeros(theta_u, free, pool));
    subtract_from(theta_u, x, pool);
    const SegmentGuide guide(deployment.layout(), reader ? &*reader : nullptr, segment);
    const std::vector<RuleSums> sums = sum_moves(segment, x, free, guide.table(pool), pool);
    for (size_t g = 0; g < sums.size(); ++g) total[segment.groups[g].group] += sums[g];
    for (const Sha512::Digest& digest : row_digests(segment, theta_u, pool)) hash.update(digest);
    ZKAPEX_CHECK(out.check_residuals(segment, hash));
  }
  out.digest_ = hash.finish();
  ZKAPEX_CHECK(out.set_rules(total));
  return out;
}

Status WindowBits::set_rules(const std::vector<RuleSums>& sums) {
  if (!plan_.compensates()) {
    if (sums[0].moved != Wide(0)) return error("mask-only may not move weights outside the mask");
    return Done{};
  }
  ZKAPEX_CHECK(check_rules(deployment_, mask_, sums));
  std::vector<Wide> slacks;
  for (const RuleSums& of_group : sums) {
    for (const Rule& rule : plan_.rules()) {
      const std::optional<Wide> slack = slack_of(rule, of_group);
      if (slack->bit_length() > plan_.slack_bits())
        return error("the {}'s slack does not fit in {} bits", rule.name, plan_.slack_bits());
      slacks.push_back(*slack);
    }
  }
  rules_ = SlackBits(plan_.rule_rows(), std::move(slacks));
  return Done{};
}

Result<UnsetVector<int64_t>> WindowBits::weights(const WindowSegment& segment, ThreadPool& pool) const {
  ZKAPEX_TRY(UnsetVector<int64_t> out, read_segment(after_, segment, pool));
  const FixedPoint& format = deployment_.parameters().weights;
  FirstError failed;
  pool.for_ranges(out.size(), kIndicesAtOnce, [&](size_t begin, size_t end) {
    int64_t low = 0, high = 0;
    for (size_t i = begin; i < end; ++i) {  // which compilers turn into vectors, other than std::ranges::minmax
      low = std::min(low, out[i]);
      high = std::max(high, out[i]);
    }
    if (!format.contains(low) || !format.contains(high))
      failed.note(error("a weight does not fit in {} bits", format.width));
  });
  ZKAPEX_CHECK(failed.status());
  return out;
}

Status WindowBits::check_residuals(const WindowSegment& segment, Sha512& hash) const {
  for (uint64_t b = 0; plan_.compensates() && b < segment.rows.slots; ++b) {
    const uint64_t slot = segment.rows.first_slot + b;
    const Wide residual = after_.residual(slot);
    if (residual > plan_.residual_bound())
      return error("the block in slot {} is further from the exact operator than the certified error allows", slot);
    hash.update({reinterpret_cast<const uint8_t*>(residual.limbs().data()), sizeof(residual.limbs())});
  }
  return Done{};
}

// Bit q S + j of a slot's slack goes to plane q at position j of the slot.
UnsetVector<uint64_t> WindowBits::slacks(const WindowSegment& segment, ThreadPool& pool) const {
  UnsetVector<uint64_t> out(segment.size());
  const uint64_t stride = plan_.geometry().stride();
  pool.for_ranges(segment.rows.slots, kIndicesAtOnce / stride, [&](size_t begin, size_t end) {
    for (uint64_t b = begin; b < end; ++b) {
      const Wide slack = plan_.residual_bound() - after_.residual(segment.rows.first_slot + b);
      std::fill_n(out.begin() + static_cast<ptrdiff_t>(b * stride), stride, 0);
      for (unsigned k = 0; k < plan_.slack_bits(); ++k) {
        out[b * stride + k % stride] |= uint64_t{slack.bit(k)} << (k / stride);
      }
    }
  });
  return out;
}

Status WindowBits::for_weights(const std::function<Status(std::span<const int64_t>)>& visit, ThreadPool& pool) const {
  for (const WindowSegment& segment : plan_.segments()) {
    ZKAPEX_TRY(const UnsetVector<int64_t> theta, weights(segment, pool));
    ZKAPEX_CHECK(visit(theta));
  }
  return Done{};
}

Result<CommittedRows> WindowBits::commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) const {
  const size_t n = plan_.geometry().row;
  CommittedRows out;
  ZKAPEX_CHECK(for_weights(
      [&](std::span<const int64_t> theta) -> Status {
        ZKAPEX_TRY(const CommittedRows rows, commit_integers_var(generators, theta, n, nonces, pool));
        out.append(rows);
        return Done{};
      },
      pool));
  if (!plan_.compensates()) return out;
  // Single bits: all of them fit where one segment's tables do.
  std::vector<size_t> rows;
  for (const WindowSegment& segment : plan_.segments()) rows.push_back(segment.rows.rows);
  BitMatrix bits(n, plan_.slack_planes(), rows);
  for (size_t k = 0; k < rows.size(); ++k) bits.fill(k, 0, slacks(plan_.segments()[k], pool), pool);
  for (const PackedRows& packed : {bits.packed(), rules_.packed()}) {
    ZKAPEX_TRY(const CommittedRows committed, commit_rows_var(generators, packed, nonces, pool));
    out.append(committed);
  }
  return out;
}

Result<SegmentBits> WindowBits::segment(const WindowSegment& segment, const RuleWeights& rules,
                                        const ModelReader& before, const CommittedRows& committed,
                                        ThreadPool& pool) const {
  const size_t rows[] = {segment.rows.rows};
  SegmentBits out{BitMatrix(plan_.geometry().row, plan_.slack_planes(), rows), {}, {}};
  SegmentWitness& witness = out.witness;
  ZKAPEX_TRY(witness.theta_u, weights(segment, pool));
  ZKAPEX_TRY(witness.x, read_segment(before, segment, pool));
  if (plan_.compensates()) {
    out.bits.fill(0, 0, slacks(segment, pool), pool);
    witness.planes = out.bits.planes(0);
  }
  subtract_from(witness.theta_u, witness.x, pool);
  witness.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
  out.rows = {committed.blindings_from(segment.rows.first_row, rows[0]),
              {out.bits.segment(0), out.bits.words_per_row(), plan_.geometry().row,
               committed.blindings_from(plan_.first_bit_row(segment), plan_.slack_planes() * rows[0])},
              &rules_,
              committed.blindings_from(plan_.first_rule_row(), plan_.rule_planes())};
  if (segment.rule_planes > 0) {
    for (std::vector<uint8_t>& plane : rules_.planes()) witness.planes.push_back(std::move(plane));
    witness.rule_slack = rules_.sum(rules.powers);
  }
  return out;
}

}  // namespace zkapex
