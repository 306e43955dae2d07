// The zero-knowledge inner product: a commitment A = Σ a_i g_i + α h, a public vector b and a public value v; the
// prover knows a and α and <a, b> = v. Bulletproofs' recursion, made hiding by one random vector:
//
//   prover: d, δ uniform; sends D = Σ d_i g_i + δ h and <d, b>;    challenge c
//           sends r = δ + c α in the clear;                        challenge ρ, which scales q, the base of the value
//   both:   P = D + c A − r h + ρ (<d, b> + c v) q is claimed to be Σ a'_i g_i + ρ <a', b> q for a' = d + c a
//   rounds: halves lo, hi of a', b, g;  L = <a'_lo, g_hi> + ρ <a'_lo, b_hi> q,  R = <a'_hi, g_lo> + ρ <a'_hi, b_lo> q
//           challenge x;  a' ← a'_lo + x a'_hi,  b ← b_lo + x⁻¹ b_hi,  g ← g_lo + x⁻¹ g_hi,  P ← P + x⁻¹ L + x R
//   last:   the prover sends a'; the verifier checks P = a' g + ρ a' b q
//
// The length need not be a power of two: what is missing counts as zeros without generators.
#pragma once

#include "argument/generators.h"
#include "argument/nonces.h"
#include "argument/point_sum.h"
#include "argument/proof.h"

namespace zkapex {

// The public vector of an opening: eq(point, i) times `factor` for i below 2^variables, then the others one by one.
struct OpeningVector {
  std::vector<Scalar> point;
  Scalar factor;
  std::vector<Scalar> others;

  [[nodiscard]] size_t size() const { return (size_t{1} << point.size()) + others.size(); }
  [[nodiscard]] std::vector<Scalar> entries() const;
};

// `a` and `b` of one length, at most generators.size(): both are folded where they are. The transcript has absorbed
// what fixes A, b and v.
OpeningProof prove_inner_product(Transcript& transcript, const Generators& generators, SecretVector<Scalar> a,
                                 const Scalar& alpha, std::vector<Scalar> b, Nonces& nonces, ThreadPool& pool);

// Adds to `sum` what must be the identity, less c · A, and returns c: the caller knows A as a sum of its own.
// Fails if a point of the proof is not one.
Result<Scalar, Rejection> verify_inner_product(Transcript& transcript, const OpeningProof& proof,
                                               const OpeningVector& b, const Scalar& value, PointSum& sum);

// Points that came from outside: canonical encodings, none the identity. `what` is each of them.
[[nodiscard]] Result<std::vector<AffinePoint>, Rejection> decode_points(std::span<const EncodedPoint> points,
                                                                        std::string_view what,
                                                                        ThreadPool* pool = nullptr);

}  // namespace zkapex
