#include "argument/range_relation.h"

#include <bit>
#include <numeric>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "argument/bit_check.h"
#include "argument/bit_matrix.h"
#include "argument/row_openings.h"
#include "base/hash.h"

namespace zkapex {

namespace {

unsigned log2_ceil(size_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

unsigned variables(const RangeStatement& s, size_t segment) {
  return log2_ceil(s.segments[segment]) + log2_ceil(s.row_length);
}

// Coefficients of a segment's bit rows.
std::vector<Scalar> row_weights(const RangeStatement& s, size_t segment, std::span<const Scalar> kappa,
                                std::span<const Scalar> r) {
  return bit_row_weights(s.bits, s.segments[segment], kappa, r.first(log2_ceil(s.segments[segment])));
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
  const auto [r, planes] = prove_bits(channel, bits.planes(index), variables(s, index), pool);
  const std::vector<Scalar> row = row_weights(s, index, planes.kappa, r);
  Segment out;
  out.pair.vector = fold_bits(bits.segment(index), bits.words_per_row(), s.row_length, row, pool);
  out.pair.blinding = inner_product(row, blindings);
  out.pair.point.assign(r.begin() + log2_ceil(s.segments[index]), r.end());
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
    shape.forks.push_back(bit_check_scalars(bits, variables(*this, k)));
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
    const auto [r, planes] = verify_bits(channel, verifier, statement.bits, variables(statement, k));

    VerifierPair pair;
    for (const Scalar& weight : row_weights(statement, k, planes.kappa, r)) {
      pair.commitment.emplace_back(first_row++, weight);
    }
    pair.point.assign(r.begin() + log2_ceil(statement.segments[k]), r.end());
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
