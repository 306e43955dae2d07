#include "argument/range_relation.h"

#include <bit>
#include <numeric>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/bit_matrix.h"
#include "argument/plane_rounds.h"
#include "argument/row_openings.h"
#include "argument/sumcheck.h"
#include "base/hash.h"

namespace zkapex {

namespace {

unsigned log2_ceil(size_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

unsigned variables(const RangeStatement& s, size_t segment) {
  return log2_ceil(s.segments[segment]) + log2_ceil(s.row_length);
}

// Coefficients of a segment's rows in Σ_k eq(κ, k) Σ_t eq(r_row, t) R[k, t].
std::vector<Scalar> row_weights(const RangeStatement& s, size_t segment, std::span<const Scalar> kappa,
                                std::span<const Scalar> r) {
  const std::vector<Scalar> plane = eq_table(kappa), row = eq_table(r.first(log2_ceil(s.segments[segment])));
  std::vector<Scalar> out;
  out.reserve(s.bits * s.segments[segment]);
  for (unsigned k = 0; k < s.bits; ++k) {
    for (size_t t = 0; t < s.segments[segment]; ++t) out.push_back(plane[k] * row[t]);
  }
  return out;
}

Bytes encode_parameters(const RangeStatement& s) {
  ByteWriter out;
  out.u64(s.row_length);
  out.u32(s.bits);
  for (const size_t rows : s.segments) out.u64(rows);
  return out.take();
}

struct Segment {
  ProverPair pair;
  ProverProduct product;
};

Segment prove_segment(const RangeStatement& s, size_t index, const BitMatrix& bits, std::span<const Scalar> blindings,
                      Sender channel, ThreadPool& pool) {
  Transcript& transcript = channel.transcript();
  const std::vector<Scalar> tau_k = transcript.challenges("tau_k", log2_ceil(s.bits));
  const std::vector<Scalar> tau = transcript.challenges("tau", variables(s, index));
  std::vector<Scalar> weights = eq_table(tau_k);
  weights.resize(s.bits);
  Sumcheck sumcheck{.variables = variables(s, index),
                    .degree = 3,
                    .tables = {},
                    .terms = {},
                    .eq_point = tau,
                    .bits = BitPlanes{bits.planes(index), weights}};
  SumcheckProof end = prove_sumcheck(channel, "bits", std::move(sumcheck), Scalar::zero(), pool);
  Scalar rest;
  for (unsigned k = 0; k < s.bits; ++k) rest += weights[k] * (end.planes[k] * end.planes[k] - end.planes[k]);
  rest = channel.send("rest", {rest}, {{eq(tau, end.point)}}, end.claim)[0];
  const ProverPlanes planes = prove_planes(channel, tau_k, std::move(end.planes), rest, pool);

  const std::vector<Scalar> row = row_weights(s, index, planes.kappa, end.point);
  Segment out;
  out.pair.vector = fold_bits(bits.segment(index), bits.words_per_row(), s.row_length, row, pool);
  out.pair.blinding = inner_product(row, blindings);
  out.pair.point.assign(end.point.begin() + log2_ceil(s.segments[index]), end.point.end());
  out.pair.value = planes.b;
  out.product = {planes.b, planes.b, planes.square};
  return out;
}

}  // namespace

Verdict RangeStatement::check() const {
  if (!is_row_length(row_length))
    return Rejection{Reason::kStatement, "the row length is not a supported power of two"};
  if (bits < 1 || bits > 64) return Rejection{Reason::kStatement, fmt::format("{} bits, not 1 to 64", bits)};
  if (segments.empty() || segments.size() > kMaxForks) {
    return Rejection{Reason::kStatement, fmt::format("{} segments, not 1 to {}", segments.size(), kMaxForks)};
  }
  for (const size_t count : segments) {
    if (count < 1 || count > kMaxRows) {
      return Rejection{Reason::kStatement, fmt::format("a segment of {} rows, not 1 to {}", count, kMaxRows)};
    }
  }
  return Done{};
}

size_t RangeStatement::rows() const { return std::accumulate(segments.begin(), segments.end(), size_t{0}); }

ProofShape RangeStatement::shape() const {
  ProofShape shape{.row_length = row_length,
                   .rows = bits * rows(),
                   .forks = {},
                   .pairs = segments.size(),
                   .products = segments.size()};
  for (size_t k = 0; k < segments.size(); ++k) {
    shape.forks.push_back(3 * size_t{variables(*this, k)} + 1 + plane_scalars(log2_ceil(bits)));
  }
  return shape;
}

Transcript range_transcript(const RangeStatement& statement, std::span<const EncodedPoint> rows,
                            const EncodedPoint& pads, Transcript::Manifest* manifest, Transcript::Oracle* oracle) {
  Transcript transcript("zkapex range 1", manifest, oracle);
  transcript.absorb("parameters", ByteView(encode_parameters(statement)));
  transcript.absorb("context", statement.context);
  transcript.absorb("bit rows", rows);
  transcript.absorb("pads", {&pads, 1});
  return transcript;
}

Result<Proof> prove_range(const RangeStatement& statement, std::span<const int64_t> values,
                          const Generators& generators, ThreadPool& pool, Tamper* tamper) {
  if (const Verdict sound = statement.check(); !sound) return error("{}", sound.error().detail);
  ZKAPEX_CHECK(require_generators(generators, statement.shape()));
  if (values.size() != statement.rows() * statement.row_length) {
    return error("{} values do not fill {} rows of {}", values.size(), statement.rows(), statement.row_length);
  }
  const int64_t limit = static_cast<int64_t>((uint64_t{1} << (statement.bits - 1)) - 1);
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] > limit || values[k] < -limit - 1) {
      return error("the value {} at position {} has more than {} bits", values[k], k, statement.bits);
    }
  }
  const std::span<const uint64_t> words(reinterpret_cast<const uint64_t*>(values.data()), values.size());
  const ByteView witness(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  ZKAPEX_TRY(Nonces nonces,
             Nonces::create({view("range"), encode_parameters(statement), view(statement.context), sha512(witness)}));
  const BitMatrix bits(words, statement.row_length, statement.bits, statement.segments, pool);
  ZKAPEX_TRY(const CommittedRows rows, commit_rows_var(generators, bits.packed(), nonces, pool));

  const ProofShape shape = statement.shape();
  ArgumentProver prover(generators, shape, std::move(nonces), pool, tamper);
  Transcript main = range_transcript(statement, rows.encoded, prover.pad_commitment());
  std::vector<Transcript> forks;
  std::vector<ProverPair> pairs;
  std::vector<ProverProduct> products;
  for (size_t k = 0; k < statement.segments.size(); ++k) {
    forks.push_back(main.fork("segment", k));
    const auto blindings = rows.blindings_from(bits.first_row(k), statement.bits * statement.segments[k]);
    Segment segment = prove_segment(statement, k, bits, blindings, prover.fork(k, forks.back()), pool);
    pairs.push_back(std::move(segment.pair));
    products.push_back(segment.product);
  }
  return prover.finish(main, forks, std::move(pairs), products, rows.encoded, [&](const Proof& proof) {
    Transcript again = range_transcript(statement, proof.rows, proof.pads);
    return replay_range(statement, shape, proof, again);
  });
}

OpeningClaim replay_range(const RangeStatement& statement, const ProofShape& shape, const Proof& proof,
                          Transcript& main) {
  ArgumentVerifier verifier(shape, proof);
  std::vector<Transcript> forks;
  std::vector<VerifierPair> pairs;
  std::vector<VerifierProduct> products;
  size_t first_row = 0;
  for (size_t k = 0; k < statement.segments.size(); ++k) {
    Transcript& fork = forks.emplace_back(main.fork("segment", k));
    Receiver channel = verifier.fork(k, fork);
    const std::vector<Scalar> tau_k = fork.challenges("tau_k", log2_ceil(statement.bits));
    const std::vector<Scalar> tau = fork.challenges("tau", variables(statement, k));
    const SumcheckClaim end = verify_sumcheck(channel, "bits", variables(statement, k), 3, Expression());
    const Expression rest = channel.receive("rest", 1)[0];
    verifier.require_zero(end.claim - rest * eq(tau, end.point));
    const VerifierPlanes planes = verify_planes(channel, verifier, tau_k, rest);

    VerifierPair pair;
    for (const Scalar& weight : row_weights(statement, k, planes.kappa, end.point)) {
      pair.commitment.emplace_back(first_row++, weight);
    }
    pair.point.assign(end.point.begin() + log2_ceil(statement.segments[k]), end.point.end());
    pair.value = planes.b;
    pairs.push_back(std::move(pair));
    products.push_back({planes.b, planes.b, planes.square});
  }
  return verifier.reduce(main, forks, pairs, products);
}

Result<PointSum, Rejection> check_range(const RangeStatement& statement, ByteView bytes, ThreadPool& pool) {
  ZKAPEX_CHECK(statement.check());
  const ProofShape shape = statement.shape();
  ZKAPEX_TRY(const Proof proof, Proof::decode(bytes, shape));
  ZKAPEX_TRY(const std::vector<Point> rows, decode_rows(proof.rows, pool));
  Transcript main = range_transcript(statement, proof.rows, proof.pads);
  const OpeningClaim claim = replay_range(statement, shape, proof, main);
  return settle(main, claim, proof, rows);
}

Verdict verify_range(const RangeStatement& statement, ByteView proof, const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(const PointSum sum, check_range(statement, proof, pool));
  return verdict_var(sum, generators, pool);
}

}  // namespace zkapex
