#include "argument/bit_planes.h"

#include <algorithm>
#include <mutex>

#include "algebra/multilinear.h"
#include "argument/eq_weights.h"

namespace zkapex {

namespace {

constexpr size_t kChunk = EqWeights::kChunk;

// Bit k of in[j] becomes bit j of out[k], for eight words.
void transpose_words(const uint64_t (&in)[8], unsigned planes, uint8_t* out, size_t stride) {
  for (unsigned byte = 0; 8 * byte < planes; ++byte) {
    uint64_t x = 0;
    for (unsigned j = 0; j < 8; ++j) x |= (in[j] >> (8 * byte) & 0xff) << (8 * j);
    // 8×8 bit transposition by exchanging 1×1, 2×2 and 4×4 blocks.
    uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aaULL;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000ccccULL;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0ULL;
    x ^= t ^ (t << 28);
    for (unsigned k = 0; k < 8 && 8 * byte + k < planes; ++k)
      out[(8 * byte + k) * stride] = static_cast<uint8_t>(x >> (8 * k));
  }
}

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

EqRound& operator+=(EqRound& a, const EqRound& b) {
  a.at_zero += b.at_zero;
  a.at_one += b.at_one;
  a.leading += b.leading;
  return a;
}

}  // namespace

BitPlaneProver::BitPlaneProver(const BitPlanes& planes, unsigned variables, std::span<const Scalar> eq_point,
                               ThreadPool& pool)
    : variables_(variables), eq_point_(eq_point.begin(), eq_point.end()), weights_(planes.weights), pool_(pool) {
  if (variables_ > kByteRounds) {
    read_bytes(planes);
    fill_histogram();
    return;
  }
  tables_.resize(weights_.size());
  for (size_t k = 0; k < weights_.size(); ++k) {
    for (const uint64_t word : planes.words) tables_[k].push_back(Scalar::from_u64(word >> k & 1));
  }
}

void BitPlaneProver::read_bytes(const BitPlanes& planes) {
  const size_t count = (planes.words.size() + 7) / 8;
  // One allocation per plane, filled in blocks so that the writes of all planes stay in cache.
  bytes_.assign(weights_.size(), std::vector<uint8_t>(count));
  constexpr size_t kBlock = 512;
  pool_.for_ranges((count + kBlock - 1) / kBlock, 1, [&](size_t first, size_t last) {
    std::vector<uint8_t> block(weights_.size() * kBlock);
    for (size_t start = first * kBlock; start < std::min(count, last * kBlock); start += kBlock) {
      const size_t size = std::min(kBlock, count - start);
      for (size_t i = 0; i < size; ++i) {
        uint64_t words[8] = {};
        const size_t from = 8 * (start + i), to = std::min(planes.words.size(), from + 8);
        std::copy(planes.words.begin() + static_cast<ptrdiff_t>(from),
                  planes.words.begin() + static_cast<ptrdiff_t>(to), words);
        transpose_words(words, static_cast<unsigned>(weights_.size()), block.data() + i, kBlock);
      }
      for (size_t k = 0; k < weights_.size(); ++k) {
        std::copy_n(block.data() + k * kBlock, size, bytes_[k].begin() + static_cast<ptrdiff_t>(start));
      }
    }
  });
}

void BitPlaneProver::fill_histogram() {
  const EqWeights eq(eq_point_, variables_, kByteRounds);
  const size_t count = bytes_.empty() ? 0 : bytes_[0].size();
  std::vector<std::array<ScalarSum, 256>> sums(weights_.size());
  std::mutex merging;
  pool_.for_ranges((count + kChunk - 1) / kChunk, 1, [&](size_t first, size_t last) {
    std::vector<std::array<ScalarSum, 256>> local(weights_.size());
    std::array<Scalar, kChunk> weight;
    for (size_t chunk = first; chunk < last; ++chunk) {
      const size_t start = chunk * kChunk, size = std::min(kChunk, count - start);
      for (size_t i = 0; i < size; ++i) weight[i] = eq.high(chunk) * eq.low()[i];
      for (size_t k = 0; k < weights_.size(); ++k) {
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
    for (unsigned v = bound_ + 1; v < kByteRounds; ++v) {
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
      EqRound part = chunk_body(chunk * kChunk, std::min(kChunk, pairs - chunk * kChunk), eq.low());
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

  [[nodiscard]] EqRound weigh(size_t size, std::span<const Scalar> low, bool with_one) const {
    ScalarAccumulator zero, one, top;
    for (size_t i = 0; i < size; ++i) {
      zero.add_product(low[i], at_zero[i].reduce());
      if (with_one) one.add_product(low[i], at_one[i].reduce());
      top.add_product(low[i], leading[i].reduce());
    }
    return {zero.reduce(), one.reduce(), top.reduce()};
  }
};

}  // namespace

EqRound BitPlaneProver::byte_round(bool with_one) const {
  ByteTable value;
  for (unsigned byte = 0; byte < 256; ++byte) value[byte] = bind_byte(byte, challenges_)[0];
  std::vector<ByteTable> weighted(weights_.size()), defects(weights_.size());
  pool_.for_each(weights_.size(), [&](size_t k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      weighted[k][byte] = weights_[k] * value[byte];
      defects[k][byte] = weights_[k] * defect(value[byte]);
    }
  });
  const size_t count = bytes_[0].size();
  return sum_chunks((count + 1) / 2, [&](size_t start, size_t size, std::span<const Scalar> low) {
    ChunkSums sums;
    for (size_t k = 0; k < weights_.size(); ++k) {
      const std::vector<uint8_t>& bytes = bytes_[k];
      for (size_t i = 0; i < size; ++i) {
        const size_t at = 2 * (start + i);
        const uint8_t lo = bytes[at], hi = at + 1 < count ? bytes[at + 1] : 0;
        sums.at_zero[i].add(defects[k][lo]);
        if (with_one) sums.at_one[i].add(defects[k][hi]);
        sums.leading[i].add_product(weighted[k][hi] - weighted[k][lo], value[hi] - value[lo]);
      }
    }
    return sums.weigh(size, low, with_one);
  });
}

EqRound BitPlaneProver::table_round(bool with_one) const {
  const size_t length = tables_.empty() ? 0 : tables_[0].size();
  return sum_chunks((length + 1) / 2, [&](size_t start, size_t size, std::span<const Scalar> low) {
    ChunkSums sums;
    for (size_t k = 0; k < weights_.size(); ++k) {
      const std::vector<Scalar>& table = tables_[k];
      const Scalar& weight = weights_[k];
      for (size_t i = 0; i < size; ++i) {
        const size_t at = 2 * (start + i);
        const Scalar& lo = table[at];
        const Scalar hi = at + 1 < length ? table[at + 1] : Scalar::zero();
        const Scalar step = hi - lo;
        sums.at_zero[i].add_product(weight * lo, lo - Scalar::one());
        if (with_one) sums.at_one[i].add_product(weight * hi, hi - Scalar::one());
        sums.leading[i].add_product(weight * step, step);
      }
    }
    return sums.weigh(size, low, with_one);
  });
}

EqRound BitPlaneProver::round(bool with_one) {
  if (!tables_.empty()) return table_round(with_one);
  return bound_ < kByteRounds ? histogram_round() : byte_round(with_one);
}

void BitPlaneProver::bind(const Scalar& x) {
  if (!tables_.empty()) {
    pool_.for_each(tables_.size(), [&](size_t k) { fold_low(tables_[k], x); });
  } else if (bound_ < kByteRounds) {
    challenges_.push_back(x);
  } else {
    ByteTable even, odd;  // the value of a pair of bytes is even[lo] + odd[hi]
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Scalar value = bind_byte(byte, challenges_)[0];
      odd[byte] = x * value;
      even[byte] = value - odd[byte];
    }
    tables_.resize(weights_.size());
    pool_.for_each(weights_.size(), [&](size_t k) {
      const std::vector<uint8_t> bytes = std::move(bytes_[k]);
      tables_[k].resize((bytes.size() + 1) / 2);
      for (size_t i = 0; i < tables_[k].size(); ++i) {
        tables_[k][i] = even[bytes[2 * i]];
        if (2 * i + 1 < bytes.size()) tables_[k][i] += odd[bytes[2 * i + 1]];
      }
    });
    bytes_.clear();
  }
  ++bound_;
}

std::vector<Scalar> BitPlaneProver::values() const {
  std::vector<Scalar> out;
  for (const std::vector<Scalar>& table : tables_) out.push_back(table.empty() ? Scalar::zero() : table[0]);
  return out;
}

}  // namespace zkapex
