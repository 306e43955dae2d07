// Malicious provers of the worked matrix relation.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class MatrixAttack : public ::testing::Test {
 protected:
  const MatrixStatement s_{"attack", 16, 4, 8};  // two rows of x, two of y, eight of A
  static constexpr unsigned kSide = 2, kPosition = 4, kVariables = 5;

  struct Witness {
    std::vector<Scalar> matrix, x, y;
  };
  Witness honest() const {
    std::mt19937_64 rng(21);
    const MatrixInstance instance = random_instance(s_, rng);
    Witness out;
    for (const int8_t v : instance.matrix) out.matrix.push_back(Scalar::from_i64(v));
    for (const int64_t v : instance.x) out.x.push_back(Scalar::from_i64(v));
    for (const int64_t v : instance.y) out.y.push_back(Scalar::from_i64(v));
    return out;
  }
  Witness wrong_product() const {
    Witness out = honest();
    out.y[0] += Scalar::one();
    return out;
  }

  void commit(DishonestProver& p, const Witness& w) const {
    for (const auto* part : {&w.y, &w.x, &w.matrix}) {
      for (size_t k = 0; k < part->size(); k += s_.row_length) {
        const auto first = part->begin() + static_cast<ptrdiff_t>(k);
        p.add_row({first, first + static_cast<ptrdiff_t>(s_.row_length)});
      }
    }
    p.add_pads();
  }

  [[nodiscard]] ProverPair open(const std::vector<Scalar>& entries, std::span<const Scalar> point,
                                const Scalar& value) const {
    const std::vector<Scalar> row = eq_table(point.first(point.size() - kPosition));
    ProverPair pair{std::vector<Scalar>(s_.row_length), {}, {point.end() - kPosition, point.end()}, value};
    for (size_t i = 0; i < entries.size(); ++i) {
      pair.vector[i % s_.row_length] += row[i / s_.row_length] * entries[i];
    }
    return pair;
  }

  // `opened`: what is said to be committed when pairs are brought together.
  void run(DishonestProver& p, const Witness& w, const Witness& opened) {
    Transcript main = p.begin();
    std::vector<Transcript> forks;
    Transcript& fork = forks.emplace_back(main.fork("blocks", 0));
    Sender channel = p.fork(0, fork);
    const std::vector<Scalar> r = fork.challenges("r", kVariables);
    const Scalar y_r = channel.send("y", {evaluate(w.y, r)})[0];
    const std::vector<Scalar> weight = eq_table(r);
    std::vector<Scalar> v(w.x.size());
    for (size_t i = 0; i < w.matrix.size(); ++i) {
      v[i / (s_.side * s_.side) * s_.side + i % s_.side] += weight[i / s_.side] * w.matrix[i];
    }
    Sumcheck first{.variables = kVariables,
                   .degree = 2,
                   .tables = {{v}, {w.x}},
                   .terms = {{Scalar::one(), {0, 1}}},
                   .eq_point = {},
                   .bits = {}};
    const SumcheckProof rho = prove_sumcheck(channel, "first", std::move(first), y_r, pool_);
    p.points["first"] = rho.point;
    const std::vector<Scalar> product =
        channel.send("v, x, vx", {rho.tables[0], rho.tables[1], rho.tables[0] * rho.tables[1]},
                     {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, rho.claim);
    const std::span<const Scalar> rho_point(rho.point);
    const std::vector<Scalar> column = eq_table(rho_point.last(kSide));
    std::vector<Scalar> folded(w.y.size());
    for (size_t i = 0; i < w.matrix.size(); ++i) folded[i / s_.side] += column[i % s_.side] * w.matrix[i];
    const auto rho_block = rho_point.first(kVariables - kSide);
    Sumcheck second{.variables = kVariables,
                    .degree = 3,
                    .tables = {{folded}, {weight}},
                    .terms = {{Scalar::one(), {0, 1}, true}},
                    .eq_point = {rho_block.begin(), rho_block.end()},
                    .bits = {}};
    const SumcheckProof sigma = prove_sumcheck(channel, "second", std::move(second), product[0], pool_);
    p.points["second"] = sigma.point;
    const Scalar last =
        eq(rho_block, std::span<const Scalar>(sigma.point).first(kVariables - kSide)) * eq(r, sigma.point);
    const Scalar entry = channel.send("A", {sigma.tables[0]}, {{last}}, sigma.claim)[0];
    std::vector<Scalar> at = sigma.point;
    at.insert(at.end(), rho_point.end() - kSide, rho_point.end());
    const ProverProduct products[] = {{product[0], product[1], product[2]}};
    p.finish(main, forks,
             {open(opened.y, r, y_r), open(opened.x, rho.point, product[1]), open(opened.matrix, at, entry)}, products);
  }

  Verdict attack(const Witness& w, Liar& liar) {
    DishonestProver p(relation(s_), 1, pool_, &liar);
    commit(p, w);
    run(p, w, w);
    return p.hand_in();
  }

  // vx as claimed, and v or x to go with it.
  static Liar::Lie false_factor(size_t which) {
    return [which](std::span<Scalar> values, std::span<const Scalar>, const Scalar& gap) {
      values[2] += gap;
      values[which] = values[2] * values[1 - which].inverse();
    };
  }

  ThreadPool pool_{1};
};

TEST_F(MatrixAttack, TheProverOfTheAttacksIsSoundWhenItDoesNotLie) {
  Liar liar;
  const Verdict verdict = attack(honest(), liar);
  EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
}

TEST_F(MatrixAttack, WrongProductWithoutALie) {
  Liar liar;
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInVx) {
  Liar liar;
  liar.at("blocks 0", "v, x, vx", Liar::close_gap(2));
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInV) {
  Liar liar;
  liar.at("blocks 0", "v, x, vx", false_factor(0));
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInX) {
  Liar liar;
  liar.at("blocks 0", "v, x, vx", false_factor(1));
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInVAndInA) {
  Liar liar;
  liar.at("blocks 0", "v, x, vx", false_factor(0));
  liar.at("blocks 0", "A", Liar::close_gap(0));
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInVInAAndAtXi) {
  for (const size_t pair : {0U, 1U, 2U}) {
    Liar liar;
    liar.at("blocks 0", "v, x, vx", false_factor(0));
    liar.at("blocks 0", "A", Liar::close_gap(0));
    liar.at("main", "t(xi)", Liar::close_gap(pair));
    expect_false(attack(wrong_product(), liar));
  }
}

TEST_F(MatrixAttack, LieInY) {
  const Witness truth = honest(), lie = wrong_product();
  Liar liar;
  // y(r) of the true product, though another y is committed.
  DishonestProver p(relation(s_), 1, pool_, &liar);
  commit(p, lie);
  run(p, truth, lie);
  expect_false(p.hand_in());
  // The same with the lie moved on to the value at ξ.
  liar.at("main", "t(xi)", Liar::close_gap(0));
  DishonestProver q(relation(s_), 1, pool_, &liar);
  commit(q, lie);
  run(q, truth, lie);
  expect_false(q.hand_in());
}

TEST_F(MatrixAttack, AnotherMatrixThanTheCommittedOne) {
  const Witness used = honest();
  Witness committed = used;
  committed.matrix[17] += Scalar::one();
  for (const bool open_committed : {true, false}) {
    for (const bool move_on : {true, false}) {
      Liar liar;
      if (move_on) liar.at("main", "t(xi)", Liar::close_gap(2));
      DishonestProver p(relation(s_), 1, pool_, &liar);
      commit(p, committed);
      run(p, used, open_committed ? committed : used);
      expect_false(p.hand_in());
    }
  }
}

TEST_F(MatrixAttack, LieInARoundOfTheFirstSumcheck) {
  Liar liar;
  DishonestProver p(relation(s_), 1, pool_, &liar);
  commit(p, wrong_product());
  run(p, wrong_product(), wrong_product());
  const std::vector<Scalar> point = p.points["first"];
  Scalar excess = liar.gaps["blocks 0/v, x, vx"];
  for (const Scalar& x : point) excess *= x.inverse();
  liar.at("blocks 0", "first round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
    message[1] += round_lie(excess, point.back());
  });
  expect_false(attack(wrong_product(), liar));
}

TEST_F(MatrixAttack, LieInARoundOfTheSecondSumcheck) {
  Liar liar;
  liar.at("blocks 0", "v, x, vx", false_factor(0));
  DishonestProver p(relation(s_), 1, pool_, &liar);
  commit(p, wrong_product());
  run(p, wrong_product(), wrong_product());
  const std::vector<Scalar> point = p.points["second"];
  Scalar excess = liar.gaps["blocks 0/A"];
  for (const Scalar& x : point) excess *= x.inverse();
  liar.at("blocks 0", "second round 0", [&](std::span<Scalar> message, std::span<const Scalar>, const Scalar&) {
    message[1] += round_lie(excess, point.back());
  });
  expect_false(attack(wrong_product(), liar));
}

}  // namespace
}  // namespace zkapex
