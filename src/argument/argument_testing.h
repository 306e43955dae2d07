// What the tests of this room share: generators, random instances of the worked relations, and a verifier with a
// tamper.
#pragma once

#include <memory>
#include <random>

#include "argument/matrix_relation_testing.h"
#include "argument/range_relation.h"

namespace zkapex::testing {

inline const Generators& test_generators() {
  static ThreadPool pool(1);
  static const Generators g = Generators::derive(512, pool);
  return g;
}

inline Scalar random_scalar(std::mt19937_64& rng) {
  std::array<uint8_t, 64> bytes;
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
  return Scalar::from_bytes_wide(bytes);
}
inline std::vector<Scalar> random_scalars(std::mt19937_64& rng, size_t count) {
  std::vector<Scalar> out(count);
  for (Scalar& s : out) s = random_scalar(rng);
  return out;
}

inline std::vector<int64_t> random_values(const RangeStatement& s, std::mt19937_64& rng) {
  std::vector<int64_t> out(s.rows() * s.row_length);
  for (int64_t& v : out) v = static_cast<int64_t>(rng()) >> (64 - s.bits);
  return out;
}

struct MatrixInstance {
  std::vector<int8_t> matrix;
  std::vector<int64_t> x, y;
  [[nodiscard]] MatrixValues values() const { return {matrix, x, y}; }
};
inline MatrixInstance random_instance(const MatrixStatement& s, std::mt19937_64& rng) {
  MatrixInstance out;
  out.matrix.resize(s.blocks * s.side * s.side);
  out.x.resize(s.blocks * s.side);
  out.y.resize(s.blocks * s.side);
  for (int8_t& v : out.matrix) v = static_cast<int8_t>(rng());
  for (int64_t& v : out.x) v = static_cast<int64_t>(rng()) >> 24;
  for (size_t row = 0; row < out.y.size(); ++row) {
    for (size_t l = 0; l < s.side; ++l) out.y[row] += out.matrix[row * s.side + l] * out.x[row / s.side * s.side + l];
  }
  return out;
}

inline AffinePoint affine(const Point& p) { return batch_to_affine({&p, 1})[0]; }

// Any relation, for tests that run on several.
using AnyRelation = std::shared_ptr<const Relation>;
inline AnyRelation relation(const RangeStatement& s) { return std::make_shared<RangeRelation>(s); }
inline AnyRelation relation(const MatrixStatement& s) { return std::make_shared<MatrixRelation>(s); }

inline Transcript begin(const Relation& relation, const Proof& proof, Tamper* tamper = nullptr) {
  return begin(relation, std::span(proof.rows).first(relation.shape().first_rows()), proof.pads, tamper);
}

// `verify`, with a transcript that may be tampered with.
inline Verdict verify_with(const Relation& relation, ByteView bytes, ThreadPool& pool, Tamper* tamper = nullptr) {
  const ProofShape shape = relation.shape();
  ZKAPEX_TRY(const Proof proof, Proof::decode(bytes, shape));
  std::vector<EncodedPoint> encoded = proof.rows;
  const std::vector<EncodedPoint> brought = relation.statement_rows();
  encoded.insert(encoded.end(), brought.begin(), brought.end());
  ZKAPEX_TRY(const std::vector<AffinePoint> rows, decode_points(encoded, "row commitment", &pool));
  Transcript main = begin(relation, proof, tamper);
  const OpeningClaim claim = replay(relation, shape, proof, main, pool);
  ZKAPEX_TRY(const PointSum sum, point_sum(main, claim, proof, rows));
  return verdict_var(sum, test_generators(), pool);
}

// What was absorbed and drawn, in order.
class Manifest : public Tamper {
 public:
  struct Event {
    std::string transcript;
    TranscriptStep kind;
    std::string label;
    bool operator==(const Event&) const = default;
  };
  void step(const std::string& transcript, TranscriptStep kind, std::string_view label) override {
    events.push_back({transcript, kind, std::string(label)});
  }
  std::vector<Event> events;
};

}  // namespace zkapex::testing
