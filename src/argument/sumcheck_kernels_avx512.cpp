// The kernels eight pairs at a time (scalar8_avx512.h). No function of this file may run, nor any template or inline
// function be shared with another file, on a machine without AVX-512 IFMA: hence plain pointers and internal linkage
// only.
//
// Entries are words in Montgomery form for R = 2^256, as Scalars have them, and so are sums of products of them,
// divided by R in the end. Challenges and weights come times 2^4, in the form for the R = 2^260 by which vectors
// reduce.
#include "argument/sumcheck_entries_avx512.h"

namespace zkapex {

#if defined(__x86_64__)

namespace {

using Product = SumcheckKernels::Product;
constexpr size_t kOctets = SumcheckKernels::kChunk / 8;

// Stored are octets of scalar8_avx512.h.
struct Pairs8 {
  Sc8 low[kOctets], step[kOctets];
};
struct Sums8 {
  Sum8 sum[3];
};
static_assert(sizeof(Pairs8) == sizeof(SumcheckKernels::Pairs) && sizeof(Sums8) == sizeof(SumcheckKernels::Sums) &&
              kOctets * sizeof(Sc8) == sizeof(SumcheckKernels::Weights));

ZKAPEX_LANES const Pairs8& pairs(const SumcheckKernels::Pairs* p) { return *reinterpret_cast<const Pairs8*>(p->bytes); }

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
  __m512i seen = _mm512_setzero_si512();
  for (size_t k = size * i; k < end; k += 64) {
    const __mmask64 there = end - k < 64 ? (uint64_t{1} << (end - k)) - 1 : ~uint64_t{0};
    seen = _mm512_or_si512(seen, _mm512_maskz_loadu_epi8(there, p + k));
  }
  return _mm512_test_epi64_mask(seen, seen) == 0;
}

// A table of scalars, folded by one challenge: from the table to its pairs without a stop in memory.
template <Form kForm>
ZKAPEX_KERNEL void load_folded(const Entries& from, const Sc8& challenge, size_t start, size_t size, uint64_t* store,
                               Pairs8& to) {
  const auto* scalars = static_cast<const uint64_t*>(from.values);
  const size_t length = (from.length + 1) / 2;  // when folded
  for (size_t p = 0; 8 * p < size; ++p) {
    const size_t entry = 2 * (start + 8 * p);
    Sc8 given[4], folded[2], odd;
    for (size_t k = 0; k < 4; ++k) {
      const size_t i = 2 * entry + 8 * k;
      if (i + 8 > from.length) {
        given[k] = fetch(from, i);
      } else if constexpr (kForm == Form::kStored) {
        given[k] = load_octet(scalars + 4 * i);
      } else {
        given[k] = load_scalars(scalars + 4 * i);
      }
    }
#pragma GCC unroll 2
    for (size_t k = 0; k < 2; ++k) {
      Sc8 zero, one;
      separate(given[2 * k], given[2 * k + 1], zero, one);
      folded[k] = fold(zero, one, challenge);
      if (entry + 8 * k < length) store_octet(folded[k], store + 4 * (entry + 8 * k));
    }
    separate(folded[0], folded[1], to.low[p], odd);
    to.step[p] = odd - to.low[p];
  }
}

void load(const Entries& from, const uint64_t* first, const uint64_t* second, size_t start, size_t size,
          uint64_t* store, SumcheckKernels::Pairs* out) {
  Pairs8& to = *reinterpret_cast<Pairs8*>(out->bytes);
  if (first == nullptr && second != nullptr && !from.sparse) {
    const Sc8 challenge = broadcast_scalar(second);
    if (from.form == Form::kStored) return load_folded<Form::kStored>(from, challenge, start, size, store, to);
    if (from.form == Form::kScalars) return load_folded<Form::kScalars>(from, challenge, start, size, store, to);
  }
  Folded folded(from, first, second);
  const unsigned folds = folded.folds();
  const size_t unit = size_t{1} << folds, length = (from.length + unit - 1) >> folds;  // when folded
  for (size_t p = 0; 8 * p < size; ++p) {
    const size_t entry = 2 * (start + 8 * p);
    Sc8 entries[2];
    const bool skip = from.sparse && all_zero(from, entry << folds, 16 * unit);
    if (skip) {
      entries[0] = entries[1] = zero_scalars();
    } else {
      for (size_t k = 0; k < 2; ++k) folded.get((entry + 8 * k) << folds, &entries[k]);
    }
    for (size_t k = 0; k < 2 && second != nullptr && entry + 8 * k < length; ++k) {
      store_octet(entries[k], store + 4 * (entry + 8 * k));
    }
    if (skip) {
      to.low[p] = to.step[p] = entries[0];
    } else {
      Sc8 odd;
      separate(entries[0], entries[1], to.low[p], odd);
      to.step[p] = odd - to.low[p];
    }
  }
}

void set_weights(const uint64_t* scalars, size_t count, SumcheckKernels::Weights* out) {
  Sc8* to = reinterpret_cast<Sc8*>(out->bytes);
  const Entries from{Form::kScalars, false, count, scalars};
  for (size_t k = 0; k < kOctets; ++k) to[k] = fetch(from, 8 * k);
}

// The octets of pairs that a sum is over.
struct Live {
  size_t count = 0;
  uint8_t at[kOctets];
};

ZKAPEX_LANES bool is_zero(const Sc8& a) {
  __m512i seen = a.v[0];
  for (int k = 1; k < 5; ++k) seen = _mm512_or_si512(seen, a.v[k]);
  return _mm512_test_epi64_mask(seen, seen) == 0;
}

ZKAPEX_LANES Live live_octets(const Pairs8& a, bool sparse, size_t begin, size_t end) {
  Live out;
  for (size_t k = begin / 8; 8 * k < end; ++k) {
    if (!sparse || !is_zero(a.low[k]) || !is_zero(a.step[k])) out.at[out.count++] = static_cast<uint8_t>(k);
  }
  return out;
}

// sum += Σ a b over the live octets.
ZKAPEX_KERNEL void sum_products(const Live& live, const Sc8* a, const Sc8* b, Sum8* sum) {
  SplitSum8 s = zero_split();
  for (size_t k = 0; k < live.count; ++k) add_product(s, a[live.at[k]], b[live.at[k]]);
  const Sum8 all_of_it = joined(s);
  for (int k = 0; k < 10; ++k) sum->v[k] = _mm512_add_epi64(sum->v[k], all_of_it.v[k]);
}

// out = a b
ZKAPEX_KERNEL void multiply(const Live& live, const Sc8* a, const Sc8* b, Sc8* out) {
  for (size_t k = 0; k < live.count; ++k) out[live.at[k]] = a[live.at[k]] * b[live.at[k]];
}
// out = a b + c d
ZKAPEX_KERNEL void multiply_add(const Live& live, const Sc8* a, const Sc8* b, const Sc8* c, const Sc8* d, Sc8* out) {
  for (size_t k = 0; k < live.count; ++k) {
    const size_t i = live.at[k];
    Sum8 s = zero_sum();
    add_product(s, a[i], b[i]);
    add_product(s, c[i], d[i]);
    out[i] = reduce(s);
  }
}
// The values at X = 1.
ZKAPEX_KERNEL void add_steps(const Live& live, const Pairs8& a, Sc8* out) {
  for (size_t k = 0; k < live.count; ++k) out[live.at[k]] = a.low[live.at[k]] + a.step[live.at[k]];
}

// a b c, with b c in parts: low, middle and top coefficients.
ZKAPEX_LANES void sum_three(const Live& live, const Pairs8& a, const Pairs8& b, const Pairs8& c, Sums8& out) {
  Sc8 low[kOctets], middle[kOctets], top[kOctets];
  multiply(live, b.low, c.low, low);
  multiply_add(live, b.low, c.step, b.step, c.low, middle);
  multiply(live, b.step, c.step, top);
  sum_products(live, a.low, low, &out.sum[0]);
  sum_products(live, a.low, top, &out.sum[1]);
  sum_products(live, a.step, middle, &out.sum[1]);
  sum_products(live, a.step, top, &out.sum[2]);
}

ZKAPEX_LANES void sum_eq_two(const Live& live, const Pairs8& a, const Pairs8& b, const Sc8* weight, bool with_one,
                             Sums8& out) {
  Sc8 product[kOctets];
  multiply(live, a.low, b.low, product);
  sum_products(live, product, weight, &out.sum[0]);
  if (with_one) {
    Sc8 at_one[2][kOctets];
    add_steps(live, a, at_one[0]);
    add_steps(live, b, at_one[1]);
    multiply(live, at_one[0], at_one[1], product);
    sum_products(live, product, weight, &out.sum[1]);
  }
  multiply(live, a.step, b.step, product);
  sum_products(live, product, weight, &out.sum[2]);
}

// sum += a · (a scalar)
ZKAPEX_KERNEL void add_multiple(const Sc8& a, const uint64_t* words, Sum8* sum) {
  Sum8 s = *sum;
  add_product(s, a, broadcast_scalar(words));
  tidy(s);
  *sum = s;
}

void add_products(Product product, bool sparse, bool with_one, const SumcheckKernels::Pairs* const* factors,
                  size_t begin, size_t end, const SumcheckKernels::Weights* weights, const uint64_t* outer,
                  SumcheckKernels::Sums* sums) {
  Sums8& total = *reinterpret_cast<Sums8*>(sums->bytes);
  const Pairs8& a = pairs(factors[0]);
  const Live live = live_octets(a, sparse, begin, end);
  const Sc8* weight = reinterpret_cast<const Sc8*>(weights);
  if (product == Product::kOne) {
    Sc8 low = zero_scalars();
    for (size_t k = 0; k < live.count; ++k) low = low + a.low[live.at[k]];
    add_multiple(low, outer != nullptr ? outer : kOneWords, &total.sum[0]);
    return;
  }
  Sums8 part = {{zero_sum(), zero_sum(), zero_sum()}};
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
      Sc8 at_one[kOctets];
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
      add_multiple(reduce(part.sum[e]), outer, &total.sum[e]);
    } else {
      for (int k = 0; k < 10; ++k) total.sum[e].v[k] = _mm512_add_epi64(total.sum[e].v[k], part.sum[e].v[k]);
      tidy(total.sum[e]);
    }
  }
}

void export_sums(const SumcheckKernels::Sums& sums, uint64_t (*words)[9]) {
  const Sums8& total = *reinterpret_cast<const Sums8*>(sums.bytes);
  for (int e = 0; e < 3; ++e) {
    unsigned __int128 rest = 0;
    for (int k = 0; k < 9; ++k) words[e][k] = 0;
    for (unsigned k = 0; k < 10; ++k) {
      rest += static_cast<uint64_t>(_mm512_reduce_add_epi64(total.sum[e].v[k]));
      const auto limb = static_cast<uint64_t>(k < 9 ? rest & kMask52 : rest);
      const unsigned word = 52 * k / 64, shift = 52 * k % 64;
      words[e][word] |= limb << shift;
      if (shift > 12) words[e][word + 1] |= limb >> (64 - shift);
      rest >>= 52;
    }
  }
}

ZKAPEX_KERNEL void multiply_all(Sc8* x, const Sc8* factor) {
  for (size_t k = 0; k < kOctets; ++k) x[k] = x[k] * *factor;
}
void repeat_multiplication(SumcheckKernels::Pairs* p, const uint64_t* factor, size_t rounds) {
  Pairs8& x = *reinterpret_cast<Pairs8*>(p->bytes);
  const Sc8 y = broadcast_scalar(factor);
  for (size_t round = 0; round < rounds; ++round) {
    multiply_all(x.low, &y);
    multiply_all(x.step, &y);
  }
}

constexpr SumcheckKernels kKernels = {
    .set = InstructionSet::kAvx512,
    .scale_bits = 4,
    .lanes = 8,
    .load = load,
    .set_weights = set_weights,
    .add_products = add_products,
    .export_sums = export_sums,
    .repeat_multiplication = repeat_multiplication,
};

}  // namespace

const SumcheckKernels& avx512_sumcheck_kernels() { return kKernels; }

#endif

}  // namespace zkapex
