// The inner loops of a sumcheck's prover, which have more than one implementation: portable, one pair after another,
// AVX2, four pairs at a time, and AVX-512 IFMA, eight. Plain data only: this header is compiled for wider instructions
// too, so it must not pull in inline functions that the rest of the program shares.
//
// Scalars cross the border as four words in Montgomery form (Scalar). What a table becomes once it is folded is in the
// same memory, 32 bytes an entry, rounded up to eight entries, but in a form of the kernels' own; what is in the
// structs of bytes means nothing to other kernels either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace zkapex {

struct SumcheckKernels {
  static constexpr size_t kChunk = 128;  // pairs that are worked on together

  enum class Form : uint8_t {
    kScalars,   // as they are
    kStored,    // by `load`
    kInt64,     // integers, which stand for the scalars with these words
    kInt128,    //
    kBytes,     // the integers 0 and 1
    kChosen,    // values[i >> block_bits] where bytes[i] is 1, zero where it is 0
    kSigned,    // the integers values[i >> block_bits] bytes[i], bytes being −1, 0 and 1
    kBlocks,    // values[i >> block_bits]
    kPeriodic,  // values[i & (period − 1)]
  };

  // A table, whose entries from `length` on are zero.
  struct Entries {
    Form form;
    bool sparse;  // public, and mostly zero: where it is, time is saved
    size_t length;
    const void* values;
    unsigned block_bits = 0;
    size_t period = 0;
    const uint8_t* bytes = nullptr;
  };

  // The pairs of a chunk as low + step X.
  struct alignas(64) Pairs {
    unsigned char bytes[2 * kChunk * 40];
  };
  // kChunk scalars.
  struct alignas(64) Weights {
    unsigned char bytes[kChunk * 40];
  };
  // Three sums, zero where all bytes are.
  struct alignas(64) Sums {
    unsigned char bytes[3 * 640];
  };

  // Sums over pairs, of the coefficients of 1, X², X³ unless it says otherwise.
  enum class Product : uint8_t {
    kOne,     // a
    kTwo,     // a b
    kThree,   // a b c
    kSquare,  // a b²
    kEqOne,   // w a, w the weight of a pair: at 0 and, if asked for, at 1
    kEqTwo,   // w a b: at 0 and, if asked for, at 1, and the coefficient of X²
  };

  InstructionSet set;
  // A product of two entries that is multiplied again comes out divided by 2^scale_bits: in kThree, kSquare, kEqTwo,
  // and in kTwo with an outer factor. Challenges and weights are handed over times 2^scale_bits.
  unsigned scale_bits;
  // Pairs that are summed together begin and end at multiples of this, or at the end of a table.
  size_t lanes;

  // The pairs start .. start + size − 1 of a table that was folded by the challenges *first (unless null), then *second
  // (unless null). Entries that the second folded are stored on the way, entry i at store + 4 i; in place too, where no
  // entry is stored over what a later one is made of. start is a multiple of kChunk, size at most kChunk.
  void (*load)(const Entries& from, const uint64_t* first, const uint64_t* second, size_t start, size_t size,
               uint64_t* store, Pairs* out);

  void (*set_weights)(const uint64_t* scalars, size_t count, Weights* out);
  // sums += outer · Σ over the pairs begin .. end − 1 (of the coefficients of the product). Without `outer` it is 1:
  // kEqOne and kEqTwo always have one, kThree and kSquare never. Where `sparse`, the first factor is, and pairs for
  // which it is zero may be skipped.
  void (*add_products)(Product product, bool sparse, bool with_one, const Pairs* const* factors, size_t begin,
                       size_t end, const Weights* weights, const uint64_t* outer, Sums* sums);
  // Each sum times 2^256, as an integer of nine words.
  void (*export_sums)(const Sums& sums, uint64_t (*words)[9]);

  // For benchmarks and tests: all that is in pairs of a chunk, two scalars each, times factor^rounds, by one product
  // after another.
  void (*repeat_multiplication)(Pairs* pairs, const uint64_t* factor, size_t rounds);
};

// Those of `set`, which this machine must have: see detect_instruction_set.
[[nodiscard]] const SumcheckKernels& sumcheck_kernels(InstructionSet set);
[[nodiscard]] const SumcheckKernels& sumcheck_kernels();

}  // namespace zkapex
