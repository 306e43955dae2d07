#include "attestation/window_bits.h"

#include <algorithm>

#include "attestation/public_terms.h"
#include "attestation/real_indices.h"
#include "base/first_error.h"
#include "base/hash.h"

namespace zkapex {

namespace {

// Rows in parallel.
template <class Reader>
Result<std::vector<int64_t>> read_segment(const Reader& reader, const WindowSegment& segment, ThreadPool& pool) {
  std::vector<int64_t> out(segment.size());
  const size_t n = out.size() / segment.rows.rows;
  FirstError failed;
  pool.for_each(segment.rows.rows, [&](size_t t) {
    failed.note(reader.weights(segment.rows.first_row + t, std::span(out).subspan(t * n, n)));
  });
  ZKAPEX_CHECK(failed.status());
  return out;
}

struct Moves {
  Wide moved, removed;  // Σ x² outside the mask and on it
};

Result<Moves> sum_moves(std::span<const int64_t> before, std::span<const int64_t> after,
                        std::span<const uint8_t> free) {
  Moves out;
  for (size_t i = 0; i < after.size(); ++i) {
    if (free[i] == 0 && after[i] != 0) return error("a weight on the mask or on padding is not zero");
    if (after[i] != before[i]) (free[i] != 0 ? out.moved : out.removed) += Wide::square_of(after[i] - before[i]);
  }
  return out;
}

}  // namespace

WindowBits::WindowBits(const Deployment& deployment, const WindowPlan& plan, const OperatorOutput& after)
    : deployment_(deployment), plan_(plan), after_(after), cap_row_((plan.geometry().row + 63) / 64) {}

Result<WindowBits> WindowBits::make(const Deployment& deployment, const WindowPlan& plan, const ModelReader& before,
                                    const OperatorOutput& after, ThreadPool& pool) {
  WindowBits out(deployment, plan, after);
  const std::vector<WindowSegment>& segments = plan.segments();
  std::vector<Moves> moves(segments.size());
  std::vector<Sha512::Digest> digests(segments.size());
  FirstError failed;
  pool.for_each(segments.size(), [&](size_t k) {
    failed.note([&]() -> Status {
      ZKAPEX_TRY(const std::vector<int64_t> theta_p, read_segment(before, segments[k], pool));
      ZKAPEX_TRY(const std::vector<int64_t> theta_u, out.weights(segments[k], pool));
      const std::vector<uint8_t> free = free_indices(plan.geometry(), segments[k].rows, segments[k].masked);
      ZKAPEX_TRY(moves[k], sum_moves(theta_p, theta_u, free));
      ZKAPEX_TRY(const std::vector<uint64_t> words, out.slacks(segments[k]));
      Sha512 hash;
      hash.update({reinterpret_cast<const uint8_t*>(theta_u.data()), theta_u.size() * sizeof(int64_t)});
      hash.update({reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint64_t)});
      digests[k] = hash.finish();
      return Done{};
    }());
  });
  ZKAPEX_CHECK(failed.status());
  Moves total;
  Sha512 hash;
  for (size_t k = 0; k < segments.size(); ++k) {
    total.moved += moves[k].moved;
    total.removed += moves[k].removed;
    hash.update(digests[k]);
  }
  out.digest_ = hash.finish();
  ZKAPEX_CHECK(out.set_cap(total.moved, total.removed));
  return out;
}

Status WindowBits::set_cap(const Wide& moved, const Wide& removed) {
  if (!plan_.compensates()) {
    if (moved != Wide(0)) return error("mask-only may not move weights outside the mask");
    return Done{};
  }
  const Parameters& parameters = deployment_.parameters();
  const Wide have = Wide(parameters.cap_numerator) * removed, need = Wide(parameters.cap_denominator) * moved;
  if (need > have) {
    return error(
        "compensation moves the model further than the deployment's cap of {}/{} allows; more damping moves less",
        parameters.cap_numerator, parameters.cap_denominator);
  }
  cap_slack_ = have - need;
  if (cap_slack_.bit_length() > plan_.slack_bits())
    return error("the cap's slack does not fit in {} bits", plan_.slack_bits());
  for (unsigned i = 0; i < plan_.slack_bits(); ++i) cap_row_[i / 64] |= uint64_t{cap_slack_.bit(i)} << (i % 64);
  return Done{};
}

Result<std::vector<int64_t>> WindowBits::weights(const WindowSegment& segment, ThreadPool& pool) const {
  ZKAPEX_TRY(std::vector<int64_t> out, read_segment(after_, segment, pool));
  const FixedPoint& format = deployment_.parameters().weights;
  const auto [low, high] = std::ranges::minmax(out);
  if (!format.contains(low) || !format.contains(high)) return error("a weight does not fit in {} bits", format.width);
  return out;
}

// Bit q S + j of a slot's slack goes to plane q at position j of the slot.
Result<std::vector<uint64_t>> WindowBits::slacks(const WindowSegment& segment) const {
  std::vector<uint64_t> out;
  if (!plan_.compensates()) return out;
  out.resize(segment.size());
  const uint64_t stride = plan_.geometry().stride();
  for (uint64_t b = 0; b < segment.rows.slots; ++b) {
    const uint64_t slot = segment.rows.first_slot + b;
    const Wide residual = after_.residual(slot);
    if (residual > deployment_.residual_bound()) {
      return error("the block in slot {} is further from the exact operator than the certified error allows", slot);
    }
    const Wide slack = deployment_.residual_bound() - residual;
    for (unsigned k = 0; k < plan_.slack_bits(); ++k) {
      out[b * stride + k % stride] |= uint64_t{slack.bit(k)} << (k / stride);
    }
  }
  return out;
}

Status WindowBits::for_weights(const std::function<Status(std::span<const int64_t>)>& visit, ThreadPool& pool) const {
  for (const WindowSegment& segment : plan_.segments()) {
    ZKAPEX_TRY(const std::vector<int64_t> theta, weights(segment, pool));
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
  for (size_t k = 0; k < rows.size(); ++k) {
    ZKAPEX_TRY(const std::vector<uint64_t> words, slacks(plan_.segments()[k]));
    bits.fill(k, 0, words, pool);
  }
  const PackedRows cap{reinterpret_cast<const uint8_t*>(cap_row_.data()), 1, 8 * cap_row_.size(), n, 1};
  for (const PackedRows& packed : {bits.packed(), cap}) {
    ZKAPEX_TRY(const CommittedRows committed, commit_rows_var(generators, packed, nonces, pool));
    out.append(committed);
  }
  return out;
}

Result<SegmentBits> WindowBits::segment(const WindowSegment& segment, const ModelReader& before,
                                        const CommittedRows& committed, ThreadPool& pool) const {
  const size_t rows[] = {segment.rows.rows};
  SegmentBits out{BitMatrix(plan_.geometry().row, plan_.slack_planes(), rows), {}, {}};
  SegmentWitness& witness = out.witness;
  ZKAPEX_TRY(witness.theta_u, weights(segment, pool));
  ZKAPEX_TRY(witness.x, read_segment(before, segment, pool));
  if (plan_.compensates()) {
    ZKAPEX_TRY(const std::vector<uint64_t> words, slacks(segment));
    out.bits.fill(0, 0, words, pool);
    witness.planes = out.bits.planes(0);
  }
  for (size_t i = 0; i < witness.x.size(); ++i) witness.x[i] = witness.theta_u[i] - witness.x[i];
  witness.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
  if (segment.cap) {
    const auto* cap = reinterpret_cast<const uint8_t*>(cap_row_.data());
    witness.planes.emplace_back(cap, cap + (plan_.geometry().row + 7) / 8);
    witness.cap_slack = to_scalar(cap_slack_);
  }
  out.rows = {committed.blindings_from(segment.rows.first_row, rows[0]),
              {out.bits.segment(0), out.bits.words_per_row(), plan_.geometry().row,
               committed.blindings_from(plan_.first_bit_row(segment), plan_.slack_planes() * rows[0])},
              cap_row_,
              plan_.compensates() ? committed.blindings[plan_.cap_row()] : Scalar::zero()};
  return out;
}

}  // namespace zkapex
