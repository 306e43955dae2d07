// The prover's rounds on eq · Σ_k weight_k (b_k² − b_k) for bit tables b_k, without arithmetic where a look-up does:
//
//   rounds 0..2   Eight consecutive bits of a plane are a byte v. With H[v] = Σ_k weight_k Σ_{i: byte_k(i) = v} eq(..,
//   i),
//                 256 sums filled by additions alone, every round polynomial is Σ_v H[v] G(v) for a small function G.
//   rounds 3..7   A byte's value at the first three challenges is one of 256 scalars; later ones weigh 2, 4, 8, 16 such
//                 bytes.
//   later rounds  Tables of scalars, a 256th of the length of the planes: as much memory as the bits themselves.
#pragma once

#include <array>
#include <vector>

#include "algebra/scalar.h"
#include "algebra/scalar_sum.h"
#include "argument/sumcheck.h"
#include "base/threads.h"

namespace zkapex {

// The factor of the round polynomial beside eq's linear factor, t(X), by its values at 0 and 1 and its X² coefficient.
struct EqRound {
  Scalar at_zero, at_one, leading;
};

class BitPlaneProver {
 public:
  BitPlaneProver(BitPlanes planes, unsigned variables, std::span<const Scalar> eq_point, ThreadPool& pool,
                 const SumcheckKernels& kernels);

  // The round that binds the next variable. at_one is filled in only if asked for: the caller knows it from the second
  // round on.
  EqRound round(bool with_one);
  void bind(const Scalar& x);
  // After the last round: each plane at the point.
  [[nodiscard]] std::vector<Scalar> values() const;

 private:
  static constexpr unsigned kHistogramRounds = 3;  // bits of a byte
  static constexpr unsigned kByteRounds = 8;       // after which tables of scalars take over
  using ByteTable = std::array<Scalar, 256>;

  void fill_histogram();
  [[nodiscard]] EqRound histogram_round() const;
  // From the third variable on: an entry is the sum of one look-up in each of these, for consecutive bytes.
  [[nodiscard]] std::vector<ByteTable> look_ups() const;
  [[nodiscard]] EqRound byte_round(bool with_one) const;
  [[nodiscard]] EqRound table_round(bool with_one) const;
  void make_tables();
  // Over the first `pairs` pairs of every plane; load(k, start, out) makes those of plane k in the chunk that begins at
  // `start`, and returns how many it has.
  template <class Load>
  EqRound sum_chunks(size_t pairs, bool with_one, const Load& load) const;

  unsigned variables_;
  unsigned bound_ = 0;
  std::vector<Scalar> eq_point_;
  std::vector<Scalar> weights_;
  ThreadPool& pool_;
  const SumcheckKernels& kernels_;

  std::vector<Scalar> challenges_;           // of the rounds on bytes
  std::vector<std::vector<uint8_t>> bytes_;  // by plane, until the tables take over
  ByteTable histogram_;                      // H
  std::vector<std::vector<Scalar>> tables_;  // by plane
};

}  // namespace zkapex
