// The prover's side of the argument: pads before the first challenge, forks with sealed messages, and in the end one
// inner product that settles all pairs, products and equations together. relation.h says how a relation uses it.
#pragma once

#include <functional>
#include <vector>

#include "argument/channel.h"
#include "argument/inner_product.h"
#include "argument/row_openings.h"
#include "argument/scratch.h"
#include "argument/verifier.h"

namespace zkapex {

// "The committed vector v, of length n, has multilinear extension `value` at `point`."
struct ProverPair {
  std::vector<Scalar> vector;
  Scalar blinding;  // of the commitment to v
  std::vector<Scalar> point;
  Scalar value;
};

struct ProverProduct {
  Scalar a, b, c;  // claimed: a b = c; all three were sent
};

// What hears of progress, and stops nothing.
inline Status go_on() { return Done{}; }

// How a relation's prover works; none of it shows in the proof.
struct ProveOptions {
  Scratch scratch;                           // for vectors that wait for the end
  std::function<Status()> progress = go_on;  // hears of every fork that is done; its error ends the proof
  Tamper* tamper = nullptr;
};

// An error if the generators are too few for a proof of this shape.
[[nodiscard]] Status require_generators(const Generators& generators, const ProofShape& shape);

// One uniform scalar for each that will be sent, and two masks for each product after them.
struct Pads {
  SecretVector<Scalar> values;
  Wiped<Scalar> blinding;
  EncodedPoint commitment;

  // `generators` has at least shape.generators() positions.
  [[nodiscard]] static Pads draw(const ProofShape& shape, Nonces& nonces, const Generators& generators,
                                 ThreadPool& pool);
};

class ArgumentProver {
 public:
  // `main` has absorbed all that comes before the first challenge: the rows and the commitment to the pads are part of
  // it.
  ArgumentProver(const Generators& generators, ProofShape shape, Transcript main, std::vector<EncodedPoint> rows,
                 Pads pads, Nonces nonces, ThreadPool& pool, ProveOptions options);

  [[nodiscard]] ThreadPool& pool() { return pool_; }
  // The main transcript, for challenges that come before the forks.
  [[nodiscard]] Transcript& main() { return main_; }

  // Rows that depend on a challenge: commit(nonces) makes them, with nonces keyed anew by all that was said and drawn,
  // and the main transcript absorbs them.
  template <class Commit>
  [[nodiscard]] Result<CommittedRows> commit_rows(std::string_view label, const Commit& commit) {
    nonces_.rekey(main_.state());
    ZKAPEX_TRY(CommittedRows rows, commit(nonces_));
    main_.absorb(label, rows.encoded);
    proof_.rows.insert(proof_.rows.end(), rows.encoded.begin(), rows.encoded.end());
    return rows;
  }
  // body(k, channel) for every fork of the shape, then the ends of all of them on the main transcript.
  template <class Body>
  [[nodiscard]] Status for_forks(std::string_view name, const Body& body) {
    std::vector<Transcript> forks;
    size_t first_pad = 0;
    for (size_t k = 0; k < shape_.forks.size(); ++k) {
      forks.push_back(main_.fork(name, k));
      Sender channel(forks.back(), pads(first_pad, shape_.forks[k]), proof_.forks[k]);
      ZKAPEX_CHECK(body(k, channel));
      first_pad += shape_.forks[k];
      ZKAPEX_CHECK(options_.progress());
    }
    for (const Transcript& fork : forks) main_.absorb("fork", fork);
    return Done{};
  }

  // The vector of a pair need not stay in memory until the end.
  [[nodiscard]] Status add_pair(ProverPair pair);
  void add_product(const ProverProduct& product) { products_.push_back(product); }

  // After the forks. `replay` is the relation's verifier up to the opening, run on the proof without one: it tells what
  // there is to open. An error if the witness does not satisfy the relation.
  [[nodiscard]] Result<Proof> finish(const std::function<OpeningClaim(const Proof&)>& replay);

 private:
  struct KeptPair {
    KeptVector vector;
    Scalar blinding;
    std::vector<Scalar> point;
    Scalar value;
  };
  [[nodiscard]] std::span<const Scalar> pads(size_t first, size_t count) const {
    return {pads_.values.data() + first, count};
  }
  Status reduce_pairs(Sender& channel);
  // t* + ζ pads: what is opened.
  Result<SecretVector<Scalar>> opened_vector(std::span<const Scalar> weights, const Scalar& zeta);
  void mask_products(Sender& channel);

  const Generators& generators_;
  ProofShape shape_;
  Transcript main_;
  Pads pads_;
  Nonces nonces_;
  ThreadPool& pool_;
  ProveOptions options_;
  std::vector<KeptPair> pairs_;
  std::vector<ProverProduct> products_;
  Proof proof_;
};

}  // namespace zkapex
