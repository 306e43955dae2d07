// Malicious provers of the worked layer relation.
#include <gtest/gtest.h>

#include "argument/bit_check.h"
#include "argument/bit_matrix.h"
#include "costs/layer_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

using Table = std::vector<Scalar>;

Table scalars(std::span<const int16_t> values) {
  Table out;
  for (const int16_t v : values) out.push_back(Scalar::from_i64(v));
  return out;
}

// One tile each of X, W and G, so that a point of a matrix is (row variables, column variables).
class LayerAttack : public ::testing::Test {
 protected:
  static constexpr size_t kSide = 2, kEntries = 4;
  static constexpr unsigned kVariables = 1;

  LayerAttack() {
    std::mt19937_64 rng(31);
    const LayerInstance instance = random_instance(LayerStatement{"attack", kSide, 1, 1, 1, 8, 2, {}}, rng, pool_);
    statement_ = instance.statement;
    operands_ = {scalars(instance.x), scalars(instance.w), scalars(instance.g)};
    operand_rows_ = open_operands(instance);
    for (const auto& part : instance.accumulators) honest_.push_back(planes_of(part));
  }

  using Planes = std::vector<Table>;  // bits of P, by plane
  [[nodiscard]] Planes planes_of(std::span<const int64_t> values) const {
    Planes out(statement_.planes());
    for (unsigned k = 0; k < out.size(); ++k) {
      for (const int64_t v : values) out[k].push_back(Scalar::from_u64(static_cast<uint64_t>(v) >> k & 1));
    }
    return out;
  }
  [[nodiscard]] Table value_of(const Planes& planes) const {
    Table out(kEntries);
    const std::vector<Scalar> weight = sign_weights(statement_.planes());
    for (size_t k = 0; k < planes.size(); ++k) {
      for (size_t i = 0; i < kEntries; ++i) out[i] += weight[k] * planes[k][i];
    }
    return out;
  }
  // P is off by one in one entry.
  [[nodiscard]] std::vector<Planes> wrong(size_t product, size_t entry = 1) const {
    std::vector<Planes> out = honest_;
    Scalar& bit = out[product][0][entry];
    bit = Scalar::one() - bit;
    return out;
  }
  // P is right, written with digits that are no bits: the result, its upper digits, is then anything.
  [[nodiscard]] std::vector<Planes> no_bits(size_t product) const {
    std::vector<Planes> out = honest_;
    out[product][2][3] += Scalar::one();        // one more in the result,
    out[product][1][3] -= Scalar::from_u64(2);  // which the digits to be rounded away pay for
    return out;
  }

  // `said`: the bits that the messages are computed from; `committed`: those behind the rows.
  Verdict attack(const std::vector<Planes>& said, const std::vector<Planes>& committed, Liar& liar, uint64_t seed = 1) {
    DishonestProver p(relation(statement_), seed, pool_, &liar);
    for (const Planes& planes : committed) {
      for (const Table& plane : planes) p.add_row(plane);
    }
    p.rows.insert(p.rows.end(), operand_rows_.begin(), operand_rows_.end());
    p.add_pads();
    Transcript main = p.begin();
    std::vector<Transcript> forks;
    std::vector<ProverPair> pairs;
    std::vector<ProverProduct> products;
    for (size_t k = 0; k < kLayerProducts; ++k) {
      Transcript& fork = forks.emplace_back(main.fork("product", k));
      run(k, said[k], committed[k], p.fork(k, fork), pairs, products);
    }
    p.finish(main, forks, pairs, products);
    return p.hand_in();
  }
  Verdict attack(const std::vector<Planes>& planes, Liar& liar, uint64_t seed = 1) {
    return attack(planes, planes, liar, seed);
  }

  void run(size_t k, const Planes& said, const Planes& committed, Sender channel, std::vector<ProverPair>& pairs,
           std::vector<ProverProduct>& products) {
    Transcript& fork = channel.transcript();
    const unsigned planes = statement_.planes();
    const std::vector<Scalar> tau_k = fork.challenges("tau_k", 4), tau = fork.challenges("tau", 2 * kVariables);
    const std::vector<Scalar> weight = eq_table(tau_k);
    Sumcheck bits{.variables = 2 * kVariables, .degree = 3, .tables = {}, .terms = {}, .eq_point = tau, .bits = {}};
    for (unsigned b = 0; b < planes; ++b) {
      bits.tables.push_back({said[b]});
      bits.terms.push_back({weight[b], {b, b}, true});
      bits.terms.push_back({-weight[b], {b}, true});
    }
    const SumcheckProof end = prove_sumcheck(channel, "bits", std::move(bits), Scalar::zero(), pool_);
    Scalar rest;
    for (unsigned b = 0; b < planes; ++b) rest += weight[b] * (end.tables[b] * end.tables[b] - end.tables[b]);
    rest = channel.send("rest", {rest}, {{eq(tau, end.point)}}, end.claim)[0];
    const ProverPlanes at_kappa = prove_planes(channel, tau_k, end.tables, rest, pool_);
    const std::vector<Scalar> kappa = eq_table(at_kappa.kappa);
    Table combined(kEntries);
    for (unsigned b = 0; b < planes; ++b) {
      for (size_t i = 0; i < kEntries; ++i) combined[i] += kappa[b] * committed[b][i];
    }
    pairs.push_back({combined, {}, end.point, at_kappa.b});
    products.push_back({at_kappa.b, at_kappa.b, at_kappa.square});

    // (left, its outer axis is its rows), (right, …): X W, G Wᵀ, Xᵀ G
    const auto [left, left_rows, right, right_rows] =
        std::array{std::tuple{0, true, 1, false}, std::tuple{2, true, 1, true}, std::tuple{0, false, 2, false}}[k];
    const std::vector<Scalar> row = fork.challenges("row", kVariables), col = fork.challenges("column", kVariables);
    const Table& a = operands_[static_cast<size_t>(left)];
    const Table& b = operands_[static_cast<size_t>(right)];
    const std::vector<Scalar> at{row[0], col[0]};
    const Scalar value = channel.send("P", {evaluate(value_of(said), at)})[0];
    const auto bound = [](const Table& m, bool by_rows, const Scalar& x) {
      const Scalar y = Scalar::one() - x;
      return by_rows ? Table{y * m[0] + x * m[2], y * m[1] + x * m[3]}
                     : Table{y * m[0] + x * m[1], y * m[2] + x * m[3]};
    };
    Sumcheck sumcheck{.variables = kVariables,
                      .degree = 2,
                      .tables = {{bound(a, left_rows, row[0])}, {bound(b, right_rows, col[0])}},
                      .terms = {{Scalar::one(), {0, 1}}},
                      .eq_point = {},
                      .bits = {}};
    const Scalar half = Scalar::power_of_two(statement_.shift - 1);
    const SumcheckProof inner = prove_sumcheck(channel, "product", std::move(sumcheck), value - half, pool_);
    inner_points_[k] = inner.point;
    const std::vector<Scalar> sent =
        channel.send("a, b, ab", {inner.tables[0], inner.tables[1], inner.tables[0] * inner.tables[1]},
                     {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, inner.claim);
    products.push_back({sent[0], sent[1], sent[2]});
    const auto point = [&](bool by_rows, const Scalar& outer) {
      return by_rows ? std::vector<Scalar>{outer, inner.point[0]} : std::vector<Scalar>{inner.point[0], outer};
    };
    pairs.push_back({value_of(committed), {}, at, value});
    pairs.push_back({a, {}, point(left_rows, row[0]), sent[0]});
    pairs.push_back({b, {}, point(right_rows, col[0]), sent[1]});
  }

  static std::string fork(size_t product) { return "product " + std::to_string(product); }
  // ab as claimed, and a or b to go with it.
  static Liar::Lie false_factor(size_t which) {
    return [which](std::span<Scalar> values, std::span<const Scalar>, const Scalar& gap) {
      values[2] += gap;
      values[which] = values[2] * values[1 - which].inverse();
    };
  }

  ThreadPool pool_{1};
  LayerStatement statement_;
  std::vector<Table> operands_;
  std::vector<OpenCommitment> operand_rows_;
  std::vector<Planes> honest_;                                    // by product
  std::array<std::vector<Scalar>, kLayerProducts> inner_points_;  // where the last attack's sumchecks ended
};

TEST_F(LayerAttack, TheProverOfTheAttacksIsSoundWhenItDoesNotLie) {
  Liar liar;
  const Verdict verdict = attack(honest_, liar);
  EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
}

TEST_F(LayerAttack, WrongProductWithoutALie) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    for (const size_t entry : {1U, 2U}) {  // neither the last row nor the last column has both
      Liar liar;
      expect_false(attack(wrong(k, entry), liar));
    }
  }
}

// Right if the round's challenge is the one seen in a rehearsal.
TEST_F(LayerAttack, LieInARoundOfTheProduct) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    Liar liar;
    expect_false(attack(wrong(k), liar));
    const Scalar x = inner_points_[k][0], excess = liar.gaps[fork(k) + "/a, b, ab"] * x.inverse();
    liar.at(fork(k), "product round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
      message[1] += round_lie(excess, x);
    });
    expect_false(attack(wrong(k), liar));
  }
}

TEST_F(LayerAttack, LieInTheProductOfFactors) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    Liar liar;
    liar.at(fork(k), "a, b, ab", Liar::close_gap(2));
    expect_false(attack(wrong(k), liar));
  }
}

TEST_F(LayerAttack, LieInAFactor) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    for (const size_t which : {0U, 1U}) {
      Liar liar;
      liar.at(fork(k), "a, b, ab", false_factor(which));
      expect_false(attack(wrong(k), liar));
      liar.at("main", "t(xi)", Liar::close_gap(4 * k + 2 + which));
      expect_false(attack(wrong(k), liar));
    }
  }
}

// The bits that are committed belong to another product than the one that is spoken of.
TEST_F(LayerAttack, LieInP) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    Liar liar;
    expect_false(attack(honest_, wrong(k), liar));
    liar.at("main", "t(xi)", Liar::close_gap(4 * k + 1));
    expect_false(attack(honest_, wrong(k), liar));
  }
}

TEST_F(LayerAttack, DigitsThatAreNoBits) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    const std::vector<Planes> planes = no_bits(k);
    Liar liar;
    expect_false(attack(planes, liar));
    liar.at(fork(k), "rest", Liar::close_gap(0));
    expect_false(attack(planes, liar));
    liar.at(fork(k), "b, b^2", Liar::close_gap(1));
    expect_false(attack(planes, liar));
  }
}

// b and b² that go together, though b is not what the committed digits have at r and κ.
TEST_F(LayerAttack, LieInB) {
  for (size_t k = 0; k < kLayerProducts; ++k) {
    for (const bool move_on : {false, true}) {
      bool solved = false;
      for (uint64_t seed = 1; seed < 64 && !solved; ++seed) {  // half of them have a root
        Liar liar;
        liar.at(fork(k), "rest", Liar::close_gap(0));
        liar.at(fork(k), "b, b^2", solve_b(solved));
        if (move_on) liar.at("main", "t(xi)", Liar::close_gap(4 * k));
        expect_false(attack(no_bits(k), liar, seed));
      }
      EXPECT_TRUE(solved);
    }
  }
}

}  // namespace
}  // namespace zkapex
