#include "argument/prover.h"

#include <algorithm>

#include "algebra/msm.h"
#include "algebra/multilinear.h"
#include "argument/eq_weights.h"
#include "argument/sumcheck.h"
#include "base/first_error.h"

namespace zkapex {

Status require_generators(const Generators& generators, const ProofShape& shape) {
  if (generators.size() >= shape.generators()) return Done{};
  return error("{} generators are given, this proof needs {}", generators.size(), shape.generators());
}

Pads Pads::draw(const ProofShape& shape, Nonces& nonces, const Generators& generators, ThreadPool& pool) {
  Pads out{nonces.scalars(shape.pads()), Wiped<Scalar>(nonces.scalar()), {}};
  const std::span<const AffinePoint> positions = generators.positions().subspan(shape.row_length, out.values.size());
  out.commitment = (msm_var({out.values.data(), out.values.size()}, positions, pool).value() +
                    multiply(generators.blinding(), *out.blinding))
                       .encode();
  return out;
}

ArgumentProver::ArgumentProver(const Generators& generators, ProofShape shape, Transcript main,
                               std::vector<EncodedPoint> rows, Pads pads, Nonces nonces, ThreadPool& pool,
                               ProveOptions options)
    : generators_(generators),
      shape_(std::move(shape)),
      main_(std::move(main)),
      pads_(std::move(pads)),
      nonces_(std::move(nonces)),
      pool_(pool),
      options_(std::move(options)) {
  proof_.rows = std::move(rows);
  proof_.pads = pads_.commitment;
  proof_.forks.resize(shape_.forks.size());
}

namespace {

// Entries of all pairs' tables that stay in memory between rounds.
constexpr size_t kEntriesInMemory = size_t{1} << 18;

// Σ_l t(l) eq(point, l) under sumcheck: eq is never stored, each round knows its factor of it. A table is put away
// between rounds until it has at most `short_table` entries.
class PairProver {
 public:
  PairProver(const KeptVector& vector, std::span<const Scalar> point, size_t short_table)
      : vector_(vector), point_(point), short_table_(short_table) {}

  struct Round {
    Scalar constant, square;  // the round polynomial's coefficients of 1 and X²
  };
  Result<Round> round() const {
    if (!table_.empty()) return round_of(table_);
    ZKAPEX_TRY(const std::vector<Scalar> table, put_away().load());
    return round_of(table);
  }

  Status bind(const Scalar& x, Scratch& scratch) {
    const Scalar& p = point_[point_.size() - 1 - bound_];
    scale_ *= Scalar::one() - p + x * (p + p - Scalar::one());
    ++bound_;
    if (!table_.empty()) {
      fold_low(table_, x);
      return Done{};
    }
    ZKAPEX_TRY(std::vector<Scalar> table, put_away().load());
    fold_low(table, x);
    table.shrink_to_fit();
    if (table.size() <= short_table_) {
      table_ = std::move(table);
      folded_ = {};
    } else if (folded_.size() > 0) {
      return folded_.replace(std::move(table));
    } else {
      ZKAPEX_TRY(folded_, scratch.keep(std::move(table)));
    }
    return Done{};
  }
  // After the last round.
  [[nodiscard]] Result<Scalar> value() const {
    if (!table_.empty()) return table_[0];
    ZKAPEX_TRY(const std::vector<Scalar> table, put_away().load());
    return table[0];
  }

 private:
  [[nodiscard]] const KeptVector& put_away() const { return folded_.size() > 0 ? folded_ : vector_; }

  [[nodiscard]] Round round_of(std::span<const Scalar> table) const {
    const auto variables = static_cast<unsigned>(point_.size());
    const EqWeights eq(point_, variables, bound_ + 1);
    ScalarAccumulator even, odd;
    const size_t pairs = table.size() / 2;
    for (size_t start = 0; start < pairs; start += EqWeights::kChunk) {
      ScalarAccumulator e, o;
      for (size_t i = start; i < std::min(pairs, start + EqWeights::kChunk); ++i) {
        e.add_product(eq.low()[i - start], table[2 * i]);
        o.add_product(eq.low()[i - start], table[2 * i + 1]);
      }
      even.add_product(eq.high(start / EqWeights::kChunk), e.reduce());
      odd.add_product(eq.high(start / EqWeights::kChunk), o.reduce());
    }
    // (zero + (one − zero) X)(even + (odd − even) X), eq's factor times the table's
    const Scalar t0 = even.reduce(), t1 = odd.reduce(), one = point_[variables - 1 - bound_],
                 zero = Scalar::one() - one;
    return {scale_ * zero * t0, scale_ * (one - zero) * (t1 - t0)};
  }

  const KeptVector& vector_;
  std::span<const Scalar> point_;
  size_t short_table_;
  KeptVector folded_;          // the table, while it is long
  std::vector<Scalar> table_;  // and when it is short
  Scalar scale_ = Scalar::one();
  unsigned bound_ = 0;
};

}  // namespace

Status ArgumentProver::add_pair(ProverPair pair) {
  ZKAPEX_TRY(KeptVector vector, options_.scratch.keep(std::move(pair.vector)));
  pairs_.push_back({std::move(vector), pair.blinding, std::move(pair.point), pair.value});
  return Done{};
}

// A sumcheck over the position in the row of Σ_p β^p Σ_l vector_p(l) eq(point_p, l).
Status ArgumentProver::reduce_pairs(Sender& channel) {
  const std::vector<Scalar> weight = powers(main_.challenge("beta"), pairs_.size());
  std::vector<PairProver> provers;
  Scalar claim;
  const size_t short_table = std::max<size_t>(1, kEntriesInMemory / std::max<size_t>(1, pairs_.size()));
  for (size_t p = 0; p < pairs_.size(); ++p) {
    provers.emplace_back(pairs_[p].vector, pairs_[p].point, short_table);
    claim += weight[p] * pairs_[p].value;
  }
  FirstError failed;
  std::vector<Scalar> xi;
  for (unsigned round = 0; round < shape_.position_rounds(); ++round) {
    std::vector<PairProver::Round> parts(pairs_.size());
    pool_.for_each(pairs_.size(), [&](size_t p) { failed.take(provers[p].round(), parts[p]); });
    std::vector<Scalar> message(2);
    for (size_t p = 0; p < pairs_.size(); ++p) {
      message[0] += weight[p] * parts[p].constant;
      message[1] += weight[p] * parts[p].square;
    }
    const std::string name = fmt::format("position round {}", round);
    message = channel.send(name, std::move(message));
    const Scalar x = main_.challenge(name);
    claim = bind_round<Scalar>(claim, message, Scalar::one(), x);
    pool_.for_each(pairs_.size(), [&](size_t p) { failed.note(provers[p].bind(x, options_.scratch)); });
    ZKAPEX_CHECK(failed.status());
    xi.insert(xi.begin(), x);
  }
  std::vector<Scalar> values, coefficients;
  for (size_t p = 0; p < pairs_.size(); ++p) {
    ZKAPEX_TRY(values.emplace_back(), provers[p].value());
    coefficients.push_back(weight[p] * eq(pairs_[p].point, xi));
  }
  channel.send("t(xi)", std::move(values), coefficients, claim);
  return Done{};
}

Result<SecretVector<Scalar>> ArgumentProver::opened_vector(std::span<const Scalar> weights, const Scalar& zeta) {
  SecretVector<Scalar> out(shape_.generators());
  for (size_t p = 0; p < pairs_.size(); ++p) {
    ZKAPEX_TRY(const std::vector<Scalar> vector, pairs_[p].vector.load());
    pool_.for_ranges(vector.size(), 1024, [&](size_t begin, size_t end) {
      for (size_t l = begin; l < end; ++l) out[l] += weights[p] * vector[l];
    });
  }
  for (size_t q = 0; q < pads_.values.size(); ++q) out[shape_.row_length + q] = zeta * pads_.values[q];
  return out;
}

void ArgumentProver::mask_products(Sender& channel) {
  const Scalar omega = main_.challenge("omega");
  const std::span<const Scalar> mask = pads(shape_.sealed_scalars(), 2 * products_.size());  // a', b' of each product
  Scalar constant, linear, weight = Scalar::one();
  for (size_t t = 0; t < products_.size(); ++t, weight *= omega) {
    const Scalar &a_mask = mask[2 * t], &b_mask = mask[2 * t + 1];
    constant += weight * a_mask * b_mask;
    linear += weight * (a_mask * products_[t].b + b_mask * products_[t].a);
  }
  channel.send("T0, T1", {constant, linear});
  const Scalar e = main_.challenge("e");
  for (size_t t = 0; t < products_.size(); ++t) {
    proof_.masked_factors.push_back(mask[2 * t] + e * products_[t].a);
    proof_.masked_factors.push_back(mask[2 * t + 1] + e * products_[t].b);
  }
  main_.absorb("masked factors", proof_.masked_factors);
}

Result<Proof> ArgumentProver::finish(const std::function<OpeningClaim(const Proof&)>& replay) {
  const size_t first = shape_.sealed_scalars() - shape_.main_scalars();
  Sender channel(main_, pads(first, shape_.main_scalars()), proof_.main);
  ZKAPEX_CHECK(reduce_pairs(channel));
  const std::vector<Scalar> weight = powers(main_.challenge("beta'"), pairs_.size());
  mask_products(channel);
  main_.challenge("lambda");  // used by the replay alone
  const Scalar zeta = main_.challenge("zeta");

  Wiped<Scalar> alpha(zeta * *pads_.blinding);
  for (size_t p = 0; p < pairs_.size(); ++p) *alpha += weight[p] * pairs_[p].blinding;
  ZKAPEX_TRY(SecretVector<Scalar> vector, opened_vector(weight, zeta));
  pairs_.clear();

  std::vector<Scalar> claimed;
  {
    const OpeningClaim claim = replay(proof_);
    claimed = claim.vector.entries();
    const std::span<const Scalar> opened(vector.data(), vector.size());
    if (options_.tamper == nullptr && inner_product(opened, claimed) != claim.value) {
      return error("the witness does not satisfy the relation: nothing was proved");
    }
  }
  proof_.opening =
      prove_inner_product(main_, generators_, std::move(vector), *alpha, std::move(claimed), nonces_, pool_);
  return std::move(proof_);
}

}  // namespace zkapex
