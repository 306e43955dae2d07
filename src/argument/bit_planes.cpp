#include "argument/bit_planes.h"

#include <algorithm>
#include <mutex>

#include "algebra/multilinear.h"
#include "argument/eq_weights.h"

namespace zkapex {

namespace {

constexpr size_t kChunk = SumcheckKernels::kChunk;
static_assert(kChunk == EqWeights::kChunk);

const uint64_t* words(const Scalar& s) { return s.montgomery_words().data(); }

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

}  // namespace

BitPlaneProver::BitPlaneProver(BitPlanes planes, unsigned variables, std::span<const Scalar> eq_point, ThreadPool& pool,
                               const SumcheckKernels& kernels)
    : variables_(variables),
      eq_point_(eq_point.begin(), eq_point.end()),
      weights_(std::move(planes.weights)),
      pool_(pool),
      kernels_(kernels),
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

// Of a plane b with its weight, Σ w (b b − b) over pairs with their weights w.
template <class Load>
EqRound BitPlaneProver::sum_chunks(size_t pairs, bool with_one, const Load& load) const {
  const EqWeights eq(eq_point_, variables_, bound_ + 1);
  const Scalar scale = Scalar::power_of_two(kernels_.scale_bits);
  std::vector<Scalar> scaled(eq.low().begin(), eq.low().end());
  for (Scalar& weight : scaled) weight *= scale;
  SumcheckKernels::Weights low;
  kernels_.set_weights(words(scaled[0]), scaled.size(), &low);
  std::array<ScalarAccumulator, 3> total;
  std::mutex merging;
  pool_.for_ranges((pairs + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
    using Product = SumcheckKernels::Product;
    SumcheckKernels::Sums sums{};
    SumcheckKernels::Pairs plane;
    const SumcheckKernels::Pairs* factors[2] = {&plane, &plane};
    for (size_t chunk = first; chunk < last; ++chunk) {
      for (size_t k = 0; k < weights_.size(); ++k) {
        const size_t size = load(k, chunk * kChunk, plane);
        if (size == 0) continue;
        const Scalar weight = weights_[k] * eq.high(chunk), square = weight * scale, linear = -weight;
        kernels_.add_products(Product::kEqTwo, false, with_one, factors, 0, size, &low, words(square), &sums);
        kernels_.add_products(Product::kEqOne, false, with_one, factors, 0, size, &low, words(linear), &sums);
      }
    }
    uint64_t exported[3][9];
    kernels_.export_sums(sums, exported);
    const std::lock_guard lock(merging);
    for (size_t e = 0; e < 3; ++e) total[e].add(ScalarAccumulator(std::to_array(exported[e])).reduce());
  });
  return {total[0].reduce(), total[1].reduce(), total[2].reduce()};
}

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

}  // namespace

EqRound BitPlaneProver::byte_round(bool with_one) const {
  const std::vector<ByteTable> tables = look_ups();
  const size_t span = tables.size();  // bytes an entry
  return sum_chunks(longest(bytes_) / (2 * span), with_one, [&](size_t k, size_t start, SumcheckKernels::Pairs& out) {
    const size_t size = part_of(bytes_[k].size() / (2 * span), start);
    const uint8_t* bytes = bytes_[k].data() + 2 * span * start;
    std::array<Scalar, 2 * kChunk> entries;
    for (size_t i = 0; i < 2 * size; ++i, bytes += span) entries[i] = look_up(tables, bytes);
    const SumcheckKernels::Entries from{SumcheckKernels::Form::kScalars, false, 2 * size, entries.data()};
    kernels_.load(from, nullptr, nullptr, 0, size, nullptr, &out);
    return size;
  });
}

EqRound BitPlaneProver::table_round(bool with_one) const {
  return sum_chunks((longest(tables_) + 1) / 2, with_one, [&](size_t k, size_t start, SumcheckKernels::Pairs& out) {
    const std::vector<Scalar>& table = tables_[k];
    const size_t size = part_of((table.size() + 1) / 2, start);
    const SumcheckKernels::Entries from{SumcheckKernels::Form::kScalars, false, table.size(), table.data()};
    if (size > 0) kernels_.load(from, nullptr, nullptr, start, size, nullptr, &out);
    return size;
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
