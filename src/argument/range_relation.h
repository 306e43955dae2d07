// The worked relation (docs/argument.md, section 12), and the one to copy: "these committed integers are c-bit". The
// prover commits to the bits, plane by plane, and shows that they are bits; the commitments to the integers themselves
// follow from those to their bits.
#pragma once

#include "argument/bit_units.h"
#include "argument/relation.h"

namespace zkapex {

struct RangeStatement {
  std::string context;           // what the proof is for; a proof for another context does not verify
  size_t row_length = 0;         // a power of two
  unsigned bits = 0;             // c, from 1 to 64, two's complement
  std::vector<size_t> segments;  // rows of each; a segment is proved in memory of its own

  [[nodiscard]] BitUnits units() const { return {row_length, bits, segments}; }
  [[nodiscard]] size_t rows() const { return units().all_rows(); }  // value rows
  [[nodiscard]] ProofShape shape() const;
};

class RangeRelation : public Relation {
 public:
  explicit RangeRelation(RangeStatement statement) : statement_(std::move(statement)) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex range 1"; }
  [[nodiscard]] Verdict sound() const override { return statement_.units().sound(); }
  [[nodiscard]] ProofShape shape() const override { return statement_.shape(); }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  RangeStatement statement_;
};

// `values` are whole rows. Values that are not c-bit are an error.
[[nodiscard]] Result<Proof> prove_range(const RangeStatement& statement, std::span<const int64_t> values,
                                        const Generators& generators, ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
