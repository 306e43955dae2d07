// The kernels four pairs at a time (scalar4_avx2.h). No function of this file may run, nor any template or inline
// function be shared with another file, on a machine without AVX2: hence plain pointers and internal linkage only.
//
// Entries are words in Montgomery form for R = 2^256, as Scalars have them, and so are sums of products of them,
// divided by R in the end. Challenges and weights come times 2^4, in the form for the R = 2^260 by which vectors
// reduce. Of four pairs, and of their weights, the second and the third have changed places.
#include "algebra/scalar4_avx2.h"
#include "argument/sumcheck_kernels.h"

namespace zkapex {

#if defined(__x86_64__)

namespace {

// Not inlined: registers are given out anew for each.
#define ZKAPEX_KERNEL [[gnu::noinline]] static

using Entries = SumcheckKernels::Entries;
using Form = SumcheckKernels::Form;
using Product = SumcheckKernels::Product;
constexpr size_t kQuads = SumcheckKernels::kChunk / 4;

// Stored are quads of scalar4_avx2.h.
struct Pairs4 {
  Sc4 low[kQuads], step[kQuads];
};
struct Sums4 {
  Sum4 sum[3];
};
static_assert(sizeof(Pairs4) == sizeof(SumcheckKernels::Pairs) && sizeof(Sums4) == sizeof(SumcheckKernels::Sums) &&
              kQuads * sizeof(Sc4) == sizeof(SumcheckKernels::Weights));

ZKAPEX_LANES const Pairs4& pairs(const SumcheckKernels::Pairs* p) { return *reinterpret_cast<const Pairs4*>(p->bytes); }

ZKAPEX_LANES size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Entries i to i + 3 of a list of things of `size` bytes: where it ends before that, of a copy with zeros after its
// end.
ZKAPEX_LANES const unsigned char* four(const Entries& from, size_t i, size_t size, unsigned char* copy) {
  const auto* values = static_cast<const unsigned char*>(from.values) + size * i;
  if (i + 4 <= from.length) return values;
  const size_t there = size * (from.length - i);
  for (size_t k = 0; k < 4 * size; ++k) copy[k] = k < there ? values[k] : 0;
  return copy;
}

ZKAPEX_LANES __m256i bytes_at(const unsigned char* p) {
  int32_t word = 0;
  __builtin_memcpy(&word, p, sizeof word);
  return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(word));
}

// Entries i to i + 3 of a table of magnitudes and signs.
ZKAPEX_LANES __m256i signed_words(const Entries& from, size_t i) {
  unsigned char copy[4] = {};
  uint64_t words[4];
  for (size_t s = 0; s < 4; ++s) {
    const bool there = i + s < from.length;
    if (there) copy[s] = from.bytes[i + s];
    words[s] = there ? static_cast<const uint64_t*>(from.values)[(i + s) >> from.block_bits] : 0;
  }
  int32_t word = 0;
  __builtin_memcpy(&word, copy, sizeof word);
  const __m256i signs = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(word)), zero = _mm256_setzero_si256();
  const __m256i negative = _mm256_cmpgt_epi64(zero, signs);
  const __m256i size =
      _mm256_andnot_si256(_mm256_cmpeq_epi64(signs, zero), words_at(reinterpret_cast<uint8_t*>(words)));
  return _mm256_sub_epi64(_mm256_xor_si256(size, negative), negative);
}

// Entries i to i + 3 of values that are chosen one by one.
ZKAPEX_KERNEL Sc4 fetch_one_by_one(const Entries& from, size_t i) {
  uint64_t words[16] = {};
  const auto* values = static_cast<const uint64_t*>(from.values);
  for (size_t s = 0; s < 4 && i + s < from.length; ++s) {
    if (from.form == Form::kChosen && from.bytes[i + s] == 0) continue;
    const size_t at = from.form == Form::kPeriodic ? (i + s) & (from.period - 1) : (i + s) >> from.block_bits;
    __builtin_memcpy(words + 4 * s, values + 4 * at, 4 * sizeof *words);
  }
  return load_scalars(words);
}

// Entries i to i + 3, i a multiple of 4.
ZKAPEX_LANES Sc4 fetch(const Entries& from, size_t i) {
  if (i >= from.length) return zero_scalars();
  alignas(32) unsigned char copy[4 * 32];
  const auto* scalars = static_cast<const uint64_t*>(from.values);
  const bool whole = i + 4 <= from.length;
  switch (from.form) {
    case Form::kScalars:
      return load_scalars(reinterpret_cast<const uint64_t*>(four(from, i, 32, copy)));
    case Form::kStored:
      return load_quad(scalars + 4 * i);
    case Form::kInt64:
      return from_i64(words_at(four(from, i, 8, copy)));
    case Form::kInt128: {
      const unsigned char* p = four(from, i, 16, copy);
      const __m256i a = words_at(p), b = words_at(p + 32);
      return from_i128(_mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xd8),
                       _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xd8));
    }
    case Form::kBytes: {
      Sc4 out = zero_scalars();
      out.w[0] = bytes_at(four(from, i, 1, copy));
      return out;
    }
    case Form::kChosen: {
      if (!whole || from.block_bits < 2) break;
      const __m256i chosen = _mm256_cmpgt_epi64(bytes_at(from.bytes + i), _mm256_setzero_si256());
      Sc4 out = broadcast_scalar(scalars + 4 * (i >> from.block_bits));
      for (__m256i& limbs : out.w) limbs = _mm256_and_si256(limbs, chosen);
      return out;
    }
    case Form::kSigned:
      return from_i64(signed_words(from, i));
    case Form::kBlocks:
      if (!whole || from.block_bits < 2) break;
      return broadcast_scalar(scalars + 4 * (i >> from.block_bits));
    case Form::kPeriodic:
      if (!whole || from.period < 4) break;
      return load_scalars(scalars + 4 * (i & (from.period - 1)));
  }
  return fetch_one_by_one(from, i);
}

// Whether nothing is in the `count` entries from i on. Asked for of public tables only.
ZKAPEX_LANES bool all_zero(const Entries& from, size_t i, size_t count) {
  const auto* p = static_cast<const unsigned char*>(from.form == Form::kChosen ? from.bytes : from.values);
  size_t size = 1;  // bytes an entry
  if (from.form == Form::kStored) {
    size = 32;
  } else if (from.form != Form::kBytes && from.form != Form::kChosen) {
    return false;
  }
  const size_t end = size * least(from.length, i + count);
  uint64_t seen = 0;
  size_t k = size * i;
  for (; k + 8 <= end; k += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, p + k, sizeof word);
    seen |= word;
  }
  for (; k < end; ++k) seen |= p[k];
  return seen == 0;
}

// The even and the odd ones of eight neighbours, as pairs are kept.
ZKAPEX_LANES void separate(const Sc4& first, const Sc4& second, Sc4& even, Sc4& odd) {
  for (int k = 0; k < 5; ++k) {
    even.w[k] = _mm256_unpacklo_epi64(first.w[k], second.w[k]);
    odd.w[k] = _mm256_unpackhi_epi64(first.w[k], second.w[k]);
  }
}
// Between the order in which pairs are kept and their own.
ZKAPEX_LANES void exchange(Sc4& a) {
  for (__m256i& limbs : a.w) limbs = _mm256_permute4x64_epi64(limbs, 0xd8);
}

// 2 · quads to quads, an even number, folded by a challenge; see fold().
template <int L>
ZKAPEX_KERNEL void fold_quads(Sc4* entries, size_t quads, const Limbs4* challenge) {
  for (size_t k = 0; k < quads; k += 2) {
    Sc4 even[2], odd[2], out[2];
    for (size_t j = 0; j < 2; ++j) separate(entries[2 * (k + j)], entries[2 * (k + j) + 1], even[j], odd[j]);
    fold<L>(even, odd, *challenge, out);
    for (size_t j = 0; j < 2; ++j) {
      exchange(out[j]);
      entries[k + j] = out[j];
    }
  }
}

// Limbs of integers that are given, and of their differences.
ZKAPEX_LANES int limbs_of_form(Form form) {
  return form == Form::kBytes ? 1 : form == Form::kInt64 || form == Form::kSigned ? 3 : form == Form::kInt128 ? 5 : 10;
}
ZKAPEX_KERNEL Limbs4 short_challenge(const uint64_t* words, int limbs) {
  const Sc4 x = broadcast_scalar(words);
  return limbs_of(limbs == 1 ? shifted<9>(x) : limbs == 3 ? shifted<7>(x) : limbs == 5 ? shifted<5>(x) : x);
}
ZKAPEX_LANES void fold_some(Sc4* entries, size_t quads, const Limbs4* challenge, int limbs) {
  switch (limbs) {
    case 1:
      return fold_quads<1>(entries, quads, challenge);
    case 3:
      return fold_quads<3>(entries, quads, challenge);
    case 5:
      return fold_quads<5>(entries, quads, challenge);
    default:
      return fold_quads<10>(entries, quads, challenge);
  }
}

void load(const Entries& from, const uint64_t* first, const uint64_t* second, size_t start, size_t size,
          uint64_t* store, SumcheckKernels::Pairs* out) {
  Pairs4& to = *reinterpret_cast<Pairs4*>(out->bytes);
  Limbs4 challenges[2];
  int limbs[2] = {limbs_of_form(from.form), 10};
  unsigned folds = 0;
  for (const uint64_t* challenge : {first, second}) {
    if (challenge == nullptr) continue;
    challenges[folds] = short_challenge(challenge, limbs[folds]);
    ++folds;
  }
  const size_t unit = size_t{1} << folds, length = (from.length + unit - 1) >> folds;  // when folded
  for (size_t p = 0; 4 * p < size; ++p) {
    const size_t entry = 2 * (start + 4 * p);
    Sc4 entries[8];
    const bool skip = from.sparse && all_zero(from, entry << folds, 8 * unit);
    if (skip) {
      entries[0] = entries[1] = zero_scalars();
    } else {
      for (size_t k = 0; k < 2 * unit; ++k) entries[k] = fetch(from, (entry << folds) + 4 * k);
      for (unsigned f = 0; f < folds; ++f) fold_some(entries, unit >> f, &challenges[f], limbs[f]);
    }
    for (size_t k = 0; k < 2 && second != nullptr && entry + 4 * k < length; ++k) {
      store_quad(entries[k], store + 4 * (entry + 4 * k));
    }
    Sc4 odd;
    separate(entries[0], entries[1], to.low[p], odd);
    to.step[p] = odd - to.low[p];
  }
}

void set_weights(const uint64_t* scalars, size_t count, SumcheckKernels::Weights* out) {
  Sc4* to = reinterpret_cast<Sc4*>(out->bytes);
  const Entries from{Form::kScalars, false, count, scalars};
  for (size_t k = 0; k < kQuads; ++k) {
    to[k] = fetch(from, 4 * k);
    exchange(to[k]);
  }
}

// The quads of pairs that a sum is over.
struct Live {
  size_t count = 0;
  uint8_t at[kQuads];
};

ZKAPEX_LANES bool is_zero(const Sc4& a) {
  __m256i seen = a.w[0];
  for (int k = 1; k < 5; ++k) seen = _mm256_or_si256(seen, a.w[k]);
  return _mm256_testz_si256(seen, seen) != 0;
}

ZKAPEX_LANES Live live_quads(const Pairs4& a, bool sparse, size_t begin, size_t end) {
  Live out;
  for (size_t k = begin / 4; 4 * k < end; ++k) {
    if (!sparse || !is_zero(a.low[k]) || !is_zero(a.step[k])) out.at[out.count++] = static_cast<uint8_t>(k);
  }
  return out;
}

// sum += Σ a b over the live quads.
ZKAPEX_KERNEL void sum_products(const Live& live, const Sc4* a, const Sc4* b, Sum4* sum) {
  for (size_t k = 0; k < live.count; ++k) add_product(*sum, a[live.at[k]], b[live.at[k]]);
}

// out = a b, and where there are c and d, a b + c d.
ZKAPEX_KERNEL void multiply(const Live& live, const Sc4* a, const Sc4* b, const Sc4* c, const Sc4* d, Sc4* out) {
  for (size_t k = 0; k < live.count; k += 2) {
    const size_t at[2] = {live.at[k], live.at[least(k + 1, live.count - 1)]};
    Sum4 sum[2];
    for (int j = 0; j < 2; ++j) {
      set_columns<10>(sum[j], limbs_of(a[at[j]]), limbs_of(b[at[j]]), 1);
      if (c != nullptr) add_product(sum[j], c[at[j]], d[at[j]]);
    }
    reduce_lifted(sum[0], sum[1], out[at[0]], out[at[1]]);
  }
}
// The values at X = 1.
ZKAPEX_KERNEL void add_steps(const Live& live, const Pairs4& a, Sc4* out) {
  for (size_t k = 0; k < live.count; ++k) out[live.at[k]] = a.low[live.at[k]] + a.step[live.at[k]];
}

// a b c, with b c in parts: low, middle and top coefficients.
ZKAPEX_LANES void sum_three(const Live& live, const Pairs4& a, const Pairs4& b, const Pairs4& c, Sums4& out) {
  Sc4 low[kQuads], middle[kQuads], top[kQuads];
  multiply(live, b.low, c.low, nullptr, nullptr, low);
  multiply(live, b.low, c.step, b.step, c.low, middle);
  multiply(live, b.step, c.step, nullptr, nullptr, top);
  sum_products(live, a.low, low, &out.sum[0]);
  sum_products(live, a.low, top, &out.sum[1]);
  sum_products(live, a.step, middle, &out.sum[1]);
  sum_products(live, a.step, top, &out.sum[2]);
}

ZKAPEX_LANES void sum_eq_two(const Live& live, const Pairs4& a, const Pairs4& b, const Sc4* weight, bool with_one,
                             Sums4& out) {
  Sc4 product[kQuads];
  multiply(live, a.low, b.low, nullptr, nullptr, product);
  sum_products(live, product, weight, &out.sum[0]);
  if (with_one) {
    Sc4 at_one[2][kQuads];
    add_steps(live, a, at_one[0]);
    add_steps(live, b, at_one[1]);
    multiply(live, at_one[0], at_one[1], nullptr, nullptr, product);
    sum_products(live, product, weight, &out.sum[1]);
  }
  multiply(live, a.step, b.step, nullptr, nullptr, product);
  sum_products(live, product, weight, &out.sum[2]);
}

constexpr uint64_t kOneWords[4] = {0xd6ec31748d98951d, 0xc6ef5bf4737dcf70, 0xfffffffffffffffe, 0x0fffffffffffffff};

// sum += a · (a scalar)
ZKAPEX_KERNEL void add_multiple(const Sc4& a, const uint64_t* words, Sum4* sum) {
  add_product(*sum, a, broadcast_scalar(words));
  tidy(*sum);
}

// Σ of the live quads, with limbs as they should be: 32 settled ones are below 2^259.
ZKAPEX_KERNEL Sc4 sum_quads(const Live& live, const Sc4* a) {
  Sum4 columns = zero_sum();
  for (size_t k = 0; k < live.count; ++k) {
    for (int i = 0; i < 5; ++i) {  // limbs of 64-bit integers may be negative
      const __m256i limbs = a[live.at[k]].w[i], one = all(1);
      columns.v[10 + 2 * i] = add(columns.v[10 + 2 * i], _mm256_mul_epi32(limbs, one));
      columns.v[11 + 2 * i] = add(columns.v[11 + 2 * i], _mm256_mul_epi32(_mm256_srli_epi64(limbs, 32), one));
    }
  }
  columns.v[10] = add(columns.v[10], all(kLifted));  // which lift() takes off for a carry that does not come
  lift<10>(columns, 1);
  return carried<10>(columns);
}

void add_products(Product product, bool sparse, bool with_one, const SumcheckKernels::Pairs* const* factors,
                  size_t begin, size_t end, const SumcheckKernels::Weights* weights, const uint64_t* outer,
                  SumcheckKernels::Sums* sums) {
  Sums4& total = *reinterpret_cast<Sums4*>(sums->bytes);
  const Pairs4& a = pairs(factors[0]);
  const Live live = live_quads(a, sparse, begin, end);
  const Sc4* weight = reinterpret_cast<const Sc4*>(weights);
  if (product == Product::kOne) {
    add_multiple(sum_quads(live, a.low), outer != nullptr ? outer : kOneWords, &total.sum[0]);
    return;
  }
  Sums4 part = {{zero_sum(), zero_sum(), zero_sum()}};
  switch (product) {
    case Product::kOne:
      break;
    case Product::kTwo:
      sum_products(live, a.low, pairs(factors[1]).low, &part.sum[0]);
      sum_products(live, a.step, pairs(factors[1]).step, &part.sum[1]);
      break;
    case Product::kThree:
      sum_three(live, a, pairs(factors[1]), pairs(factors[2]), part);
      break;
    case Product::kSquare:
      sum_three(live, a, pairs(factors[1]), pairs(factors[1]), part);
      break;
    case Product::kEqOne: {
      sum_products(live, a.low, weight, &part.sum[0]);
      if (!with_one) break;
      Sc4 at_one[kQuads];
      add_steps(live, a, at_one);
      sum_products(live, at_one, weight, &part.sum[1]);
      break;
    }
    case Product::kEqTwo:
      sum_eq_two(live, a, pairs(factors[1]), weight, with_one, part);
      break;
  }
  for (int e = 0; e < 3; ++e) {
    if (outer != nullptr) {
      Sum4 again = part.sum[e];
      Sc4 reduced, unused;
      reduce(part.sum[e], again, 4, reduced, unused);
      add_multiple(reduced, outer, &total.sum[e]);
    } else {
      for (int k = 0; k < 20; ++k) total.sum[e].v[k] = add(total.sum[e].v[k], part.sum[e].v[k]);
      tidy(total.sum[e]);
    }
  }
}

// l · 2^296 is added: a sum may be negative, and is below 2^540 in size.
void export_sums(const SumcheckKernels::Sums& sums, uint64_t (*words)[9]) {
  constexpr uint64_t kOrder[4] = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};
  const Sums4& total = *reinterpret_cast<const Sums4*>(sums.bytes);
  for (int e = 0; e < 3; ++e) {
    __int128 rest = 0;
    for (int k = 0; k < 9; ++k) words[e][k] = 0;
    for (unsigned k = 0; k < 20; ++k) {
      alignas(32) int64_t lanes[4];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), total.sum[e].v[k]);
      for (const int64_t lane : lanes) rest += lane;
      const auto limb = static_cast<uint64_t>(k < 19 ? rest & static_cast<__int128>(kMask26) : rest);
      const unsigned word = 26 * k / 64, shift = 26 * k % 64;
      words[e][word] |= limb << shift;
      if (shift > 38 && k < 19) words[e][word + 1] |= limb >> (64 - shift);
      if (k == 19) words[e][word + 1] |= static_cast<uint64_t>(rest >> (64 - shift));
      rest >>= 26;
    }
    unsigned __int128 carry = 0;
    for (unsigned k = 0; k < 5; ++k) {
      const uint64_t shifted = (k < 4 ? kOrder[k] << 40 : 0) | (k > 0 ? kOrder[k - 1] >> 24 : 0);
      carry += static_cast<unsigned __int128>(words[e][4 + k]) + shifted;
      words[e][4 + k] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
}

ZKAPEX_KERNEL void multiply_all(Sc4* x, const Limbs4* factor) {
  for (size_t k = 0; k < kQuads; k += 2) {
    Sum4 sum[2];
    for (size_t j = 0; j < 2; ++j) set_columns<10>(sum[j], limbs_of(x[k + j]), *factor, 1);
    reduce_lifted(sum[0], sum[1], x[k], x[k + 1]);
  }
}
void repeat_multiplication(SumcheckKernels::Pairs* p, const uint64_t* factor, size_t rounds) {
  Pairs4& x = *reinterpret_cast<Pairs4*>(p->bytes);
  const Limbs4 y = limbs_of(broadcast_scalar(factor));
  for (size_t round = 0; round < rounds; ++round) {
    multiply_all(x.low, &y);
    multiply_all(x.step, &y);
  }
}

constexpr SumcheckKernels kKernels = {
    .set = InstructionSet::kAvx2,
    .scale_bits = 4,
    .lanes = 4,
    .load = load,
    .set_weights = set_weights,
    .add_products = add_products,
    .export_sums = export_sums,
    .repeat_multiplication = repeat_multiplication,
};

}  // namespace

const SumcheckKernels& avx2_sumcheck_kernels() { return kKernels; }

#endif

}  // namespace zkapex
