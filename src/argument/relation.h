// A relation: what one kind of proof shows, as a file of mathematics; the rest of a proof is the same for all and
// stands in `prove` and `check` below. docs/argument.md describes a relation in three parts, and so does this:
//
//   main    statement and rows; pads           Relation::absorb, then the driver
//           challenges, rows of later rounds   ┐
//   forks   challenges, sealed messages        │ Relation::replay for the verifier, Witness::prove for the prover, in
//           equations, pairs, products         ┘ the same order
//   main    section 8 of docs/argument.md      the driver
//
// A relation is public. It names the counts of everything (shape), absorbs its statement and the rows that are
// committed before the first challenge, and replays a proof: it reads sealed messages and hands equations, pairs and
// products to the ArgumentVerifier. The prover checks itself with the same replay.
//
// A witness is the prover's. It commits to the rows and then says, on the same forks and under the same labels, what
// the replay reads, and hands the same pairs and products in the same order to the ArgumentProver.
//
// Rows may come in rounds. Those that depend on a challenge (shape().later_rows of them, the last of the proof's rows)
// are absorbed on the main transcript between the challenges and the forks:
//
//   replay    c = verifier.main().challenge("c");           prove    c = prover.main().challenge("c");
//             first = verifier.absorb_rows("v", count);              rows = prover.commit_rows("v", commit);
//             verifier.for_forks("part", replay_part);               prover.for_forks("part", prove_part);
//
// Pads are committed before the first challenge whatever the relation does. The replay absorbs every later row: one
// that it leaves out could be chosen when all challenges are known.
#pragma once

#include "argument/prover.h"
#include "base/hash.h"

namespace zkapex {

class Relation {
 public:
  virtual ~Relation() = default;

  [[nodiscard]] virtual std::string_view protocol() const = 0;  // with its version
  // kStatement unless the public inputs fit together and are in the supported range, in which no size computed from
  // them overflows. Nothing else is called before.
  [[nodiscard]] virtual Verdict sound() const = 0;
  [[nodiscard]] virtual ProofShape shape() const = 0;
  // Rows that the statement brings: the replay names them after the proof's. All are decoded, also those that it does
  // not name.
  [[nodiscard]] virtual std::vector<EncodedPoint> statement_rows() const { return {}; }
  // The statement, with the first rows where they belong.
  virtual void absorb(Transcript& main, std::span<const EncodedPoint> rows) const = 0;
  virtual void replay(ArgumentVerifier& verifier) const = 0;
};

class Witness {
 public:
  virtual ~Witness() = default;

  // Hedges the nonces, with the statement.
  [[nodiscard]] virtual Sha512::Digest digest() const = 0;
  // To the rows that come before the first challenge, in the order of the proof.
  [[nodiscard]] virtual Result<CommittedRows> commit(const Generators& generators, Nonces& nonces,
                                                     ThreadPool& pool) = 0;
  // `rows`: what `commit` returned.
  [[nodiscard]] virtual Status prove(ArgumentProver& prover, const CommittedRows& rows) = 0;
};

// An error, never a proof, if the witness does not satisfy the relation. That it opens the statement's own rows is
// taken on trust: if it does not, the proof is rejected.
[[nodiscard]] Result<Proof> prove(const Relation& relation, Witness& witness, const Generators& generators,
                                  ThreadPool& pool, ProveOptions options = {});

// What must add up to the identity. A `proof` that is given decoded was decoded with the relation's shape.
[[nodiscard]] Result<PointSum, Rejection> check(const Relation& relation, const Proof& proof, ThreadPool& pool);
[[nodiscard]] Result<PointSum, Rejection> check(const Relation& relation, ByteView proof, ThreadPool& pool);
[[nodiscard]] Verdict verify(const Relation& relation, ByteView proof, const Generators& generators, ThreadPool& pool);

// The parts of both, for tests and for commitments that are made before there is a whole statement: the transcript up
// to the first challenge, and the verifier from there up to the opening.
[[nodiscard]] Transcript begin(const Relation& relation, std::span<const EncodedPoint> first_rows,
                               const EncodedPoint& pads, Tamper* tamper = nullptr);
[[nodiscard]] OpeningClaim replay(const Relation& relation, const ProofShape& shape, const Proof& proof,
                                  Transcript& main, ThreadPool& pool);

}  // namespace zkapex
