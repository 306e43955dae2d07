#include "argument/sumcheck_kernels.h"

#include <algorithm>
#include <array>

#include "argument/sumcheck_table.h"

namespace zkapex {

namespace {

constexpr size_t kMostPairs = SumcheckKernels::kChunk;
using Form = SumcheckKernels::Form;

// Kernels of this file keep Scalars wherever they may keep something of their own, and ScalarAccumulators in sums.
struct ScalarPairs {
  std::array<Scalar, kMostPairs> low, step;
};
using Part = std::array<ScalarAccumulator, 3>;
static_assert(sizeof(ScalarPairs) <= sizeof(SumcheckKernels::Pairs) && sizeof(Part) <= sizeof(SumcheckKernels::Sums));

ScalarPairs& pairs(SumcheckKernels::Pairs* p) { return *reinterpret_cast<ScalarPairs*>(p->bytes); }
const ScalarPairs& pairs(const SumcheckKernels::Pairs* p) { return *reinterpret_cast<const ScalarPairs*>(p->bytes); }
Scalar scalar(const uint64_t* words) { return Scalar::from_montgomery_words({words[0], words[1], words[2], words[3]}); }

Scalar as_scalar(const Scalar& entry) { return entry; }
Scalar as_scalar(int128 entry) { return unscaled(entry); }

using StoredOver [[gnu::may_alias]] = int128;  // by scalars, in place

// body(read, length), where read(i) is entry i as it is given.
template <class Body>
void with_entries(const SumcheckKernels::Entries& from, const Body& body) {
  const auto* scalars = static_cast<const Scalar*>(from.values);
  switch (from.form) {
    case Form::kScalars:
    case Form::kStored:
      return body([&](size_t i) { return scalars[i]; });
    case Form::kInt64:
      return body([&](size_t i) { return static_cast<const int64_t*>(from.values)[i]; });
    case Form::kInt128:
      return body([&](size_t i) -> int128 { return static_cast<const StoredOver*>(from.values)[i]; });
    case Form::kBytes:
      return body([&](size_t i) { return static_cast<const uint8_t*>(from.values)[i]; });
    case Form::kChosen:
      return body([&](size_t i) { return from.bytes[i] != 0 ? scalars[i >> from.block_bits] : Scalar::zero(); });
    case Form::kSigned:
      return body([&](size_t i) {
        return static_cast<const int64_t*>(from.values)[i >> from.block_bits] * static_cast<int8_t>(from.bytes[i]);
      });
    case Form::kBlocks:
      return body([&](size_t i) { return scalars[i >> from.block_bits]; });
    case Form::kPeriodic:
      return body([&](size_t i) { return scalars[i & (from.period - 1)]; });
  }
}

// Entry i of a table of which `read` has the first `length` entries, folded.
template <class Read>
Scalar folded_entry(const Read& read, size_t length, bool sparse, const PairFolder& fold, size_t i) {
  if (2 * i >= length) return Scalar::zero();
  using Entry = std::decay_t<decltype(read(0))>;
  const Entry zero = read(2 * i), one = 2 * i + 1 < length ? read(2 * i + 1) : Entry{};
  if (sparse && zero == Entry{} && one == Entry{}) return Scalar::zero();
  return fold(zero, one);
}

template <class Read>
void split(const Read& entry, size_t start, size_t size, ScalarPairs& out) {
  for (size_t i = 0; i < size; ++i) {
    const size_t at = 2 * (start + i);
    out.low[i] = entry(at);
    out.step[i] = entry(at + 1) - out.low[i];
  }
}

template <class Read>
void load_entries(const Read& read, size_t length, bool sparse, const uint64_t* challenge, size_t start, size_t size,
                  uint64_t* store, ScalarPairs& out) {
  if (challenge == nullptr) {
    split([&](size_t i) { return i < length ? as_scalar(read(i)) : Scalar::zero(); }, start, size, out);
    return;
  }
  const PairFolder fold(scalar(challenge));
  auto* to = reinterpret_cast<Scalar*>(store);
  split(
      [&](size_t i) {
        const Scalar entry = folded_entry(read, length, sparse, fold, i);
        if (2 * i < length) to[i] = entry;
        return entry;
      },
      start, size, out);
}

void load(const SumcheckKernels::Entries& from, const uint64_t* first, const uint64_t* second, size_t start,
          size_t size, uint64_t* store, SumcheckKernels::Pairs* out) {
  with_entries(from, [&](const auto& read) {
    if (first == nullptr) {
      load_entries(read, from.length, from.sparse, second, start, size, store, pairs(out));
      return;
    }
    const PairFolder fold(scalar(first));
    const auto once = [&](size_t i) { return folded_entry(read, from.length, from.sparse, fold, i); };
    load_entries(once, (from.length + 1) / 2, from.sparse, second, start, size, store, pairs(out));
  });
}

void set_weights(const uint64_t* scalars, size_t count, SumcheckKernels::Weights* out) {
  std::copy_n(scalars, 4 * count, reinterpret_cast<uint64_t*>(out->bytes));
}

void two_factors(const ScalarPairs& a, const ScalarPairs& b, size_t begin, size_t end, Part& part) {
  for (size_t i = begin; i < end; ++i) {
    part[0].add_product(a.low[i], b.low[i]);
    part[1].add_product(a.step[i], b.step[i]);
  }
}

void three_factors(const ScalarPairs& a, const ScalarPairs& b, const ScalarPairs& c, size_t begin, size_t end,
                   Part& part) {
  for (size_t i = begin; i < end; ++i) {
    const Scalar top = b.step[i] * c.step[i];
    part[0].add_product(a.low[i], b.low[i] * c.low[i]);
    part[1].add_product(a.low[i], top);
    part[1].add_product(a.step[i], b.low[i] * c.step[i] + b.step[i] * c.low[i]);
    part[2].add_product(a.step[i], top);
  }
}

bool both_zero(const ScalarPairs& a, size_t i) { return a.low[i].is_zero() && a.step[i].is_zero(); }

// a b²
void factor_and_square(const ScalarPairs& a, const ScalarPairs& b, size_t begin, size_t end, bool sparse, Part& part) {
  for (size_t i = begin; i < end; ++i) {
    if (sparse && both_zero(a, i)) continue;
    const Scalar square = b.step[i] * b.step[i], cross = b.low[i] * b.step[i];
    part[0].add_product(a.low[i], b.low[i] * b.low[i]);
    part[1].add_product(a.low[i], square);
    part[1].add_product(a.step[i], cross + cross);
    part[2].add_product(a.step[i], square);
  }
}

void eq_one_factor(const ScalarPairs& a, size_t begin, size_t end, const Scalar* weight, bool with_one, Part& part) {
  for (size_t i = begin; i < end; ++i) {
    part[0].add_product(weight[i], a.low[i]);
    if (with_one) part[1].add_product(weight[i], a.low[i] + a.step[i]);
  }
}

void eq_two_factors(const ScalarPairs& a, const ScalarPairs& b, size_t begin, size_t end, const Scalar* weight,
                    bool with_one, bool sparse, Part& part) {
  for (size_t i = begin; i < end; ++i) {
    if (sparse && both_zero(a, i)) continue;
    part[0].add_product(weight[i], a.low[i] * b.low[i]);
    if (with_one) part[1].add_product(weight[i], (a.low[i] + a.step[i]) * (b.low[i] + b.step[i]));
    part[2].add_product(weight[i], a.step[i] * b.step[i]);
  }
}

void add_products(SumcheckKernels::Product product, bool sparse, bool with_one,
                  const SumcheckKernels::Pairs* const* factors, size_t begin, size_t end,
                  const SumcheckKernels::Weights* weights, const uint64_t* outer, SumcheckKernels::Sums* sums) {
  using Product = SumcheckKernels::Product;
  Part part{};
  const ScalarPairs& a = pairs(factors[0]);
  const auto* weight = reinterpret_cast<const Scalar*>(weights);
  switch (product) {
    case Product::kOne:
      for (size_t i = begin; i < end; ++i) part[0].add(a.low[i]);
      break;
    case Product::kTwo:
      two_factors(a, pairs(factors[1]), begin, end, part);
      break;
    case Product::kThree:
      three_factors(a, pairs(factors[1]), pairs(factors[2]), begin, end, part);
      break;
    case Product::kSquare:
      factor_and_square(a, pairs(factors[1]), begin, end, sparse, part);
      break;
    case Product::kEqOne:
      eq_one_factor(a, begin, end, weight, with_one, part);
      break;
    case Product::kEqTwo:
      eq_two_factors(a, pairs(factors[1]), begin, end, weight, with_one, sparse, part);
      break;
  }
  Part& total = *reinterpret_cast<Part*>(sums->bytes);
  for (size_t e = 0; e < 3; ++e) {
    if (outer == nullptr) {
      total[e] += part[e];
    } else {
      total[e].add_product(scalar(outer), part[e].reduce());
    }
  }
}

void export_sums(const SumcheckKernels::Sums& sums, uint64_t (*words)[9]) {
  const Part& total = *reinterpret_cast<const Part*>(sums.bytes);
  for (size_t e = 0; e < 3; ++e) std::copy_n(total[e].words().data(), 9, words[e]);
}

void repeat_multiplication(SumcheckKernels::Pairs* p, const uint64_t* factor, size_t rounds) {
  const Scalar y = scalar(factor);
  for (size_t round = 0; round < rounds; ++round) {
    for (Scalar& x : pairs(p).low) x = x * y;
    for (Scalar& x : pairs(p).step) x = x * y;
  }
}

constexpr SumcheckKernels kPortable = {
    .set = InstructionSet::kPortable,
    .scale_bits = 0,
    .lanes = 1,
    .load = load,
    .set_weights = set_weights,
    .add_products = add_products,
    .export_sums = export_sums,
    .repeat_multiplication = repeat_multiplication,
};

}  // namespace

#if defined(__x86_64__)
const SumcheckKernels& avx2_sumcheck_kernels();    // sumcheck_kernels_avx2.cpp
const SumcheckKernels& avx512_sumcheck_kernels();  // sumcheck_kernels_avx512.cpp
#endif

const SumcheckKernels& sumcheck_kernels([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::kAvx512) return avx512_sumcheck_kernels();
  if (set == InstructionSet::kAvx2) return avx2_sumcheck_kernels();
#endif
  return kPortable;
}

const SumcheckKernels& sumcheck_kernels() { return sumcheck_kernels(instruction_set()); }

}  // namespace zkapex
