// Malicious provers of a range by projection, and the lemma that it rests on. Each lie is pushed down to a chosen last
// check; `make mutants` shows that each of these tests fails when its check is removed.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"
#include "argument/attacks/simulator_testing.h"
#include "argument/projected_range_relation.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// Three rows of two chunks each, the last row the only one of its unit; honest entries are at most 7.
const ProjectedRangeStatement kStatement{
    "attack", {.row_length = 8, .rows = 3, .chunk = 4, .count = 4, .bits = 6, .units = {2, 1}}};
const ProjectionShape& kShape = kStatement.projection;

AnyRelation projected() { return std::make_shared<ProjectedRangeRelation>(kStatement); }

std::vector<Scalar> honest_rows() {
  std::mt19937_64 rng(17);
  std::vector<Scalar> out(kShape.rows * kShape.row_length);
  for (Scalar& s : out) s = Scalar::from_i64(static_cast<int64_t>(rng() % 15) - 7);
  return out;
}

// v(t, c, q) in the field.
std::vector<Scalar> projections(const TernaryMatrix& matrix, std::span<const Scalar> rows) {
  std::vector<Scalar> out(rows.size() / kShape.chunk * kShape.count);
  for (size_t chunk = 0; chunk < rows.size() / kShape.chunk; ++chunk) {
    for (size_t q = 0; q < kShape.count; ++q) {
      Scalar& v = out[chunk * kShape.count + q];
      for (size_t l = 0; l < kShape.chunk; ++l) {
        if (matrix.at(q, l) == 1) v += rows[chunk * kShape.chunk + l];
        if (matrix.at(q, l) == -1) v -= rows[chunk * kShape.chunk + l];
      }
    }
  }
  return out;
}

bool fits(const Scalar& v, unsigned bits) {
  const std::array<uint64_t, 4> from_below = (v + Scalar::from_u64(uint64_t{1} << (bits - 1))).canonical_limbs();
  return from_below[0] >> bits == 0 && from_below[1] == 0 && from_below[2] == 0 && from_below[3] == 0;
}

// What v is written as: e bits, two's complement. What does not fit is written as 0, or whole, in the lowest plane.
enum class Misfit { kZero, kWhole };
Planes planes_of(std::span<const Scalar> values, Misfit misfit) {
  Planes out(kShape.bits, std::vector<Scalar>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!fits(values[i], kShape.bits)) {
      if (misfit == Misfit::kWhole) out[0][i] = values[i];
      continue;
    }
    const uint64_t word = (values[i] + Scalar::from_u64(32)).canonical_limbs()[0] ^ 32;
    for (unsigned k = 0; k < kShape.bits; ++k) out[k][i] = Scalar::from_u64(word >> k & 1);
  }
  return out;
}

class ProjectionAttack : public ::testing::Test {
 protected:
  Verdict attack(const std::vector<Scalar>& rows, Liar& liar, Misfit misfit = Misfit::kZero, uint64_t seed = 1) {
    DishonestProver p(projected(), seed, pool_, &liar);
    for (size_t t = 0; t < kShape.rows; ++t) p.add_row(row(rows, t));
    p.add_pads();
    run(p, rows, misfit);
    return p.hand_in();
  }

  void run(DishonestProver& p, const std::vector<Scalar>& rows, Misfit misfit) {
    Transcript main = p.begin();
    const TernaryMatrix matrix = draw_projection(kShape, main.challenge("projection"), 0);
    true_v_ = projections(matrix, rows);
    std::vector<Planes> units;
    size_t first = 0;
    for (const size_t unit_rows : kShape.units) {
      const size_t size = unit_rows * kShape.row_length;
      units.push_back(planes_of(std::span(true_v_).subspan(first, size), misfit));
      for (const auto& plane : units.back()) {
        for (size_t t = 0; t < unit_rows; ++t) p.add_row(row(plane, t));
      }
      first += size;
    }
    main.absorb("projections", std::span(p.proof.rows).subspan(kShape.rows));
    std::vector<Transcript> forks;
    std::vector<ProverPair> pairs;
    std::vector<ProverProduct> products;
    for (size_t k = 0; k < units.size(); ++k) {
      Transcript& fork = forks.emplace_back(main.fork("part", k));
      Sender channel = p.fork(k, fork);
      p.run_unit(fork, channel, kShape.units[k], units[k], pairs, products);
    }
    Transcript& fork = forks.emplace_back(main.fork("part", units.size()));
    Sender channel = p.fork(units.size(), fork);
    link(fork, channel, matrix, rows, units, pairs);
    p.finish(main, forks, pairs, products);
  }

  void link(Transcript& fork, Sender& channel, const TernaryMatrix& matrix, const std::vector<Scalar>& rows,
            const std::vector<Planes>& units, std::vector<ProverPair>& pairs) {
    const size_t n = kShape.row_length;
    const std::vector<Scalar> tau = fork.challenges("tau", 3), rho = fork.challenges("rho", 2);
    const std::vector<Scalar> tau_row = eq_table(std::span(tau).first(2)), tau_chunk = eq_table(std::span(tau).last(1));
    std::vector<Scalar> f(n), weights, folded = matrix.fold(eq_prefix(rho, kShape.count), pool_);
    for (size_t i = 0; i < rows.size(); ++i) f[i % n] += tau_row[i / n] * rows[i];
    for (const Scalar& chunk : tau_chunk) {
      for (const Scalar& entry : folded) weights.push_back(chunk * entry);
    }
    std::vector<Scalar> written(n);  // the rows of v, folded by τ_t: a row of v for each of the T
    const std::vector<Scalar> signs = sign_weights(kShape.bits);
    size_t t = 0;
    for (size_t unit = 0; unit < units.size(); ++unit) {
      for (size_t i = 0; i < units[unit][0].size(); ++i) {
        for (unsigned k = 0; k < kShape.bits; ++k) written[i % n] += tau_row[t + i / n] * signs[k] * units[unit][k][i];
      }
      t += kShape.units[unit];
    }
    std::vector<Scalar> position(tau.begin() + 2, tau.end());
    position.insert(position.end(), rho.begin(), rho.end());
    true_value_ = evaluate(true_v_, [&] {
      std::vector<Scalar> point = tau;
      point.insert(point.end(), rho.begin(), rho.end());
      return point;
    }());
    const Scalar v = channel.send("v", {evaluate(written, position)})[0];
    Sumcheck sumcheck{.variables = 3,
                      .degree = 2,
                      .tables = {{f}, {std::move(weights)}},
                      .terms = {{Scalar::one(), {0, 1}}},
                      .eq_point = {},
                      .bits = {}};
    const SumcheckProof end = prove_sumcheck(channel, "link", std::move(sumcheck), v, pool_);
    const Scalar f_xi = channel.send("f", {end.tables[0]}, {{end.tables[1]}}, end.claim)[0];
    pairs.push_back({written, {}, position, v});
    pairs.push_back({f, {}, end.point, f_xi});
  }

  static std::vector<Scalar> row(const std::vector<Scalar>& values, size_t t) {
    const auto first = values.begin() + static_cast<ptrdiff_t>(t * kShape.row_length);
    return {first, first + static_cast<ptrdiff_t>(kShape.row_length)};
  }
  static std::vector<Scalar> with_entry(size_t at, const Scalar& value) {
    std::vector<Scalar> out = honest_rows();
    out[at] = value;
    return out;
  }
  // With λ = 4, one try in sixteen may be lucky; nobody says so in the test of a verifier.
  template <class Attack>
  void with_misfit(const Attack& try_seed) {
    for (uint64_t seed = 1; seed < 64; ++seed) {
      if (try_seed(seed)) return;
    }
    FAIL() << "every projection fits";
  }
  [[nodiscard]] bool something_does_not_fit() const {
    return !std::ranges::all_of(true_v_, [](const Scalar& v) { return fits(v, kShape.bits); });
  }

  ThreadPool pool_{1};
  std::vector<Scalar> true_v_;
  Scalar true_value_;
};

const Scalar kTooLarge = Scalar::from_u64(64);  // 2^e

TEST_F(ProjectionAttack, TheProverOfTheAttacksIsSoundWhenItDoesNotLie) {
  Liar liar;
  const Verdict verdict = attack(honest_rows(), liar);
  EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
}

// In every place: the first and the last row, both chunks, next to the end.
TEST_F(ProjectionAttack, OneLargeEntryWithoutALie) {
  for (const size_t at : {0U, 3U, 4U, 7U, 12U, 16U, 20U, 23U}) {
    for (const Scalar& value : {kTooLarge, -kTooLarge, Scalar::from_u64(2).inverse(), -Scalar::from_u64(2).inverse()}) {
      with_misfit([&](uint64_t seed) {
        Liar liar;
        const Verdict verdict = attack(with_entry(at, value), liar, Misfit::kZero, seed);
        if (!something_does_not_fit()) return false;
        expect_false(verdict);
        return true;
      });
    }
  }
}

TEST_F(ProjectionAttack, TwoLargeEntriesThatCancelInSomeProjections) {
  with_misfit([&](uint64_t seed) {
    Liar liar;
    std::vector<Scalar> rows = with_entry(1, kTooLarge);
    rows[2] = -kTooLarge;
    const Verdict verdict = attack(rows, liar, Misfit::kZero, seed);
    if (!something_does_not_fit()) return false;
    expect_false(verdict);
    return true;
  });
}

TEST_F(ProjectionAttack, ProjectionsThatAreNoBits) {
  with_misfit([&](uint64_t seed) {
    Liar liar;
    const Verdict verdict = attack(with_entry(20, kTooLarge), liar, Misfit::kWhole, seed);
    if (!something_does_not_fit()) return false;
    expect_false(verdict);
    return true;
  });
}

// The value of v that the rows have, where the committed bits have another.
TEST_F(ProjectionAttack, LieInTheValueOfV) {
  with_misfit([&](uint64_t seed) {
    Liar liar;
    liar.at("part 2", "v", [&](std::span<Scalar> v, std::span<const Scalar>, const Scalar&) { v[0] = true_value_; });
    const Verdict verdict = attack(with_entry(20, kTooLarge), liar, Misfit::kZero, seed);
    if (!something_does_not_fit()) return false;
    expect_false(verdict);
    return true;
  });
}

// The value of the folded rows that would have the projections that are committed.
TEST_F(ProjectionAttack, LieInTheValueOfTheRows) {
  with_misfit([&](uint64_t seed) {
    Liar liar;
    liar.at("part 2", "f", Liar::close_gap(0));
    const Verdict verdict = attack(with_entry(20, kTooLarge), liar, Misfit::kZero, seed);
    if (!something_does_not_fit()) return false;
    expect_false(verdict);
    return true;
  });
}

// A prover that could choose rows, projections or pads when it knows the challenges.
TEST_F(ProjectionAttack, LateShifts) {
  const DishonestProver start = false_proof(projected(), pool_);
  for (size_t row = 0; row < start.shape().rows; ++row) {
    DishonestProver p = start;
    p.proof.rows[row] = late_shift_of_row(p, row, pool_);
    expect_false(p.hand_in());
  }
  for (size_t fork = 0; fork < start.proof.forks.size(); ++fork) {
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p.hand_in());
    }
  }
  DishonestProver p = start;
  late_shift_of_pad(p, pool_);
  expect_false(p.hand_in());
}

TEST_F(ProjectionAttack, TheSimulatorNeedsNoWitness) {
  std::mt19937_64 rng(23);
  expect_simulated(ProjectedRangeRelation(kStatement), rng, pool_);
}

TEST_F(ProjectionAttack, ProofsOfTwoWitnessesShareNothing) {
  const std::vector<int64_t> zeros(24), sevens(24, 7);
  std::vector<Proof> proofs;
  for (const auto& values : {zeros, zeros, sevens}) {
    proofs.push_back(prove_projected_range(kStatement, values, test_generators(), pool_).value());
  }
  expect_nothing_shared(proofs);
}

// The lemma: whatever the other entries are, one of size 2^e passes λ rows with probability at most 2^−λ.
TEST(ProjectionLemma, ALargeEntryPassesAsRarelyAsItShould) {
  constexpr unsigned kCount = 8;
  constexpr uint64_t kTries = 20000;
  ProjectionShape shape = kShape;
  shape.count = kCount;
  const Scalar half = Scalar::from_u64(2).inverse();  // (ℓ + 1) / 2
  const Scalar bound = Scalar::from_u64(64);
  const std::vector<std::vector<Scalar>> vectors = {
      {bound, {}, {}, {}},         {{}, {}, {}, -bound},         {half, {}, {}, {}},   {-half, {}, {}, {}},
      {bound, -bound, {}, {}},     {bound, bound, bound, bound}, {half, half, {}, {}}, {half, -half, half, half},
      {half, bound, -bound, half}, {half + bound, half, {}, {}}};
  for (size_t k = 0; k < vectors.size(); ++k) {
    uint64_t passed = 0;
    for (uint64_t seed = 0; seed < kTries; ++seed) {
      const TernaryMatrix matrix = draw_projection(shape, Scalar::from_u64(seed + kTries * k), 0);
      bool all = true;
      for (size_t q = 0; q < kCount && all; ++q) {
        Scalar v;
        for (size_t l = 0; l < 4; ++l) {
          if (matrix.at(q, l) == 1) v += vectors[k][l];
          if (matrix.at(q, l) == -1) v -= vectors[k][l];
        }
        all = fits(v, shape.bits);
      }
      passed += all ? 1 : 0;
    }
    // 20000 / 256 = 78 expected at most; five deviations more.
    EXPECT_LE(passed, 78U + 45U) << k;
  }
}

}  // namespace
}  // namespace zkapex
