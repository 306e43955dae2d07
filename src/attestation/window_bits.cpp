#include "attestation/window_bits.h"

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
      ZKAPEX_TRY(const std::vector<uint64_t> words, out.words(segments[k], theta_u));
      Sha512 hash;
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
  return read_segment(after_, segment, pool);
}

Result<std::vector<uint64_t>> WindowBits::words(const WindowSegment& segment, std::span<const int64_t> weights) const {
  const uint64_t mask = ~uint64_t{0} >> (64 - plan_.width());
  std::vector<uint64_t> out(weights.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!deployment_.parameters().weights.contains(weights[i]))
      return error("a weight does not fit in {} bits", plan_.width());
    out[i] = static_cast<uint64_t>(weights[i]) & mask;
  }
  if (plan_.compensates()) {
    ZKAPEX_CHECK(add_slacks(segment, out));
  }
  return out;
}

// Bit q S + j of a slot's slack goes to plane w + q at position j of the slot.
Status WindowBits::add_slacks(const WindowSegment& segment, std::vector<uint64_t>& words) const {
  const uint64_t stride = plan_.geometry().stride();
  for (uint64_t b = 0; b < segment.rows.slots; ++b) {
    const uint64_t slot = segment.rows.first_slot + b;
    const Wide residual = after_.residual(slot);
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

Result<CommittedRows> WindowBits::commit(size_t bits_in_memory, const Generators& generators, Nonces& nonces,
                                         ThreadPool& pool) const {
  const std::vector<WindowSegment>& segments = plan_.segments();
  CommittedRows out;
  const auto append = [&](const PackedRows& packed) -> Status {
    ZKAPEX_TRY(const CommittedRows rows, commit_rows_var(generators, packed, nonces, pool));
    out.append(rows);
    return Done{};
  };
  for (size_t first = 0, last; first < segments.size(); first = last) {
    std::vector<size_t> rows;
    size_t bytes = 0;
    for (last = first; last < segments.size(); ++last) {
      bytes += plan_.block_planes() * segments[last].size() / 8;
      if (last > first && bytes > bits_in_memory) break;
      rows.push_back(segments[last].rows.rows);
    }
    BitMatrix bits(plan_.geometry().row, plan_.block_planes(), rows);
    for (size_t k = first; k < last; ++k) {
      ZKAPEX_TRY(const std::vector<int64_t> theta, weights(segments[k], pool));
      ZKAPEX_TRY(const std::vector<uint64_t> filling, words(segments[k], theta));
      bits.fill(k - first, 0, filling, pool);
    }
    ZKAPEX_CHECK(append(bits.packed()));
  }
  if (plan_.compensates()) {
    ZKAPEX_CHECK(
        append({reinterpret_cast<const uint8_t*>(cap_row_.data()), 1, 8 * cap_row_.size(), plan_.geometry().row, 1}));
  }
  return out;
}

Result<SegmentBits> WindowBits::segment(const WindowSegment& segment, const ModelReader& before,
                                        const CommittedRows& committed, ThreadPool& pool) const {
  const size_t rows[] = {segment.rows.rows};
  SegmentBits out{BitMatrix(plan_.geometry().row, plan_.block_planes(), rows), {}, {}};
  SegmentWitness& witness = out.witness;
  ZKAPEX_TRY(witness.theta_u, weights(segment, pool));
  ZKAPEX_TRY(witness.x, read_segment(before, segment, pool));
  {
    ZKAPEX_TRY(const std::vector<uint64_t> filling, words(segment, witness.theta_u));
    out.bits.fill(0, 0, filling, pool);
  }
  for (size_t i = 0; i < witness.x.size(); ++i) witness.x[i] = witness.theta_u[i] - witness.x[i];
  witness.free = free_indices(plan_.geometry(), segment.rows, segment.masked);
  witness.planes = out.bits.planes(0);
  if (segment.cap) {
    const auto* cap = reinterpret_cast<const uint8_t*>(cap_row_.data());
    witness.planes.emplace_back(cap, cap + (plan_.geometry().row + 7) / 8);
    witness.cap_slack = to_scalar(cap_slack_);
  }
  const size_t first = plan_.block_planes() * segment.rows.first_row, count = plan_.block_planes() * rows[0];
  out.rows = {
      {out.bits.segment(0), out.bits.words_per_row(), plan_.geometry().row, committed.blindings_from(first, count)},
      cap_row_,
      plan_.compensates() ? committed.all_blindings().back() : Scalar::zero()};
  return out;
}

}  // namespace zkapex
