// The tables of a sumcheck's summand, and how they are folded: t(X) = t(0) + X (t(1) − t(0)) in the variable at hand.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "algebra/scalar.h"
#include "argument/sumcheck_kernels.h"
#include "base/bits.h"
#include "base/unset_vector.h"

namespace zkapex {

// A multilinear table by its first entries; the virtual rest is zero, is not stored and costs nothing. Only the first
// three rounds read it as it is given; spans must outlive the proof of the sumcheck.
struct SumcheckTable {
  struct Chosen {  // block[i >> block_bits] where bytes[i] is 1, zero where it is 0
    std::vector<Scalar> block;
    unsigned block_bits = 0;
    std::span<const uint8_t> bytes;
  };
  struct Signed {  // magnitudes[i >> block_bits] signs[i], an integer as an int64 is; signs are −1, 0 and 1
    std::span<const int64_t> magnitudes;
    unsigned block_bits = 0;
    std::span<const int8_t> signs;
  };
  struct Blocks {  // block[i >> block_bits]
    std::vector<Scalar> block;
    unsigned block_bits = 0;
  };
  struct Periodic {  // period[i % |period|], whose length is a power of two
    std::vector<Scalar> period;
    size_t length = 0;
  };
  // int64 or int128 in memory that the proof may use: what they are folded to takes their place.
  class Owned {
   public:
    Owned() = default;
    Owned(bool wide, size_t length)
        : memory_(round_up(length * (wide ? sizeof(int128) : sizeof(int64_t)), kOctet) / sizeof(Scalar)),
          length_(length),
          wide_(wide) {}

    [[nodiscard]] bool wide() const { return wide_; }
    [[nodiscard]] size_t length() const { return length_; }
    [[nodiscard]] int64_t* narrow_entries() { return reinterpret_cast<int64_t*>(memory_.data()); }
    [[nodiscard]] int128* wide_entries() { return reinterpret_cast<int128*>(memory_.data()); }
    [[nodiscard]] UnsetVector<Scalar>& memory() { return memory_; }
    [[nodiscard]] const UnsetVector<Scalar>& memory() const { return memory_; }

   private:
    static constexpr size_t kOctet = 8 * sizeof(Scalar);  // kernels store so much at a time

    UnsetVector<Scalar> memory_;  // whose words they are
    size_t length_ = 0;
    bool wide_ = false;
  };
  // What kernels have folded (sumcheck_kernels.h): the first `length` entries, in a form of their own. Not to be given.
  struct Stored {
    UnsetVector<Scalar> memory;
    size_t length = 0;
  };
  // int64: cheapest below 2^56; int128: |v| < 2^126; bytes: 0 and 1.
  using Scalars = UnsetVector<Scalar>;
  using Values = std::variant<Scalars, std::span<const int64_t>, std::span<const int128>, std::span<const uint8_t>,
                              Owned, Chosen, Signed, Blocks, Periodic, Stored>;

  SumcheckTable(Values given, bool is_sparse = false) : values(std::move(given)), sparse(is_sparse) {}
  // A short one.
  SumcheckTable(const std::vector<Scalar>& given) : values(Scalars(given.begin(), given.end())) {}

  Values values;
  bool sparse = false;  // public, and mostly zero: where it is, time is saved

  [[nodiscard]] size_t length() const;
  // Of blocks, which may begin late. Public; counted as they are in the round at hand.
  [[nodiscard]] size_t leading_zeros() const;
  [[nodiscard]] SumcheckKernels::Entries entries() const;
  [[nodiscard]] bool integers() const;
  // Given in so few bytes an entry that folding it once would take more memory than it does: folded twice at once.
  [[nodiscard]] bool compact() const { return integers() || std::holds_alternative<Chosen>(values); }
  // Blocks whose entries are pairs at least: constant in the variable at hand.
  [[nodiscard]] const Blocks* blocks() const;
  // A table that is folded as a whole, at a small part of its length, is folded; false for all others.
  bool fold_structure(const Scalar& challenge);
};

// An integer v as the scalar v / R, R = 2^256: its words are v itself, so this costs no multiplication. A table of
// integers is the table of these, and each product it enters is multiplied by R once, in the term's coefficient.
[[nodiscard]] inline Scalar unscaled(int128 v) {
  const auto magnitude = static_cast<uint128>(v < 0 ? -v : v);
  const Scalar s =
      Scalar::from_montgomery_words({static_cast<uint64_t>(magnitude), static_cast<uint64_t>(magnitude >> 64), 0, 0});
  return v < 0 ? -s : s;
}

// Entries of a table in pairs, folded by a challenge.
class PairFolder {
 public:
  explicit PairFolder(const Scalar& challenge)
      : challenge_(challenge), words_(challenge.canonical_limbs()), bit_step_(challenge * unscaled(1)) {}

  [[nodiscard]] Scalar operator()(const Scalar& zero, const Scalar& one) const {
    return zero + challenge_ * (one - zero);
  }
  [[nodiscard]] Scalar operator()(int64_t zero, int64_t one) const {
    const int128 step = static_cast<int128>(one) - zero;
    constexpr int128 kLimit = int128{1} << 57;
    if (step <= -kLimit || step >= kLimit) return (*this)(static_cast<int128>(zero), static_cast<int128>(one));
    return unscaled(zero) + Scalar::multiple_of_words(words_, static_cast<int64_t>(step));
  }
  [[nodiscard]] Scalar operator()(int128 zero, int128 one) const {
    return unscaled(zero) + challenge_ * unscaled(one - zero);
  }
  [[nodiscard]] Scalar operator()(uint8_t zero, uint8_t one) const {
    const Scalar start = unscaled(zero);
    return zero == one ? start : zero == 0 ? bit_step_ : start - bit_step_;
  }

 private:
  Scalar challenge_;
  Words4 words_;     // canonical
  Scalar bit_step_;  // challenge / R
};

}  // namespace zkapex
