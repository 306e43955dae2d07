// The simulator of the zero-knowledge argument, for any relation: an accepting transcript without a witness, by
// programming the challenges. What it makes has the distribution of an honest proof but for the commitments, which hide
// perfectly: rows and pads commit to zero, sealed scalars and masked factors are uniform, and the opening is made
// backwards from its last message.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "algebra/msm.h"
#include "argument/argument_testing.h"
#include "base/hash.h"

namespace zkapex::testing {

// Uniform challenges, fixed beforehand by a seed: both runs over the same transcript see the same ones.
class ProgrammedOracle : public Tamper {
 public:
  explicit ProgrammedOracle(uint64_t seed) : seed_(seed) {}
  Scalar challenge(const std::string& transcript, std::string_view label, const Scalar& /*drawn*/) override {
    const std::string key = transcript + "/" + std::string(label);
    ByteWriter out;
    out.u64(seed_);
    out.text(key);
    out.u64(drawn_[key]++);
    return Scalar::from_bytes_wide(sha512(out.bytes()));
  }

 private:
  uint64_t seed_;
  std::map<std::string, uint64_t> drawn_;
};

// A' = Σ a'_i g_i is known in full, A is not: D and <d, b> are what makes the first equation true, and the rounds are
// the honest ones on a', which is uniform in honest proofs too.
inline OpeningProof simulate_opening(Transcript& transcript, const OpeningClaim& claim, const Point& commitment,
                                     std::mt19937_64& rng) {
  const Generators& generators = test_generators();
  const Scalar c = transcript.challenge("opening"), rho = transcript.challenge("value base");
  std::vector<Scalar> a = random_scalars(rng, claim.vector.size()), b = claim.vector.entries();
  std::vector<Point> g;
  for (size_t k = 0; k < a.size(); ++k) g.emplace_back(generators.positions()[k]);
  const auto sum = [](std::span<const Scalar> scalars, std::span<const Point> points) {
    Point out;
    for (size_t k = 0; k < scalars.size(); ++k) out += multiply(points[k], scalars[k]);
    return out;
  };
  OpeningProof proof;
  proof.blinding = random_scalar(rng);
  proof.mask = (sum(a, g) + multiply(generators.blinding(), proof.blinding) - multiply(commitment, c)).encode();
  proof.mask_value = inner_product(a, b) - c * claim.value;
  size_t length = std::bit_ceil(a.size());
  while (length > 1) {
    const size_t half = length / 2, high = a.size() - half;
    const auto low = [&](const auto& v) { return std::span(v).first(half); };
    const auto upper = [&](const auto& v) { return std::span(v).subspan(half); };
    const auto cross = [&](std::span<const Scalar> values, std::span<const Point> points,
                           std::span<const Scalar> with) {
      return (sum(values, points) + multiply(generators.value(), rho * inner_product(values, with))).encode();
    };
    proof.left.push_back(cross(low(a).first(high), upper(g), upper(b)));
    proof.right.push_back(cross(upper(a), low(g).first(high), low(b).first(high)));
    const Scalar x = transcript.challenge("fold"), inverse = x.inverse();
    for (size_t k = 0; k < high; ++k) {
      a[k] += x * a[half + k];
      b[k] += inverse * b[half + k];
      g[k] += multiply(g[half + k], inverse);
    }
    a.resize(half);
    b.resize(half);
    g.resize(half);
    length = half;
  }
  proof.last = a[0];
  return proof;
}

// Accepted by a verifier whose challenges come from ProgrammedOracle(challenges).
inline Proof simulate(const Relation& relation, uint64_t challenges, std::mt19937_64& rng, ThreadPool& pool) {
  const ProofShape shape = relation.shape();
  const auto commit_to_zero = [&] { return multiply(test_generators().blinding(), random_scalar(rng)).encode(); };
  Proof proof;
  for (size_t k = 0; k < shape.rows; ++k) proof.rows.push_back(commit_to_zero());
  proof.pads = commit_to_zero();
  for (const size_t count : shape.forks) proof.forks.push_back(random_scalars(rng, count));
  proof.main = random_scalars(rng, shape.main_scalars());
  proof.masked_factors = random_scalars(rng, 2 * shape.products);
  ProgrammedOracle oracle(challenges);
  Transcript main = begin(relation, proof, &oracle);
  const OpeningClaim claim = replay(relation, shape, proof, main, pool);
  std::vector<EncodedPoint> rows = proof.rows;
  const std::vector<EncodedPoint> brought = relation.statement_rows();
  rows.insert(rows.end(), brought.begin(), brought.end());
  Point commitment = multiply(Point::decode(proof.pads).value(), claim.pad_weight);
  for (const auto& [row, weight] : claim.commitment) {
    commitment += multiply(Point::decode(rows[row]).value(), weight);
  }
  proof.opening = simulate_opening(main, claim, commitment, rng);
  return proof;
}

using Word = std::array<uint8_t, 32>;

// All scalars of a proof; those that are sent masked come first.
inline std::vector<Word> masked_scalars(const Proof& proof) {
  std::vector<Word> out;
  const auto add = [&](std::span<const Scalar> scalars) {
    for (const Scalar& s : scalars) out.push_back(s.to_bytes());
  };
  for (const auto& fork : proof.forks) add(fork);
  add(proof.main);
  add(proof.masked_factors);
  add({{proof.opening.mask_value, proof.opening.blinding, proof.opening.last}});
  return out;
}
inline std::vector<Word> words(const Proof& proof) {
  std::vector<Word> out = masked_scalars(proof);
  out.insert(out.end(), proof.rows.begin(), proof.rows.end());
  out.push_back(proof.pads);
  out.push_back(proof.opening.mask);
  out.insert(out.end(), proof.opening.left.begin(), proof.opening.left.end());
  out.insert(out.end(), proof.opening.right.begin(), proof.opening.right.end());
  return out;
}
inline void expect_nothing_shared(const std::vector<Proof>& proofs) {
  std::set<Word> all;
  size_t count = 0;
  for (const Proof& proof : proofs) {
    for (const Word& w : words(proof)) {
      EXPECT_NE(w, Word{});
      all.insert(w);
      ++count;
    }
  }
  EXPECT_EQ(all.size(), count);
}

// What the simulator makes is accepted under its own challenges, and is no proof under any others.
inline void expect_simulated(const Relation& relation, std::mt19937_64& rng, ThreadPool& pool) {
  for (const uint64_t challenges : {1U, 2U}) {
    const Proof proof = simulate(relation, challenges, rng, pool);
    const Bytes bytes = proof.encode();
    EXPECT_EQ(bytes.size(), relation.shape().bytes());
    ProgrammedOracle oracle(challenges), others(challenges + 1);
    const Verdict verdict = verify_with(relation, bytes, pool, &oracle);
    EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
    EXPECT_FALSE(verify_with(relation, bytes, pool, &others).ok());
    EXPECT_FALSE(verify_with(relation, bytes, pool).ok());
    expect_nothing_shared({proof});
  }
}

}  // namespace zkapex::testing
