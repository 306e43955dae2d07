#include "attestation/rule_bits.h"

#include <array>

#include "base/bits.h"

namespace zkapex {

namespace {

size_t words_per_row(size_t row_length) { return (row_length + 63) / 64; }

}  // namespace

RuleBits::RuleBits(const WindowPlan& plan, std::vector<Wide> slacks)
    : row_length_(plan.geometry().row),
      planes_(plan.rule_planes()),
      slacks_(std::move(slacks)),
      words_(planes_ * words_per_row(row_length_)) {
  for (size_t k = 0; k < slacks_.size(); ++k) {
    const size_t first = k % plan.rules_per_plane() * plan.slack_bits();
    uint64_t* row = words_.data() + k / plan.rules_per_plane() * words_per_row(row_length_);
    for (unsigned b = 0; b < plan.slack_bits(); ++b) {
      row[(first + b) / 64] |= uint64_t{slacks_[k].bit(b)} << ((first + b) % 64);
    }
  }
}

PackedRows RuleBits::packed() const {
  return {reinterpret_cast<const uint8_t*>(words_.data()), planes_, 8 * words_per_row(row_length_), row_length_, 1};
}

std::span<const uint64_t> RuleBits::row(size_t plane) const {
  return std::span(words_).subspan(plane * words_per_row(row_length_), words_per_row(row_length_));
}

std::vector<std::vector<uint8_t>> RuleBits::planes() const {
  std::vector<std::vector<uint8_t>> out;
  for (size_t p = 0; p < planes_; ++p) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(row(p).data());
    out.emplace_back(bytes, bytes + (row_length_ + 7) / 8);
  }
  return out;
}

Scalar RuleBits::sum(const RuleWeights& rules) const {
  Scalar out;
  for (size_t k = 0; k < slacks_.size(); ++k) out += rules.powers[k] * to_scalar(slacks_[k]);
  return out;
}

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
                                std::span<const int64_t> guide, ThreadPool& pool) {
  const size_t n = x.size() / segment.rows.rows;
  std::vector<RuleSums> rows(segment.rows.rows);
  pool.for_each(rows.size(), [&](size_t t) {
    rows[t] = sum_moves(x.subspan(t * n, n), free.subspan(t * n, n), guide.empty() ? guide : guide.subspan(t * n, n));
  });
  std::vector<RuleSums> out;
  for (const SegmentGroup& group : segment.groups) {
    RuleSums& sum = out.emplace_back();
    for (uint64_t t = group.first_row; t < group.first_row + group.rows; ++t) sum += rows[t];
  }
  return out;
}

}  // namespace zkapex
