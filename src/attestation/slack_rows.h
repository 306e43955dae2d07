// Slacks that are not negative, because they are committed by their bits: NB bits each, as many slacks to a row as it
// has room for. They are summed with the powers of a challenge that is drawn after them: Σ_k γ^k (slack k).
#pragma once

#include "algebra/multilinear.h"
#include "algebra/row_commit.h"
#include "base/wide.h"

namespace zkapex {

[[nodiscard]] Scalar to_scalar(const Wide& value);  // below 2^512

// Bit b of slack k = p A + a, A = ⌊n / NB⌋, stands in row p at a NB + b and has the weight γ^k 2^b there.
struct SlackRows {
  size_t row_length = 0;  // n
  size_t count = 0;       // of slacks
  unsigned bits = 0;      // NB, at most n

  [[nodiscard]] size_t per_row() const { return row_length / bits; }
  [[nodiscard]] size_t rows() const { return (count + per_row() - 1) / per_row(); }
  // The weights of row p by position, as far as there are slacks, and their extension at r. `powers`: γ^k.
  [[nodiscard]] std::vector<Scalar> weights(std::span<const Scalar> powers, size_t p) const;
  [[nodiscard]] Scalar weight_at(std::span<const Scalar> powers, size_t p, std::span<const Scalar> r) const;
};

// The prover's: as integers, and as rows.
class SlackBits {
 public:
  SlackBits() = default;
  // One for each, in order; of each the lowest NB bits count.
  SlackBits(const SlackRows& rows, std::vector<Wide> slacks);

  [[nodiscard]] PackedRows packed() const;
  [[nodiscard]] std::span<const uint64_t> words() const { return words_; }  // row after row
  [[nodiscard]] size_t words_per_row() const { return (shape_.row_length + 63) / 64; }
  // Bits of a row, packed in bytes, and of every row.
  [[nodiscard]] std::span<const uint8_t> bytes(size_t p) const;
  [[nodiscard]] std::vector<std::vector<uint8_t>> planes() const;
  // Σ_k γ^k (slack k)
  [[nodiscard]] Scalar sum(std::span<const Scalar> powers) const;

 private:
  SlackRows shape_;
  std::vector<Wide> slacks_;
  std::vector<uint64_t> words_;
};

}  // namespace zkapex
