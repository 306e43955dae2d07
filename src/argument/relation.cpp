#include "argument/relation.h"

namespace zkapex {

Transcript begin(const Relation& relation, std::span<const EncodedPoint> first_rows, const EncodedPoint& pads,
                 Tamper* tamper) {
  Transcript main(relation.protocol(), tamper);
  relation.absorb(main, first_rows);
  main.absorb("pads", {&pads, 1});
  return main;
}

OpeningClaim replay(const Relation& relation, const ProofShape& shape, const Proof& proof, Transcript& main,
                    ThreadPool& pool) {
  ArgumentVerifier verifier(shape, proof, main, pool);
  relation.replay(verifier);
  return verifier.reduce();
}

Result<Proof> prove(const Relation& relation, Witness& witness, const Generators& generators, ThreadPool& pool,
                    ProveOptions options) {
  if (const Verdict sound = relation.sound(); !sound) return error("{}", sound.error().detail);
  const ProofShape shape = relation.shape();
  ZKAPEX_CHECK(require_generators(generators, shape));
  // Hedged by the statement, as the transcript absorbs it, and by the witness.
  const Transcript statement = begin(relation, {}, {});
  ZKAPEX_TRY(Nonces nonces, Nonces::create({statement.state(), witness.digest()}));
  ZKAPEX_TRY(const CommittedRows rows, witness.commit(generators, nonces, pool));
  Pads pads = Pads::draw(shape, nonces, generators, pool);
  Transcript main = begin(relation, rows.encoded, pads.commitment, options.tamper);
  ArgumentProver prover(generators, shape, std::move(main), rows.encoded, std::move(pads), std::move(nonces), pool,
                        std::move(options));
  ZKAPEX_CHECK(witness.prove(prover, rows));
  return prover.finish([&](const Proof& proof) {
    Transcript again = begin(relation, std::span(proof.rows).first(shape.first_rows()), proof.pads);
    return replay(relation, shape, proof, again, pool);
  });
}

namespace {

Result<PointSum, Rejection> check_of_shape(const Relation& relation, const ProofShape& shape, const Proof& proof,
                                           ThreadPool& pool) {
  std::vector<EncodedPoint> encoded = proof.rows;
  const std::vector<EncodedPoint> brought = relation.statement_rows();
  encoded.insert(encoded.end(), brought.begin(), brought.end());
  ZKAPEX_TRY(const std::vector<AffinePoint> rows, decode_points(encoded, "row commitment", &pool));
  Transcript main = begin(relation, std::span(proof.rows).first(shape.first_rows()), proof.pads);
  const OpeningClaim claim = replay(relation, shape, proof, main, pool);
  return point_sum(main, claim, proof, rows);
}

}  // namespace

Result<PointSum, Rejection> check(const Relation& relation, const Proof& proof, ThreadPool& pool) {
  ZKAPEX_CHECK(relation.sound());
  return check_of_shape(relation, relation.shape(), proof, pool);
}

Result<PointSum, Rejection> check(const Relation& relation, ByteView bytes, ThreadPool& pool) {
  ZKAPEX_CHECK(relation.sound());
  const ProofShape shape = relation.shape();
  ZKAPEX_TRY(const Proof proof, Proof::decode(bytes, shape));
  return check_of_shape(relation, shape, proof, pool);
}

Verdict verify(const Relation& relation, ByteView proof, const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(const PointSum sum, check(relation, proof, pool));
  return verdict_var(sum, generators, pool);
}

}  // namespace zkapex
