// Malicious provers of a toy relation made of the argument's parts alone: two committed rows with claimed values at a
// random point, two claimed products of sent scalars, no other equation. Here lies are free to be chosen so that they
// cancel in whatever combination the verifier takes.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

constexpr size_t kLength = 8;

class Toy : public Relation {
 public:
  [[nodiscard]] std::string_view protocol() const override { return "toy"; }
  [[nodiscard]] Verdict sound() const override { return Done{}; }
  [[nodiscard]] ProofShape shape() const override {
    return {.row_length = kLength, .rows = 2, .forks = {2 + 6}, .pairs = 2, .products = 2};
  }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override { main.absorb("rows", rows); }
  void replay(ArgumentVerifier& verifier) const override {
    verifier.for_forks("toy", [&](size_t, Receiver& channel) {
      const std::vector<Scalar> at = channel.transcript().challenges("at", 3);
      const std::vector<Expression> value = channel.receive("values", 2);
      const std::vector<Expression> f = channel.receive("factors", 6);
      for (const size_t row : {0U, 1U}) verifier.add_pair({{{row, Scalar::one()}}, at, value[row]});
      verifier.add_product({f[0], f[1], f[2]});
      verifier.add_product({f[3], f[4], f[5]});
    });
  }
};

class BatchAttack : public ::testing::Test {
 protected:
  DishonestProver run(Liar& liar) {
    std::mt19937_64 rng(31);
    DishonestProver p(std::make_shared<Toy>(), 1, pool_, &liar);
    const std::vector<Scalar> rows[] = {random_scalars(rng, kLength), random_scalars(rng, kLength)};
    for (const auto& row : rows) p.add_row(row);
    p.add_pads();
    Transcript main = p.begin();
    std::vector<Transcript> forks;
    Transcript& fork = forks.emplace_back(main.fork("toy", 0));
    Sender channel = p.fork(0, fork);
    const std::vector<Scalar> at = fork.challenges("at", 3);
    const std::vector<Scalar> value = channel.send("values", {evaluate(rows[0], at), evaluate(rows[1], at)});
    std::vector<Scalar> f = random_scalars(rng, 6);
    f[2] = f[0] * f[1];
    f[5] = f[3] * f[4];
    f = channel.send("factors", f);
    const ProverProduct products[] = {{f[0], f[1], f[2]}, {f[3], f[4], f[5]}};
    p.finish(main, forks, {{rows[0], {}, at, value[0]}, {rows[1], {}, at, value[1]}}, products);
    return p;
  }

  static Liar::Lie add(std::vector<std::pair<size_t, Scalar>> changes) {
    return [changes](std::span<Scalar> values, std::span<const Scalar>, const Scalar&) {
      for (const auto& [k, change] : changes) values[k] += change;
    };
  }

  ThreadPool pool_{1};
};

TEST_F(BatchAttack, TheToyIsSoundWhenNobodyLies) {
  Liar liar;
  const Verdict verdict = run(liar).hand_in();
  EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
}

TEST_F(BatchAttack, TwoFalseValuesThatCancelUnderAForeseenBeta) {
  Liar rehearsal;
  const Scalar foreseen = run(rehearsal).seen["beta"];
  for (const Scalar& beta : {foreseen, Scalar::one()}) {
    Liar liar;
    liar.at("toy 0", "values", add({{0, -beta}, {1, Scalar::one()}}));
    expect_false(run(liar).hand_in());
  }
}

TEST_F(BatchAttack, TwoFalseProductsThatCancelUnderAForeseenOmega) {
  Liar rehearsal;
  const Scalar foreseen = run(rehearsal).seen["omega"];
  for (const Scalar& omega : {foreseen, Scalar::one()}) {
    Liar liar;
    liar.at("toy 0", "factors", add({{2, -omega}, {5, Scalar::one()}}));
    expect_false(run(liar).hand_in());
  }
}

// The products' equation is short of `gap`; a shift s of z_a changes it by −s z_b and breaks z_a's own equation by −s.
// Under equal weights the two errors can be made to cancel.
TEST_F(BatchAttack, ErrorsOfTwoEquationsThatAddUpToZero) {
  Liar liar;
  liar.at("toy 0", "factors", add({{2, Scalar::one()}}));
  liar.at("main", "masked factors", [](std::span<Scalar> z, std::span<const Scalar>, const Scalar& gap) {
    z[0] += gap * (z[1] + Scalar::one()).inverse();
  });
  expect_false(run(liar).hand_in());
}

}  // namespace
}  // namespace zkapex
