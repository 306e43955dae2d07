// The driver, on a relation with rows that depend on a challenge: "v = c u, c drawn after u was committed".
#include "argument/relation.h"

#include <gtest/gtest.h>

#include "algebra/msm.h"
#include "algebra/multilinear.h"
#include "argument/attacks/dishonest_testing.h"
#include "argument/attacks/simulator_testing.h"
#include "base/repeated_randomness_testing.h"
#include "base/result_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

constexpr size_t kLength = 8;

class ScaledRelation : public Relation {
 public:
  [[nodiscard]] std::string_view protocol() const override { return "scaled"; }
  [[nodiscard]] Verdict sound() const override { return Done{}; }
  [[nodiscard]] ProofShape shape() const override {
    return {.row_length = kLength, .rows = 2, .forks = {1}, .pairs = 2, .products = 0, .later_rows = 1};
  }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override { main.absorb("u", rows); }
  void replay(ArgumentVerifier& verifier) const override {
    const Scalar c = verifier.main().challenge("c");
    const size_t v = verifier.absorb_rows("v", 1);
    verifier.for_forks("point", [&](size_t, Receiver& channel) {
      const std::vector<Scalar> r = channel.transcript().challenges("r", 3);
      const Expression u_r = channel.receive("u(r)", 1)[0];
      verifier.add_pair({{{0, Scalar::one()}}, r, u_r});
      verifier.add_pair({{{v, Scalar::one()}}, r, u_r * c});
    });
  }
};

class ScaledWitness : public Witness {
 public:
  // `factor` times c is what v is made with.
  explicit ScaledWitness(std::vector<Scalar> values, const Scalar& factor = Scalar::one())
      : u(std::move(values)), factor_(factor) {}

  // No hedge at all, so that tests see what the transcript alone does.
  [[nodiscard]] Sha512::Digest digest() const override { return {}; }
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) override {
    return commit_to(u, generators, nonces, pool);
  }
  Status prove(ArgumentProver& prover, const CommittedRows& rows) override {
    const Scalar c = prover.main().challenge("c");
    std::vector<Scalar> v = u;
    for (Scalar& entry : v) entry *= factor_ * c;
    ZKAPEX_TRY(later, prover.commit_rows(
                          "v", [&](Nonces& nonces) { return commit_to(v, test_generators(), nonces, prover.pool()); }));
    first_blinding = rows.blindings[0];
    return prover.for_forks("point", [&](size_t, Sender& channel) -> Status {
      const std::vector<Scalar> r = channel.transcript().challenges("r", 3);
      const Scalar u_r = channel.send("u(r)", {evaluate(u, r)})[0];
      ZKAPEX_CHECK(prover.add_pair({u, rows.blindings[0], r, u_r}));
      return prover.add_pair({v, later.blindings[0], r, u_r * c});
    });
  }

  std::vector<Scalar> u;
  CommittedRows later;
  Scalar first_blinding;

 private:
  static Result<CommittedRows> commit_to(std::span<const Scalar> row, const Generators& generators, Nonces& nonces,
                                         ThreadPool& pool) {
    ZKAPEX_TRY(const Point point, msm_var(row, generators.positions().first(row.size()), pool));
    return blind_rows_var({point}, generators, nonces, pool);
  }
  Scalar factor_;
};

class RelationTest : public ::testing::Test {
 protected:
  Result<Proof> proof_of(ScaledWitness& witness, Tamper* tamper = nullptr) {
    return prove(relation_, witness, test_generators(), pool_,
                 {.scratch = {}, .progress = [this] { return note_fork(); }, .tamper = tamper});
  }
  Status note_fork() {
    ++forks_done_;
    return stopped_ ? Status(error("stopped")) : Done{};
  }

  ThreadPool pool_{1};
  std::mt19937_64 rng_{151};
  const ScaledRelation relation_;
  int forks_done_ = 0;
  bool stopped_ = false;
};

TEST_F(RelationTest, WhoHearsOfProgressMayStopTheProver) {
  ScaledWitness witness(random_scalars(rng_, kLength));
  stopped_ = true;
  EXPECT_EQ(testing::refusal(proof_of(witness)), "stopped");
  EXPECT_EQ(forks_done_, 1);
}

TEST_F(RelationTest, RowsMayDependOnAChallenge) {
  ScaledWitness witness(random_scalars(rng_, kLength));
  const Bytes proof = proof_of(witness).value().encode();
  EXPECT_EQ(forks_done_, 1);
  EXPECT_EQ(proof.size(), relation_.shape().bytes());
  EXPECT_TRUE(verify(relation_, proof, test_generators(), pool_).ok());
}

TEST_F(RelationTest, PadsComeBeforeTheFirstChallengeAndLaterRowsAfterIt) {
  ScaledWitness witness(random_scalars(rng_, kLength));
  Manifest said, heard;
  const Bytes proof = proof_of(witness, &said).value().encode();
  ASSERT_TRUE(verify_with(relation_, proof, pool_, &heard).ok());
  EXPECT_EQ(said.events, heard.events);
  std::vector<std::string> first;
  for (size_t k = 0; k < 6; ++k) first.push_back(heard.events[k].label);
  EXPECT_EQ(first, (std::vector<std::string>{"protocol", "u", "pads", "c", "v", "point 0"}));
}

TEST_F(RelationTest, AFalseWitnessIsAnErrorAndItsProofIsRejected) {
  ScaledWitness witness(random_scalars(rng_, kLength), Scalar::from_u64(2));
  EXPECT_FALSE(proof_of(witness).ok());
  Tamper unscrupulous;  // changes nothing, but the prover does not check itself
  const Verdict verdict =
      verify(relation_, proof_of(witness, &unscrupulous).value().encode(), test_generators(), pool_);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kEquation);
}

// See attacks/late_shift_test.cpp: a row is moved when all challenges are known.
TEST_F(RelationTest, NoRowCanBeMovedAfterwards) {
  for (const size_t row : {0U, 1U}) {
    DishonestProver p = false_proof(std::make_shared<ScaledRelation>(), pool_);
    p.proof.rows[row] = late_shift_of_row(p, row, pool_);
    expect_false(p.hand_in());
  }
}

// With randomness that repeats itself and a witness that hedges nothing, the first rows share their blinding; those
// that come after a challenge do not.
TEST_F(RelationTest, LaterRowsHaveNoncesKeyedByTheTranscript) {
  const RepeatedRandomness repeated;
  ScaledWitness one(random_scalars(rng_, kLength)), two(random_scalars(rng_, kLength));
  ASSERT_TRUE(proof_of(one).ok());
  ASSERT_TRUE(proof_of(two).ok());
  EXPECT_EQ(one.first_blinding, two.first_blinding);
  EXPECT_NE(one.later.blindings[0], two.later.blindings[0]);
}

TEST_F(RelationTest, TheSimulatorNeedsNoWitnessForLaterRows) { expect_simulated(relation_, rng_, pool_); }

}  // namespace
}  // namespace zkapex
