#include "attestation/window_bits.h"

#include "attestation/public_terms.h"
#include "attestation/real_indices.h"
#include "base/hash.h"

namespace zkapex {

WindowBits::WindowBits(const Deployment& deployment, const WindowPlan& plan)
    : deployment_(deployment),
      plan_(plan),
      bits_(plan.geometry().row, plan.block_planes(),
            std::vector<size_t>(plan.segmentation().begin(), plan.segmentation().end())),
      cap_row_((plan.geometry().row + 63) / 64) {}

Result<WindowBits> WindowBits::make(const Deployment& deployment, const WindowPlan& plan, const ModelReader& before,
                                    const OperatorOutput& after, ThreadPool& pool) {
  WindowBits out(deployment, plan);
  Wide moved, removed;  // Σ x² outside the mask and on it
  for (const WindowSegment& segment : plan.segments()) {
    ZKAPEX_CHECK(out.fill_segment(segment, before, after, moved, removed, pool));
  }
  ZKAPEX_CHECK(out.set_cap(moved, removed));
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

Status WindowBits::fill_segment(const WindowSegment& segment, const ModelReader& before_model,
                                const OperatorOutput& output, Wide& moved, Wide& removed, ThreadPool& pool) {
  std::vector<int64_t> before(segment.size()), after(segment.size());
  ZKAPEX_CHECK(before_model.weights(segment.rows.first_row, before));
  ZKAPEX_CHECK(output.weights(segment.rows.first_row, after));
  const std::vector<uint8_t> free = free_indices(plan_.geometry(), segment.rows, segment.masked);
  const uint64_t mask = ~uint64_t{0} >> (64 - plan_.width());
  std::vector<uint64_t> words(segment.size());
  for (size_t i = 0; i < words.size(); ++i) {
    if (!deployment_.parameters().weights.contains(after[i]))
      return error("a weight does not fit in {} bits", plan_.width());
    if (free[i] == 0 && after[i] != 0) return error("a weight on the mask or on padding is not zero");
    words[i] = static_cast<uint64_t>(after[i]) & mask;
    if (after[i] != before[i]) (free[i] != 0 ? moved : removed) += Wide::square_of(after[i] - before[i]);
  }
  if (plan_.compensates()) {
    ZKAPEX_CHECK(add_slacks(segment, output, words));
  }
  bits_.fill(segment.rows.index, 0, words, pool);
  return Done{};
}

// Bit q S + j of a slot's slack goes to plane w + q at position j of the slot.
Status WindowBits::add_slacks(const WindowSegment& segment, const OperatorOutput& after,
                              std::vector<uint64_t>& words) const {
  const uint64_t stride = plan_.geometry().stride();
  for (uint64_t b = 0; b < segment.rows.slots; ++b) {
    const uint64_t slot = segment.rows.first_slot + b;
    const Wide residual = after.residual(slot);
    if (residual > deployment_.residual_bound()) {
      return error("the block in slot {} is further from the exact operator than the certified error allows", slot);
    }
    const Wide slack = deployment_.residual_bound() - residual;
    for (unsigned k = 0; k < plan_.slack_bits(); ++k) {
      words[b * stride + k % stride] |= uint64_t{slack.bit(k)} << (plan_.width() + k / stride);
    }
  }
  return Done{};
}

Result<CommittedRows> WindowBits::commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) const {
  ZKAPEX_TRY(CommittedRows rows, commit_rows_var(generators, bits_.packed(), nonces, pool));
  if (plan_.compensates()) {
    const PackedRows cap{reinterpret_cast<const uint8_t*>(cap_row_.data()), 1, 8 * cap_row_.size(),
                         plan_.geometry().row, 1};
    ZKAPEX_TRY(const CommittedRows row, commit_rows_var(generators, cap, nonces, pool));
    rows.encoded.push_back(row.encoded[0]);
    rows.blindings.push_back(row.blindings[0]);
  }
  return rows;
}

Sha512::Digest WindowBits::digest() const {
  Sha512 hash;
  for (const WindowSegment& segment : plan_.segments()) {
    const std::span<const uint64_t> words = bits_.segment(segment.rows.index);
    hash.update({reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()});
  }
  return hash.finish();
}

std::vector<int64_t> WindowBits::weights(const WindowSegment& segment, ThreadPool& pool) const {
  const std::vector<uint64_t> words = bits_.integers(segment.rows.index, pool);
  std::vector<int64_t> out(words.size());
  const unsigned shift = 64 - plan_.width();
  for (size_t i = 0; i < words.size(); ++i) out[i] = static_cast<int64_t>(words[i] << shift) >> shift;
  return out;
}

Result<SegmentWitness> WindowBits::witness(const WindowSegment& segment, const ModelReader& before,
                                           ThreadPool& pool) const {
  SegmentWitness out;
  out.planes = bits_.planes(segment.rows.index);
  out.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
  out.theta_u = weights(segment, pool);
  out.x.resize(out.theta_u.size());
  ZKAPEX_CHECK(before.weights(segment.rows.first_row, out.x));
  for (size_t i = 0; i < out.x.size(); ++i) out.x[i] = out.theta_u[i] - out.x[i];
  if (segment.cap) {
    const auto* cap = reinterpret_cast<const uint8_t*>(cap_row_.data());
    out.planes.emplace_back(cap, cap + (plan_.geometry().row + 7) / 8);
    out.cap_slack = to_scalar(cap_slack_);
  }
  return out;
}

SegmentRows WindowBits::rows(const WindowSegment& segment, const CommittedRows& committed) const {
  const size_t first = bits_.first_row(segment.rows.index), count = plan_.block_planes() * segment.rows.rows;
  return {bits_.segment(segment.rows.index), bits_.words_per_row(), committed.blindings_from(first, count), cap_row_,
          plan_.compensates() ? committed.all_blindings().back() : Scalar::zero()};
}

}  // namespace zkapex
