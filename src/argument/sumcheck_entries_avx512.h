// The entries of a sumcheck's tables, eight at a time, as they are or folded by one or two challenges. Only for
// *_avx512.cpp files: see sumcheck_kernels_avx512.cpp.
#pragma once

#include "algebra/scalar8_avx512.h"
#include "argument/sumcheck_kernels.h"

#if defined(__x86_64__)

namespace zkapex {
namespace {

// Not inlined: registers are given out anew for each.
#define ZKAPEX_KERNEL [[gnu::noinline]] static

using Entries = SumcheckKernels::Entries;
using Form = SumcheckKernels::Form;
constexpr uint64_t kOneWords[4] = {0xd6ec31748d98951d, 0xc6ef5bf4737dcf70, 0xfffffffffffffffe, 0x0fffffffffffffff};

ZKAPEX_LANES size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Entries i to i + 7 of a list of things of `size` bytes: where it ends before that, of a copy with zeros after its
// end.
ZKAPEX_LANES const unsigned char* eight(const Entries& from, size_t i, size_t size, unsigned char* copy) {
  const auto* values = static_cast<const unsigned char*>(from.values) + size * i;
  if (i + 8 <= from.length) return values;
  const size_t there = size * (from.length - i);
  for (size_t k = 0; k < 8 * size; ++k) copy[k] = k < there ? values[k] : 0;
  return copy;
}

ZKAPEX_LANES __m512i words_at(const unsigned char* p) { return _mm512_loadu_si512(p); }

// The even and the odd ones of sixteen words.
ZKAPEX_LANES void separate_words(__m512i first, __m512i second, __m512i& even, __m512i& odd) {
  even = _mm512_permutex2var_epi64(first, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), second);
  odd = _mm512_permutex2var_epi64(first, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), second);
}

// Entries i to i + 7 of a table of magnitudes and signs, i a multiple of 8 below its length.
ZKAPEX_LANES __m512i signed_words(const Entries& from, size_t i) {
  const auto there = static_cast<__mmask16>((1U << least(8, from.length - i)) - 1);
  const __m512i signs = _mm512_cvtepi8_epi64(_mm_maskz_loadu_epi8(there, from.bytes + i));
  const auto* values = static_cast<const long long*>(from.values);
  if (from.block_bits >= 3) return _mm512_mullo_epi64(signs, _mm512_set1_epi64(values[i >> from.block_bits]));
  const __m512i at = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), all(i));
  return _mm512_mullo_epi64(signs, _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), static_cast<__mmask8>(there),
                                                               _mm512_srlv_epi64(at, all(from.block_bits)), values, 8));
}

// Entries i to i + 7 of values that are chosen one by one.
ZKAPEX_KERNEL Sc8 fetch_one_by_one(const Entries& from, size_t i) {
  uint64_t words[32] = {};
  const auto* values = static_cast<const uint64_t*>(from.values);
  for (size_t s = 0; s < 8 && i + s < from.length; ++s) {
    if (from.form == Form::kChosen && from.bytes[i + s] == 0) continue;
    const size_t at = from.form == Form::kPeriodic ? (i + s) & (from.period - 1) : (i + s) >> from.block_bits;
    __builtin_memcpy(words + 4 * s, values + 4 * at, 4 * sizeof *words);
  }
  return load_scalars(words);
}

// Entries i to i + 7, i a multiple of 8.
ZKAPEX_LANES Sc8 fetch(const Entries& from, size_t i) {
  if (i >= from.length) return zero_scalars();
  alignas(64) unsigned char copy[8 * 32];
  const auto* scalars = static_cast<const uint64_t*>(from.values);
  const bool whole = i + 8 <= from.length;
  switch (from.form) {
    case Form::kScalars:
      return load_scalars(reinterpret_cast<const uint64_t*>(eight(from, i, 32, copy)));
    case Form::kStored:
      return load_octet(scalars + 4 * i);
    case Form::kInt64:
      return from_i64(words_at(eight(from, i, 8, copy)));
    case Form::kInt128: {
      const unsigned char* p = eight(from, i, 16, copy);
      __m512i low, high;
      separate_words(words_at(p), words_at(p + 64), low, high);
      return from_i128(low, high);
    }
    case Form::kBytes: {
      Sc8 out = zero_scalars();
      out.v[0] = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight(from, i, 1, copy))));
      return out;
    }
    case Form::kChosen: {
      if (!whole || from.block_bits < 3) break;
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from.bytes + i));
      const auto chosen = static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes));
      Sc8 out = broadcast_scalar(scalars + 4 * (i >> from.block_bits));
      for (__m512i& limb : out.v) limb = _mm512_maskz_mov_epi64(chosen, limb);
      return out;
    }
    case Form::kSigned:
      return from_i64(signed_words(from, i));
    case Form::kBlocks:
      if (!whole || from.block_bits < 3) break;
      return broadcast_scalar(scalars + 4 * (i >> from.block_bits));
    case Form::kPeriodic:
      if (!whole || from.period < 8) break;
      return load_scalars(scalars + 4 * (i & (from.period - 1)));
  }
  return fetch_one_by_one(from, i);
}

// The even and the odd ones of sixteen neighbours.
ZKAPEX_LANES void separate(const Sc8& first, const Sc8& second, Sc8& even, Sc8& odd) {
  for (int k = 0; k < 5; ++k) separate_words(first.v[k], second.v[k], even.v[k], odd.v[k]);
}

// 2 · octets to octets, folded by a challenge.
ZKAPEX_KERNEL void fold_octets(Sc8* entries, size_t octets, const Sc8* challenge) {
  for (size_t k = 0; k < octets; ++k) {
    Sc8 even, odd;
    separate(entries[2 * k], entries[2 * k + 1], even, odd);
    entries[k] = fold(even, odd, *challenge);
  }
}

// ---- Integers: folded by all challenges at once, Σ_e weight_e v_e over the 2^folds that make up an entry, with few
// limbs each. v is taken as v + 2^(64 kWords − 1), which is not negative; as weights add up to 1, that much is too much
// in the end.

// Weights, in Montgomery form and below 26 l; for one challenge two of them.
ZKAPEX_KERNEL void set_fold_weights(const Sc8* challenges, unsigned folds, Sc8* weights) {
  Sc8 one = broadcast_scalar(kOneWords);
  for (int k = 0; k < 4; ++k) one = one + one;  // from R = 2^256 to 2^260
  weights[0] = one - challenges[0];
  weights[1] = challenges[0];
  if (folds == 1) return;
  weights[3] = challenges[0] * challenges[1];
  weights[2] = challenges[1] - weights[3];
  weights[1] = challenges[0] - weights[3];
  weights[0] = weights[0] - challenges[1] + weights[3];
}

struct Words8 {
  __m512i low, high;  // of eight integers
};
template <unsigned kWords>
ZKAPEX_LANES Words8 load_integers(const Entries& from, size_t i) {
  alignas(64) unsigned char copy[8 * 16];
  Words8 out = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  if (i >= from.length) return out;
  if (kWords == 1 && from.form == Form::kSigned) {
    out.low = signed_words(from, i);
    return out;
  }
  const unsigned char* p = eight(from, i, 8 * kWords, copy);
  if constexpr (kWords == 1) {
    out.low = words_at(p);
  } else {
    separate_words(words_at(p), words_at(p + 64), out.low, out.high);
  }
  return out;
}
template <unsigned kWords>
ZKAPEX_LANES void separate(const Words8& first, const Words8& second, Words8& even, Words8& odd) {
  separate_words(first.low, second.low, even.low, odd.low);
  if constexpr (kWords == 2) separate_words(first.high, second.high, even.high, odd.high);
}

// Eight entries, the first of them from entry i of the table on.
template <unsigned kWords, unsigned kFolds>
ZKAPEX_KERNEL Sc8 weigh(const Entries& from, size_t i, const Sc8* weights) {
  constexpr unsigned kUnit = 1U << kFolds, kLimbs = kWords + 1;
  Words8 given[kUnit], parted[kUnit], terms[kUnit];
  for (unsigned k = 0; k < kUnit; ++k) given[k] = load_integers<kWords>(from, i + 8 * k);
  if constexpr (kFolds == 1) {
    separate<kWords>(given[0], given[1], terms[0], terms[1]);
  } else {
    separate<kWords>(given[0], given[1], parted[0], parted[1]);
    separate<kWords>(given[2], given[3], parted[2], parted[3]);
    separate<kWords>(parted[0], parted[2], terms[0], terms[2]);
    separate<kWords>(parted[1], parted[3], terms[1], terms[3]);
  }
  Sum8 sum = zero_sum();
  const __m512i sign = all(uint64_t{1} << 63);
#pragma GCC unroll 4
  for (unsigned e = 0; e < kUnit; ++e) {
    __m512i limb[3];  // of which a multiplication takes the low 52 bits
    limb[0] = terms[e].low;
    if constexpr (kWords == 1) {
      limb[0] = _mm512_xor_si512(limb[0], sign);
      limb[1] = _mm512_srli_epi64(limb[0], 52);
    } else {
      const __m512i high = _mm512_xor_si512(terms[e].high, sign);
      limb[1] = _mm512_or_si512(_mm512_srli_epi64(limb[0], 52), _mm512_slli_epi64(high, 12));
      limb[2] = _mm512_srli_epi64(high, 40);
    }
#pragma GCC unroll 3
    for (unsigned k = 0; k < kLimbs; ++k) {
#pragma GCC unroll 5
      for (int j = 0; j < 5; ++j) sum.v[k + j] = add_low(sum.v[k + j], limb[k], weights[e].v[j]);
#pragma GCC unroll 5
      for (int j = 0; j < 5; ++j) sum.v[k + j + 1] = add_high(sum.v[k + j + 1], limb[k], weights[e].v[j]);
    }
  }
  reduce_columns(sum);  // below l + 2^127, to which l is added less what was too much: settled
  for (int k = 0; k < 5; ++k) sum.v[5 + k] = _mm512_add_epi64(sum.v[5 + k], all(kOrder8[k]));
  constexpr uint64_t kTooMuch = kWords == 1 ? uint64_t{1} << 11 : uint64_t{1} << 23;  // of limb kWords
  sum.v[5 + kWords] = _mm512_sub_epi64(sum.v[5 + kWords], all(kTooMuch));
  return carried(sum.v + 5);
}

// ---- Bits: what up to four of them are folded to is one of sixteen scalars, which are looked up.

struct BitSums {
  Sc8 of[2];  // by the bits, the first of them least significant
};
// `one` is what a bit that is set stands for.
ZKAPEX_KERNEL void set_bit_sums(const Sc8& one, const Sc8* challenges, unsigned folds, BitSums* out) {
  const unsigned unit = 1U << folds;
  for (unsigned half = 0; half < 2; ++half) {
    Sc8 entries[4];
    for (unsigned k = 0; k < unit; ++k) {
      unsigned set = 0;
      for (unsigned s = 0; s < 8; ++s) {
        const unsigned bits = 8 * half + (8 * k + s) / unit;
        set |= (bits >> (8 * k + s) % unit & 1) << s;
      }
      for (int j = 0; j < 5; ++j) entries[k].v[j] = _mm512_maskz_mov_epi64(static_cast<__mmask8>(set), one.v[j]);
    }
    for (unsigned f = 0; f < folds; ++f) fold_octets(entries, unit >> (f + 1), &challenges[f]);
    out->of[half] = entries[0];
  }
}
ZKAPEX_LANES Sc8 look_up(const BitSums& sums, const Entries& from, size_t i, unsigned folds) {
  const auto* bytes = from.form == Form::kChosen ? from.bytes : static_cast<const uint8_t*>(from.values);
  const size_t count = least(size_t{8} << folds, from.length - least(i, from.length));
  const auto there = static_cast<__mmask32>((uint64_t{1} << count) - 1);
  const __m256i some = _mm256_maskz_loadu_epi8(there, bytes + i);
  const __m512i shift = _mm512_slli_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), folds);
  const __m512i bits = _mm512_and_si512(_mm512_srlv_epi64(all(_mm256_test_epi8_mask(some, some)), shift),
                                        all((uint64_t{1} << (1U << folds)) - 1));
  Sc8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_permutex2var_epi64(sums.of[0].v[k], bits, sums.of[1].v[k]);
  return out;
}

// A table as it is when all challenges have folded it, eight entries at a time.
class Folded {
 public:
  Folded(const Entries& from, const uint64_t* first, const uint64_t* second) : from_(from) {
    for (const uint64_t* challenge : {first, second}) {
      if (challenge != nullptr) challenges_[folds_++] = broadcast_scalar(challenge);
    }
    wide_ = from.form == Form::kInt128;
    integers_ = folds_ > 0 && (from.form == Form::kInt64 || from.form == Form::kSigned || wide_);
    if (integers_) set_fold_weights(challenges_, folds_, weights_);
    const bool chosen = from.form == Form::kChosen && from.block_bits >= 3 + folds_;
    bits_ = folds_ > 0 && (from.form == Form::kBytes || chosen);
  }
  [[nodiscard]] unsigned folds() const { return folds_; }

  // From entry i of the table on.
  void get(size_t i, Sc8* out) {
    if (integers_) {
      *out = wide_ ? (folds_ == 1 ? weigh<2, 1>(from_, i, weights_) : weigh<2, 2>(from_, i, weights_))
                   : (folds_ == 1 ? weigh<1, 1>(from_, i, weights_) : weigh<1, 2>(from_, i, weights_));
      return;
    }
    if (bits_) {
      const size_t block = i >> from_.block_bits;
      if (i >= from_.length) {
        *out = zero_scalars();
        return;
      }
      if (from_.form == Form::kBytes ? !ready_ : !ready_ || block != block_) set_sums(block);
      *out = look_up(sums_, from_, i, folds_);
      return;
    }
    Sc8 entries[4];
    for (size_t k = 0; k < size_t{1} << folds_; ++k) entries[k] = fetch(from_, i + 8 * k);
    for (unsigned f = 0; f < folds_; ++f) fold_octets(entries, size_t{1} << (folds_ - f - 1), &challenges_[f]);
    *out = entries[0];
  }

 private:
  void set_sums(size_t block) {
    Sc8 one = zero_scalars();
    if (from_.form == Form::kBytes) {
      one.v[0] = all(1);
    } else {
      one = broadcast_scalar(static_cast<const uint64_t*>(from_.values) + 4 * block);
    }
    set_bit_sums(one, challenges_, folds_, &sums_);
    ready_ = true;
    block_ = block;
  }

  const Entries& from_;
  unsigned folds_ = 0;
  bool integers_ = false, wide_ = false, bits_ = false;
  Sc8 challenges_[2], weights_[4];
  bool ready_ = false;
  size_t block_ = 0;
  BitSums sums_;
};

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
