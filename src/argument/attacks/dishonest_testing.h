// A prover for the tests that commits to whatever it is told to, says whatever it is told to, and follows the protocol
// otherwise. It knows the openings of all its commitments in full, stray components included, and opens exactly what
// the verifier's replay asks for: where a check is missing in the verifier, its lies pass.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "algebra/msm.h"
#include "algebra/multilinear.h"
#include "argument/argument_testing.h"
#include "argument/plane_rounds.h"
#include "argument/sumcheck.h"
#include "base/bits.h"

namespace zkapex::testing {

// Lies by label of the message. `gap` is what the equation at hand is short of: claim − Σ coefficients · values.
class Liar : public Tamper {
 public:
  using Lie = std::function<void(std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap)>;

  // At the message `label` of the transcript `where`.
  void at(const std::string& where, const std::string& label, Lie lie) { lies_[where + "/" + label] = std::move(lie); }
  // The lie that makes the equation at hand true by changing value k.
  static Lie close_gap(size_t k) {
    return [k](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
      values[k] += gap * coefficients[k].inverse();
    };
  }
  void send(const std::string& transcript, std::string_view label, std::span<Scalar> values,
            std::span<const Scalar> coefficients, const Scalar& claim) override {
    const std::string key = transcript + "/" + std::string(label);
    Scalar gap = claim;
    for (size_t k = 0; k < coefficients.size(); ++k) gap -= coefficients[k] * values[k];
    gaps[key] = gap;
    if (const auto lie = lies_.find(key); lie != lies_.end()) lie->second(values, coefficients, gap);
  }

  std::map<std::string, Scalar> gaps;  // seen on the way, by transcript/label

 private:
  std::map<std::string, Lie> lies_;
};

struct OpenCommitment {
  std::vector<Scalar> vector;  // over all n' generators
  Scalar blinding;

  [[nodiscard]] EncodedPoint encode(ThreadPool& pool) const {
    const Generators& g = test_generators();
    return (msm_var(vector, g.positions().first(vector.size()), pool).value() + multiply(g.blinding(), blinding))
        .encode();
  }
};

using Planes = std::vector<std::vector<Scalar>>;  // by plane, then by index in the unit

class DishonestProver {
 public:
  DishonestProver(AnyRelation relation, uint64_t seed, ThreadPool& pool, Tamper* tamper = nullptr)
      : relation_(std::move(relation)), shape_(relation_->shape()), pool_(pool), rng_(seed), tamper_(tamper) {
    proof.forks.resize(shape().forks.size());
  }

  [[nodiscard]] const ProofShape& shape() const { return shape_; }

  // `entries` may reach beyond the row, to the positions of pads.
  void add_row(std::vector<Scalar> entries) {
    entries.resize(shape().generators());
    rows.push_back({std::move(entries), random_scalar(rng_)});
    proof.rows.push_back(rows.back().encode(pool_));
  }
  // Uniform pads, and `stray` at the positions of rows.
  void add_pads(std::vector<Scalar> stray = {}) {
    pads.vector = std::move(stray);
    pads.vector.resize(shape().row_length);
    const std::vector<Scalar> uniform = random_scalars(rng_, shape().pads());
    pads.vector.insert(pads.vector.end(), uniform.begin(), uniform.end());
    pads.blinding = random_scalar(rng_);
    proof.pads = pads.encode(pool_);
  }
  [[nodiscard]] Transcript begin() const { return testing::begin(*relation_, proof, tamper_); }
  Sender fork(size_t index, Transcript& transcript) {
    size_t first = 0;
    for (size_t k = 0; k < index; ++k) first += shape().forks[k];
    return {transcript, pad_span(first, shape().forks[index]), proof.forks[index]};
  }

  // The messages of a unit whose planes need not hold bits, with its pair and its product.
  void run_unit(Transcript& fork, Sender& channel, size_t unit_rows, const Planes& planes,
                std::vector<ProverPair>& pairs, std::vector<ProverProduct>& products) {
    const size_t n = shape().row_length;
    const unsigned row_variables = log2_ceil(unit_rows), variables = row_variables + log2_ceil(n);
    const std::vector<Scalar> tau_k = fork.challenges("tau_k", log2_ceil(planes.size()));
    const std::vector<Scalar> tau = fork.challenges("tau", variables);
    const std::vector<Scalar> weight = eq_table(tau_k);
    Sumcheck sumcheck{.variables = variables, .degree = 3, .tables = {}, .terms = {}, .eq_point = tau, .bits = {}};
    for (unsigned b = 0; b < planes.size(); ++b) {
      sumcheck.tables.push_back({planes[b]});
      sumcheck.terms.push_back({weight[b], {b, b}, true});
      sumcheck.terms.push_back({-weight[b], {b}, true});
    }
    const SumcheckProof end = prove_sumcheck(channel, "bits", std::move(sumcheck), Scalar::zero(), pool_);
    points[fork.name() + "/bits"] = end.point;
    Scalar rest;
    for (size_t b = 0; b < planes.size(); ++b) rest += weight[b] * (end.tables[b] * end.tables[b] - end.tables[b]);
    rest = channel.send("rest", {rest}, {{eq(tau, end.point)}}, end.claim)[0];
    const ProverPlanes proved = prove_planes(channel, tau_k, end.tables, rest, pool_);
    points[fork.name() + "/planes"] = proved.kappa;

    const std::span<const Scalar> r(end.point);
    const std::vector<Scalar> plane_weight = eq_table(proved.kappa), row_weight = eq_table(r.first(row_variables));
    ProverPair pair{std::vector<Scalar>(n), {}, {}, proved.b};
    for (size_t b = 0; b < planes.size(); ++b) {
      for (size_t i = 0; i < planes[b].size(); ++i) {
        pair.vector[i % n] += plane_weight[b] * row_weight[i / n] * planes[b][i];
      }
    }
    pair.point.assign(r.begin() + row_variables, r.end());
    pairs.push_back(std::move(pair));
    products.push_back({proved.b, proved.b, proved.square});
  }

  // The main transcript's messages: the pairs brought to one point, then the products.
  void finish(Transcript& main, std::span<const Transcript> forks, const std::vector<ProverPair>& pairs,
              std::span<const ProverProduct> products) {
    for (const Transcript& f : forks) main.absorb("fork", f);
    const size_t first = shape().sealed_scalars() - shape().main_scalars();
    Sender channel(main, pad_span(first, shape().main_scalars()), proof.main);
    const Scalar beta = seen["beta"] = main.challenge("beta");
    const std::vector<Scalar> weight = powers(beta, pairs.size());
    Sumcheck sumcheck{
        .variables = shape().position_rounds(), .degree = 2, .tables = {}, .terms = {}, .eq_point = {}, .bits = {}};
    Scalar claim;
    for (unsigned p = 0; p < pairs.size(); ++p) {
      sumcheck.tables.push_back({pairs[p].vector});
      sumcheck.tables.push_back({eq_table(pairs[p].point)});
      sumcheck.terms.push_back({weight[p], {2 * p, 2 * p + 1}});
      claim += weight[p] * pairs[p].value;
    }
    const SumcheckProof end = prove_sumcheck(channel, "position", std::move(sumcheck), claim, pool_);
    points["position"] = end.point;
    std::vector<Scalar> values, coefficients;
    for (size_t p = 0; p < pairs.size(); ++p) {
      values.push_back(end.tables[2 * p]);
      coefficients.push_back(weight[p] * end.tables[2 * p + 1]);
    }
    channel.send("t(xi)", values, coefficients, end.claim);
    seen["beta'"] = main.challenge("beta'");
    mask_products(channel, products);
  }

  // What the weighted sum of all equations is short of: the opening, less its factor ζ.
  [[nodiscard]] Scalar error() const {
    const OpeningClaim all = claim();
    return (all.value - inner_product(opened(all).vector, all.vector.entries())) * all.pad_weight.inverse();
  }
  [[nodiscard]] OpeningClaim claim() const {
    Transcript main = begin();
    return replay(*relation_, shape_, proof, main, pool_);
  }

  // Opens what the verifier asks for, and hands the proof in.
  [[nodiscard]] Verdict hand_in() {
    Transcript main = begin();
    const OpeningClaim claim = replay(*relation_, shape_, proof, main, pool_);
    const OpenCommitment commitment = opened(claim);
    Result<Nonces> nonces = Nonces::create({});
    if (!nonces) return Rejection{Reason::kStatement, nonces.error().message};
    proof.opening = prove_inner_product(main, test_generators(), SecretVector<Scalar>(commitment.vector),
                                        commitment.blinding, claim.vector.entries(), *nonces, pool_);
    return verify_with(*relation_, proof.encode(), pool_);
  }

  Proof proof;
  std::vector<OpenCommitment> rows;
  OpenCommitment pads;
  std::map<std::string, Scalar> seen;                 // challenges of the main transcript
  std::map<std::string, std::vector<Scalar>> points;  // where the sumchecks ended
  std::optional<Scalar> foreseen_e;  // "known" before T0 is sent: T0 then makes the products' equation true

 private:
  [[nodiscard]] std::span<const Scalar> pad_span(size_t first, size_t count) const {
    return std::span<const Scalar>(pads.vector).subspan(shape().row_length + first, count);
  }

  [[nodiscard]] OpenCommitment opened(const OpeningClaim& claim) const {
    OpenCommitment out{std::vector<Scalar>(shape().generators()), claim.pad_weight * pads.blinding};
    const auto add = [&](const OpenCommitment& part, const Scalar& weight) {
      for (size_t k = 0; k < out.vector.size(); ++k) out.vector[k] += weight * part.vector[k];
    };
    add(pads, claim.pad_weight);
    for (const auto& [row, weight] : claim.commitment) {
      add(rows[row], weight);
      out.blinding += weight * rows[row].blinding;
    }
    return out;
  }

  void mask_products(Sender& channel, std::span<const ProverProduct> products) {
    Transcript& main = channel.transcript();
    const Scalar omega = seen["omega"] = main.challenge("omega");
    const std::span<const Scalar> mask = pad_span(shape().sealed_scalars(), 2 * products.size());
    const auto masked = [&](const Scalar& e) {
      std::vector<Scalar> z;
      for (size_t t = 0; t < products.size(); ++t) {
        z.push_back(mask[2 * t] + e * products[t].a);
        z.push_back(mask[2 * t + 1] + e * products[t].b);
      }
      return z;
    };
    std::vector<Scalar> weight{Scalar::one()};
    while (weight.size() < products.size()) weight.push_back(weight.back() * omega);
    Scalar t0, t1;
    for (size_t t = 0; t < products.size(); ++t) {
      t0 += weight[t] * mask[2 * t] * mask[2 * t + 1];
      t1 += weight[t] * (mask[2 * t] * products[t].b + mask[2 * t + 1] * products[t].a);
    }
    // Σ ω^t (z_a z_b − e² c), which T0 + e T1 must be
    const auto product_sum = [&](const Scalar& e, std::span<const Scalar> z) {
      Scalar sum;
      for (size_t t = 0; t < products.size(); ++t) {
        sum += weight[t] * (z[2 * t] * z[2 * t + 1] - e * e * products[t].c);
      }
      return sum;
    };
    if (foreseen_e) t0 = product_sum(*foreseen_e, masked(*foreseen_e)) - *foreseen_e * t1;
    const std::vector<Scalar> sent = channel.send("T0, T1", {t0, t1});
    const Scalar e = seen["e"] = main.challenge("e");
    proof.masked_factors = masked(e);
    if (tamper_ != nullptr) {
      // In z_a of the first product: Σ ω^t (z_a z_b − e² c) − T0 − e T1 = 0.
      const std::vector<Scalar> slopes{proof.masked_factors[1], proof.masked_factors[0]};
      const Scalar missing = sent[0] + e * sent[1] - product_sum(e, proof.masked_factors);
      Scalar claim = missing;
      for (size_t k = 0; k < 2; ++k) claim += slopes[k] * proof.masked_factors[k];
      tamper_->send(main.name(), "masked factors", proof.masked_factors, slopes, claim);
    }
    main.absorb("masked factors", proof.masked_factors);
  }

  AnyRelation relation_;
  ProofShape shape_;
  ThreadPool& pool_;
  std::mt19937_64 rng_;
  Tamper* tamper_;
};

// Any scalars at all: every equation is false. `statement_rows` open the rows that the statement brings.
inline DishonestProver false_proof(const AnyRelation& relation, ThreadPool& pool,
                                   const std::vector<OpenCommitment>& statement_rows = {}) {
  std::mt19937_64 rng(41);
  DishonestProver p(relation, 1, pool);
  for (size_t k = 0; k < p.shape().rows; ++k) p.add_row(random_scalars(rng, p.shape().row_length));
  p.rows.insert(p.rows.end(), statement_rows.begin(), statement_rows.end());
  p.add_pads();
  for (size_t k = 0; k < p.shape().forks.size(); ++k) p.proof.forks[k] = random_scalars(rng, p.shape().forks[k]);
  p.proof.main = random_scalars(rng, p.shape().main_scalars());
  p.proof.masked_factors = random_scalars(rng, 2 * p.shape().products);
  return p;
}

// Moves a scalar of p's proof, after all challenges are known, by what the final equation is short of: the error is
// affine in it as long as the challenges stay the same.
inline void late_shift(DishonestProver& p, Scalar& scalar) {
  const Scalar error = p.error();
  scalar += Scalar::one();
  const Scalar slope = p.error() - error;
  scalar -= Scalar::one() + error * slope.inverse();
}

// The same for a row, of the proof or of the statement: opens it to what the final equation is short of. It may occur
// in several pairs.
inline EncodedPoint late_shift_of_row(DishonestProver& p, size_t row, ThreadPool& pool) {
  const OpeningClaim claim = p.claim();
  Scalar weight;
  for (const auto& [index, coefficient] : claim.commitment) {
    if (index == row) weight += coefficient;
  }
  p.rows[row].vector[3] += p.error() * claim.pad_weight * (weight * claim.vector.entries()[3]).inverse();
  return p.rows[row].encode(pool);
}

// The same for the first pad.
inline void late_shift_of_pad(DishonestProver& p, ThreadPool& pool) {
  const size_t position = p.shape().row_length;
  p.pads.vector[position] += p.error() * p.claim().vector.entries()[position].inverse();
  p.proof.pads = p.pads.encode(pool);
}

inline void expect_false(const Verdict& verdict) {
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kEquation) << verdict.error().detail;
}

// The change of a round's X² coefficient that hides that its claim is too large by `excess`, if the round's challenge
// will be x.
inline Scalar round_lie(const Scalar& excess, const Scalar& x) { return -(excess * (x - Scalar::one()).inverse()); }

// A square root mod ℓ, where there is one.
inline std::optional<Scalar> square_root(const Scalar& a) {
  // ℓ = 5 mod 8: a^((ℓ+3)/8), times √−1 = 2^((ℓ−1)/4) if need be.
  const auto power = [](const Scalar& base, const std::array<uint64_t, 4>& exponent) {
    Scalar out = Scalar::one();
    for (unsigned bit = 256; bit-- > 0;) {
      out = out.square();
      if ((exponent[bit / 64] >> (bit % 64) & 1) != 0) out *= base;
    }
    return out;
  };
  const std::array<uint64_t, 4> minus_one = (-Scalar::one()).canonical_limbs();  // ℓ − 1
  const auto shifted = [](std::array<uint64_t, 4> v, unsigned by) {
    for (size_t k = 0; k < 4; ++k) v[k] = v[k] >> by | (k < 3 ? v[k + 1] << (64 - by) : 0);
    return v;
  };
  // (ℓ + 3) / 8 = (ℓ − 1 + 4) / 8 = ((ℓ − 1) / 4 + 1) / 2; (ℓ − 1) / 4 is odd, so its half, rounded down, plus one.
  std::array<uint64_t, 4> eighth = shifted(minus_one, 3);
  eighth[0] += 1;
  Scalar root = power(a, eighth);
  if (root.square() != a) root *= power(Scalar::from_u64(2), shifted(minus_one, 2));
  if (root.square() != a) return std::nullopt;
  return root;
}

// b and b² that satisfy the planes' equation though neither is true; false if the quadratic has no root.
inline Liar::Lie solve_b(bool& solved) {
  return [&solved](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
    // coefficients are −w, w: b² − b = (gap + w (b_0² − b_0)) / w =: d, so b = (1 + √(1 + 4d)) / 2
    const Scalar d = values[1] - values[0] + gap * coefficients[1].inverse();
    const auto root = square_root(Scalar::one() + Scalar::from_u64(4) * d);
    solved = root.has_value();
    if (!solved) return;
    values[0] = (Scalar::one() + *root) * Scalar::from_u64(2).inverse();
    values[1] = values[0].square();
  };
}

}  // namespace zkapex::testing
