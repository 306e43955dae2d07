#include "argument/bit_planes.h"

#include <algorithm>
#include <mutex>

#include "algebra/multilinear.h"
#include "argument/eq_weights.h"

namespace zkapex {

namespace {

constexpr size_t kChunk = EqWeights::kChunk;

// The values of a byte's bits at the challenges bound so far: 8 >> bound values.
std::array<Scalar, 8> bind_byte(unsigned byte, std::span<const Scalar> challenges) {
  std::array<Scalar, 8> v;
  for (unsigned j = 0; j < 8; ++j) v[j] = (byte >> j & 1) != 0 ? Scalar::one() : Scalar::zero();
  size_t length = 8;
  for (const Scalar& x : challenges) {
    length /= 2;
    for (size_t j = 0; j < length; ++j) v[j] = v[2 * j] + x * (v[2 * j + 1] - v[2 * j]);
  }
  return v;
}

Scalar defect(const Scalar& b) { return b * (b - Scalar::one()); }  // b² − b

template <class T>
size_t longest(const std::vector<std::vector<T>>& planes) {
  size_t out = 0;
  for (const auto& plane : planes) out = std::max(out, plane.size());
  return out;
}

// How much of a chunk that begins at `start` a list of `count` entries fills.
size_t part_of(size_t count, size_t start) { return std::min(kChunk, count - std::min(count, start)); }

EqRound& operator+=(EqRound& a, const EqRound& b) {
  a.at_zero += b.at_zero;
  a.at_one += b.at_one;
  a.leading += b.leading;
  return a;
}

}  // namespace

BitPlaneProver::BitPlaneProver(BitPlanes planes, unsigned variables, std::span<const Scalar> eq_point, ThreadPool& pool)
    : variables_(variables),
      eq_point_(eq_point.begin(), eq_point.end()),
      weights_(std::move(planes.weights)),
      pool_(pool),
      bytes_(std::move(planes.planes)) {
  if (variables_ <= kHistogramRounds) {
    make_tables();
    return;
  }
  // Whole pairs in every round on bytes, so that no look-up passes the end.
  constexpr size_t kUnit = size_t{2} << (kByteRounds - kHistogramRounds - 1);
  for (std::vector<uint8_t>& plane : bytes_) plane.resize((plane.size() + kUnit - 1) / kUnit * kUnit);
  fill_histogram();
}

void BitPlaneProver::fill_histogram() {
  const EqWeights eq(eq_point_, variables_, kHistogramRounds);
  const size_t count = longest(bytes_);
  std::vector<std::array<ScalarSum, 256>> sums(weights_.size());
  std::mutex merging;
  pool_.for_ranges((count + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
    std::vector<std::array<ScalarSum, 256>> local(weights_.size());
    std::array<Scalar, kChunk> weight;
    for (size_t chunk = first; chunk < last; ++chunk) {
      const size_t start = chunk * kChunk;
      for (size_t i = 0; i < eq.low().size(); ++i) weight[i] = eq.high(chunk) * eq.low()[i];
      for (size_t k = 0; k < weights_.size(); ++k) {
        const size_t size = part_of(bytes_[k].size(), start);
        const uint8_t* byte = bytes_[k].data() + start;
        ScalarSum* sum = local[k].data();
        for (size_t i = 0; i < size; ++i) sum[byte[i]].add(weight[i]);
      }
    }
    const std::lock_guard lock(merging);
    for (size_t k = 0; k < weights_.size(); ++k) {
      for (size_t v = 0; v < 256; ++v) sums[k][v] += local[k][v];
    }
  });
  histogram_.fill(Scalar::zero());
  for (size_t k = 0; k < weights_.size(); ++k) {
    for (size_t v = 0; v < 256; ++v) histogram_[v] += weights_[k] * sums[k][v].reduce();
  }
}

EqRound BitPlaneProver::histogram_round() const {
  // Weights of the pairs inside a byte: eq over the variables bound_ + 1 .. 2, which may be free of eq.
  const size_t pairs = size_t{4} >> bound_;
  std::vector<Scalar> inside(pairs, Scalar::one());
  for (size_t j = 0; j < pairs; ++j) {
    for (unsigned v = bound_ + 1; v < kHistogramRounds; ++v) {
      const unsigned from_top = variables_ - 1 - v;
      if (from_top >= eq_point_.size()) continue;
      const Scalar& p = eq_point_[from_top];
      inside[j] *= (j >> (v - bound_ - 1) & 1) != 0 ? p : Scalar::one() - p;
    }
  }
  EqRound out;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = bind_byte(byte, challenges_);
    EqRound g;
    for (size_t j = 0; j < pairs; ++j) {
      g.at_zero += inside[j] * defect(value[2 * j]);
      g.at_one += inside[j] * defect(value[2 * j + 1]);
      g.leading += inside[j] * (value[2 * j + 1] - value[2 * j]).square();
    }
    out.at_zero += histogram_[byte] * g.at_zero;
    out.at_one += histogram_[byte] * g.at_one;
    out.leading += histogram_[byte] * g.leading;
  }
  return out;
}

template <class ChunkBody>
EqRound BitPlaneProver::sum_chunks(size_t pairs, const ChunkBody& chunk_body) const {
  const EqWeights eq(eq_point_, variables_, bound_ + 1);
  EqRound total;
  std::mutex merging;
  pool_.for_ranges((pairs + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
    EqRound local;
    for (size_t chunk = first; chunk < last; ++chunk) {
      EqRound part = chunk_body(chunk * kChunk, eq.low());
      part.at_zero *= eq.high(chunk);
      part.at_one *= eq.high(chunk);
      part.leading *= eq.high(chunk);
      local += part;
    }
    const std::lock_guard lock(merging);
    total += local;
  });
  return total;
}

namespace {

// Per pair of a chunk: Σ over planes, to be weighed by eq.
struct ChunkSums {
  std::array<ScalarAccumulator, kChunk> at_zero{}, at_one{}, leading{};

  [[nodiscard]] EqRound weigh(std::span<const Scalar> low, bool with_one) const {
    ScalarAccumulator zero, one, top;
    for (size_t i = 0; i < low.size(); ++i) {
      zero.add_product(low[i], at_zero[i].reduce());
      if (with_one) one.add_product(low[i], at_one[i].reduce());
      top.add_product(low[i], leading[i].reduce());
    }
    return {zero.reduce(), one.reduce(), top.reduce()};
  }
};

}  // namespace

std::vector<BitPlaneProver::ByteTable> BitPlaneProver::look_ups() const {
  const auto inside = std::span(challenges_).first(kHistogramRounds);
  const std::vector<Scalar> later(challenges_.rbegin(), challenges_.rend() - kHistogramRounds);
  const std::vector<Scalar> weight = eq_table(later);  // of byte m among those that make up an entry
  std::vector<ByteTable> out(weight.size());
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Scalar value = bind_byte(byte, inside)[0];
    for (size_t m = 0; m < weight.size(); ++m) out[m][byte] = weight[m] * value;
  }
  return out;
}

namespace {

template <class Tables>
Scalar look_up(const Tables& tables, const uint8_t* bytes) {
  Scalar out = tables[0][bytes[0]];
  for (size_t m = 1; m < tables.size(); ++m) out += tables[m][bytes[m]];
  return out;
}

// Adds weight (b² − b) of one plane to a pair's sums.
void add_plane(ChunkSums& sums, size_t i, const Scalar& weight, const Scalar& lo, const Scalar& hi, bool with_one) {
  const Scalar step = hi - lo;
  sums.at_zero[i].add_product(weight * lo, lo - Scalar::one());
  if (with_one) sums.at_one[i].add_product(weight * hi, hi - Scalar::one());
  sums.leading[i].add_product(weight * step, step);
}

}  // namespace

EqRound BitPlaneProver::byte_round(bool with_one) const {
  const std::vector<ByteTable> tables = look_ups();
  const size_t span = tables.size();  // bytes an entry
  return sum_chunks(longest(bytes_) / (2 * span), [&](size_t start, std::span<const Scalar> low) {
    ChunkSums sums;
    for (size_t k = 0; k < weights_.size(); ++k) {
      const uint8_t* bytes = bytes_[k].data() + 2 * span * start;
      const size_t size = part_of(bytes_[k].size() / (2 * span), start);
      for (size_t i = 0; i < size; ++i, bytes += 2 * span) {
        add_plane(sums, i, weights_[k], look_up(tables, bytes), look_up(tables, bytes + span), with_one);
      }
    }
    return sums.weigh(low, with_one);
  });
}

EqRound BitPlaneProver::table_round(bool with_one) const {
  return sum_chunks((longest(tables_) + 1) / 2, [&](size_t start, std::span<const Scalar> low) {
    ChunkSums sums;
    for (size_t k = 0; k < weights_.size(); ++k) {
      const std::vector<Scalar>& table = tables_[k];
      const size_t size = part_of((table.size() + 1) / 2, start);
      for (size_t i = 0; i < size; ++i) {
        const size_t at = 2 * (start + i);
        add_plane(sums, i, weights_[k], table[at], at + 1 < table.size() ? table[at + 1] : Scalar::zero(), with_one);
      }
    }
    return sums.weigh(low, with_one);
  });
}

void BitPlaneProver::make_tables() {
  tables_.resize(weights_.size());
  if (bound_ == 0) {  // too few variables for bytes: each bit is an entry
    for (size_t k = 0; k < weights_.size(); ++k) {
      for (unsigned i = 0; i < 1U << variables_ && !bytes_[k].empty(); ++i) {
        tables_[k].push_back(Scalar::from_u64(bytes_[k][0] >> i & 1));
      }
    }
  } else {
    const std::vector<ByteTable> look = look_ups();
    pool_.for_each(weights_.size(), [&](size_t k) {
      const std::vector<uint8_t> bytes = std::move(bytes_[k]);
      tables_[k].resize(bytes.size() / look.size());
      for (size_t i = 0; i < tables_[k].size(); ++i) tables_[k][i] = look_up(look, bytes.data() + i * look.size());
    });
  }
  bytes_.clear();
}

EqRound BitPlaneProver::round(bool with_one) {
  if (bytes_.empty()) return table_round(with_one);
  return bound_ < kHistogramRounds ? histogram_round() : byte_round(with_one);
}

void BitPlaneProver::bind(const Scalar& x) {
  ++bound_;
  if (bytes_.empty()) {
    pool_.for_each(tables_.size(), [&](size_t k) { fold_low(tables_[k], x); });
    return;
  }
  challenges_.push_back(x);
  if (bound_ == std::min(kByteRounds, variables_)) make_tables();
}

std::vector<Scalar> BitPlaneProver::values() const {
  std::vector<Scalar> out;
  for (const std::vector<Scalar>& table : tables_) out.push_back(table.empty() ? Scalar::zero() : table[0]);
  return out;
}

}  // namespace zkapex
