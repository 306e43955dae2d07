// A worked relation: "these committed integers are c-bit". The prover commits to the bits, plane by plane, and shows
// that they are bits; the commitments to the integers themselves follow from those to their bits.
#pragma once

#include "argument/prover.h"
#include "argument/verifier.h"

namespace zkapex {

struct RangeStatement {
  std::string context;           // what the proof is for; a proof for another context does not verify
  size_t row_length = 0;         // a power of two
  unsigned bits = 0;             // c, from 1 to 64, two's complement
  std::vector<size_t> segments;  // rows of each; a segment is proved in memory of its own

  // kStatement unless the numbers are in the supported range, in which no size computed from them overflows.
  [[nodiscard]] Verdict check() const;
  [[nodiscard]] size_t rows() const;  // value rows
  [[nodiscard]] ProofShape shape() const;
};

// `values` are whole rows. Values that are not c-bit are an error.
[[nodiscard]] Result<Proof> prove_range(const RangeStatement& statement, std::span<const int64_t> values,
                                        const Generators& generators, ThreadPool& pool, Tamper* tamper = nullptr);

// What must add up to the identity.
[[nodiscard]] Result<PointSum, Rejection> check_range(const RangeStatement& statement, ByteView proof,
                                                      ThreadPool& pool);
[[nodiscard]] Verdict verify_range(const RangeStatement& statement, ByteView proof, const Generators& generators,
                                   ThreadPool& pool);

// The transcript up to the first challenge, and the verifier up to the opening: for the prover, and for tests.
[[nodiscard]] Transcript range_transcript(const RangeStatement& statement, std::span<const EncodedPoint> rows,
                                          const EncodedPoint& pads, Transcript::Manifest* manifest = nullptr,
                                          Transcript::Oracle* oracle = nullptr);
[[nodiscard]] OpeningClaim replay_range(const RangeStatement& statement, const ProofShape& shape, const Proof& proof,
                                        Transcript& main);

}  // namespace zkapex
