// The bytes of a proof. Its shape follows from public parameters alone: nothing in the proof says how long anything is.
#pragma once

#include <vector>

#include "argument/transcript.h"
#include "argument/verdict.h"

namespace zkapex {

// What a statement may ask for: within these bounds no size computed from a shape overflows 64 bits.
inline constexpr size_t kMaxRowLength = size_t{1} << 24;
inline constexpr size_t kMaxRows = size_t{1} << 32;  // of one fork
inline constexpr size_t kMaxForks = size_t{1} << 16;
[[nodiscard]] bool is_row_length(size_t length);  // a power of two up to the maximum

// How many of everything a relation's proof has.
struct ProofShape {
  size_t row_length = 0;      // n, a power of two: generators 0..n−1 carry rows, the next ones pads
  size_t rows = 0;            // row commitments that the proof brings along
  std::vector<size_t> forks;  // scalars sent on each fork
  size_t pairs = 0;           // (committed vector, public vector) pairs
  size_t products = 0;        // product checks
  size_t later_rows = 0;      // of the rows, the last ones: those committed after the first challenge

  [[nodiscard]] size_t first_rows() const { return rows - later_rows; }
  [[nodiscard]] unsigned position_rounds() const;  // log2 n
  [[nodiscard]] size_t main_scalars() const { return size_t{2} * position_rounds() + pairs + 2; }
  [[nodiscard]] size_t sealed_scalars() const;  // sent padded, on forks and main transcript
  [[nodiscard]] size_t pads() const { return sealed_scalars() + 2 * products; }  // the masks of products last
  [[nodiscard]] size_t generators() const { return row_length + pads(); }        // n'
  [[nodiscard]] unsigned opening_rounds() const;                                 // ⌈log2 n'⌉
  [[nodiscard]] size_t bytes() const;
};

// The inner product argument: see inner_product.h.
struct OpeningProof {
  EncodedPoint mask;
  Scalar mask_value, blinding;
  std::vector<EncodedPoint> left, right;  // by round
  Scalar last;
};

struct Proof {
  std::vector<EncodedPoint> rows;
  EncodedPoint pads;
  std::vector<std::vector<Scalar>> forks;  // sealed
  std::vector<Scalar> main;                // sealed
  std::vector<Scalar> masked_factors;      // z_a, z_b of each product, in the clear
  OpeningProof opening;

  [[nodiscard]] Bytes encode() const;
  // Exactly shape.bytes() long; every scalar canonical. Points are checked when they are decoded, by `verify`.
  [[nodiscard]] static Result<Proof, Rejection> decode(ByteView bytes, const ProofShape& shape);
};

}  // namespace zkapex
