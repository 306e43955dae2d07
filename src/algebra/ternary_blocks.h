// The kernel of ternary_kernels.h, written once for any vector. `Lanes` has 32 entries of the matrix, or of a vector,
// in a Group, Sums, which hold those of kSteps groups, and WideSums, of 32 bits; it takes kRows rows together. Each
// file that includes this defines its own in an unnamed namespace, so that code compiled for one instruction set is
// never called from another.
#pragma once

#include "algebra/ternary_kernels.h"

namespace zkapex::ternary_kernels {

template <class Lanes>
struct Blocks {
  using Group = typename Lanes::Group;
  using Sums = typename Lanes::Sums;
  using WideSums = typename Lanes::WideSums;

  static constexpr size_t kSteps = Lanes::kSteps;
  static constexpr size_t kWindow = 64;   // groups whose entries are brought together, to stay in the first cache
  static constexpr size_t kTogether = 8;  // vectors that share a row of the matrix while it is there

  // The vectors' entries in some groups, one group after the other.
  struct Gathered {
    alignas(32) int8_t entries[kTogether][kWindow * kGroup];
    size_t steps;
  };

  // kRows rows of the matrix with kVectors of the vectors.
  template <size_t kRows, size_t kVectors>
  static void add_block(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t vector,
                        int32_t* out) {
    const uint8_t* matrix = p.matrix + row * p.cols;
    WideSums wide[kRows][kVectors] = {};
    for (size_t step = 0; step < gathered.steps;) {
      Sums sums[kRows][kVectors] = {};
      const size_t end = gathered.steps - step < kSteps ? gathered.steps : step + kSteps;
      for (; step < end; ++step) {
        Group entries[kRows];
        for (size_t q = 0; q < kRows; ++q) entries[q] = Lanes::load(matrix + q * p.cols + live[step]);
        for (size_t k = 0; k < kVectors; ++k) {
          const Group v = Lanes::load(gathered.entries[vector + k] + step * kGroup);
          for (size_t q = 0; q < kRows; ++q) sums[q][k] = Lanes::add_products(sums[q][k], entries[q], v);
        }
      }
      for (size_t q = 0; q < kRows; ++q) {
        for (size_t k = 0; k < kVectors; ++k) wide[q][k] = Lanes::widen(wide[q][k], sums[q][k]);
      }
    }
    for (size_t q = 0; q < kRows; ++q) {
      for (size_t k = 0; k < kVectors; ++k) out[(vector + k) * p.rows + row + q] += Lanes::total(wide[q][k]);
    }
  }

  template <size_t kRows>
  static void add_rows(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t count,
                       int32_t* out) {
    size_t vector = 0;
    for (; vector + 4 <= count; vector += 4) add_block<kRows, 4>(p, gathered, live, row, vector, out);
    for (; vector < count; ++vector) add_block<kRows, 1>(p, gathered, live, row, vector, out);
  }

  // The ones that were added to the matrix.
  static void subtract_surplus(const Product& p, const Gathered& gathered, size_t vector, int32_t* out) {
    WideSums wide = {};
    for (size_t step = 0; step < gathered.steps; ++step) {
      const Group entries = Lanes::load(gathered.entries[vector] + step * kGroup);
      wide = Lanes::widen(wide, Lanes::add_products(Sums{}, Lanes::ones(), entries));
    }
    const int32_t surplus = Lanes::total(wide);
    for (size_t q = 0; q < p.rows; ++q) out[vector * p.rows + q] -= surplus;
  }

  static void multiply(const Product& p, int32_t* out) {
    for (size_t k = 0; k < p.count * p.rows; ++k) out[k] = 0;
    Gathered gathered;
    for (size_t first = 0; first < p.live_count; first += kWindow) {
      const uint32_t* live = p.live + first;
      gathered.steps = p.live_count - first < kWindow ? p.live_count - first : kWindow;
      for (size_t vector = 0; vector < p.count; vector += kTogether) {
        const size_t count = p.count - vector < kTogether ? p.count - vector : kTogether;
        for (size_t k = 0; k < count; ++k) {
          const int8_t* entries = p.vectors + (vector + k) * p.stride;
          for (size_t step = 0; step < gathered.steps; ++step) {
            __builtin_memcpy(gathered.entries[k] + step * kGroup, entries + live[step], kGroup);
          }
        }
        int32_t* to = out + vector * p.rows;
        size_t row = 0;
        for (; row + Lanes::kRows <= p.rows; row += Lanes::kRows)
          add_rows<Lanes::kRows>(p, gathered, live, row, count, to);
        for (; row < p.rows; ++row) add_rows<1>(p, gathered, live, row, count, to);
        for (size_t k = 0; k < count; ++k) subtract_surplus(p, gathered, k, to);
      }
    }
  }
};

}  // namespace zkapex::ternary_kernels
