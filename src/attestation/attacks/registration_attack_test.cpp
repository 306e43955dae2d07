// Malicious registrations, and accepted ones under any other statement.
#include <gtest/gtest.h>

#include "argument/attacks/dishonest_testing.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/window_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

struct Registration {
  RegistrationStatement statement;
  RegistrationPlan plan;
  Proof proof;
};

class RegistrationAttack : public ::testing::Test {
 protected:
  Registration registered(const TestWindow& window, bool certificate, Tamper* tamper = nullptr) {
    const Layout& layout = window.deployment->layout();
    const RegistrationCut cut{cut_rows(layout.rows(), 2),
                              certificate ? cut_rows(curvature_rows(layout), 7) : Segmentation{}};
    Registration out{{&*window.deployment, "client 1", window.unchanged.encoded, {}},
                     *RegistrationPlan::make(*window.deployment, certificate, cut),
                     {}};
    ProvedRegistration proved =
        *prove_registration(out.statement, out.plan, TestWindow::Before(window), 1 << 12, window.generators(), pool_,
                            {.scratch = {}, .progress = [] {}, .tamper = tamper});
    out.statement.curvature = std::move(proved.curvature);
    out.proof = std::move(proved.proof);
    return out;
  }
  Verdict verify(const Registration& r) {
    ZKAPEX_TRY(const Proof decoded, Proof::decode(r.proof.encode(), r.plan.shape()));
    ZKAPEX_TRY(const PointSum sum, check_registration(r.statement, r.plan, decoded, pool_));
    return verdict_var(sum, window_.generators(), pool_);
  }
  std::string answer(const Registration& r) {
    const Verdict verdict = verify(r);
    return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
  }
  template <class Change>
  std::string with(bool certificate, const Change& change) {
    Registration r = certificate ? certified_ : plain_;
    change(r);
    return answer(r);
  }

  // A weight where there is none.
  TestWindow with_weight_on_padding() {
    TestWindow window({.block = 7, .tensors = {40}}, pool_);
    EXPECT_FALSE(window.deployment->layout().coordinate(7).has_value());
    window.theta_p[7] = 5;
    return window;
  }
  void expect_false(const TestWindow& window, Tamper& tamper) {
    EXPECT_EQ(answer(registered(window, false, &tamper)), "equation");
  }
  static void lie_in_rest(std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
    Liar::close_gap(values.size() - 1)(values, coefficients, gap);
  }

  ThreadPool pool_{2};
  const TestWindow window_{{}, pool_};
  const Registration plain_ = registered(window_, false), certified_ = registered(window_, true);
};

TEST_F(RegistrationAttack, UnderTheirOwnStatementsTheyAreAccepted) {
  EXPECT_EQ(answer(plain_), "accepted");
  EXPECT_EQ(answer(certified_), "accepted");
}

TEST_F(RegistrationAttack, AWeightOnPadding) {
  Liar honest;
  expect_false(with_weight_on_padding(), honest);
}

TEST_F(RegistrationAttack, AWeightOnPaddingAndALieInRest) {
  Liar liar;
  liar.at("unit 0", "evaluations", lie_in_rest);
  expect_false(with_weight_on_padding(), liar);
}

TEST_F(RegistrationAttack, AWeightOnPaddingAndALieInTheSquareOfB) {
  Liar liar;
  liar.at("unit 0", "evaluations", lie_in_rest);
  liar.at("unit 0", "b, b^2", Liar::close_gap(1));
  expect_false(with_weight_on_padding(), liar);
}

TEST_F(RegistrationAttack, AWeightOnPaddingAndALieInB) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    bool solved = false;
    Liar liar;
    liar.at("unit 0", "evaluations", lie_in_rest);
    liar.at("unit 0", "b, b^2", [&solved](auto values, auto coefficients, const Scalar& gap) {
      // b² − b = d, so b = (1 + √(1 + 4d)) / 2
      const Scalar d = values[1] - values[0] + gap * coefficients[1].inverse();
      const auto root = square_root(Scalar::one() + Scalar::from_u64(4) * d);
      solved = root.has_value();
      values[0] = (Scalar::one() + root.value_or(Scalar::zero())) * Scalar::from_u64(2).inverse();
      values[1] = values[0].square();
    });
    const std::string said = answer(registered(with_weight_on_padding(), false, &liar));
    if (!solved) continue;
    EXPECT_EQ(said, "equation");
    return;
  }
  FAIL() << "no proof gave a square";
}

TEST_F(RegistrationAttack, AWeightOnPaddingAndALieInTheta) {
  Liar liar;
  liar.at("unit 0", "evaluations", Liar::close_gap(0));
  expect_false(with_weight_on_padding(), liar);
}

TEST_F(RegistrationAttack, UnderAnotherStatement) {
  for (const bool certificate : {false, true}) {
    EXPECT_EQ(with(certificate, [](Registration& r) { r.statement.client = "client 2"; }), "equation");
    EXPECT_EQ(with(certificate, [](Registration& r) { r.statement.unchanged[0] = r.proof.rows[0]; }), "equation");
    EXPECT_EQ(with(certificate, [](Registration& r) { std::swap(r.proof.rows[0], r.proof.rows[1]); }), "equation");
    EXPECT_EQ(with(certificate, [](Registration& r) { r.proof.rows[5] = r.proof.rows[4]; }), "equation");
  }
  EXPECT_EQ(with(false, [](Registration& r) { std::swap(r.statement.curvature[0], r.statement.curvature[1]); }),
            "equation");
}

TEST_F(RegistrationAttack, UnderAnotherDeploymentOfTheSameShape) {
  Parameters parameters = window_.deployment->parameters();
  parameters.floor = 4;
  const Deployment other = *Deployment::make(window_.deployment->layout(), parameters);
  EXPECT_EQ(with(true, [&](Registration& r) { r.statement.deployment = &other; }), "equation");
}

TEST_F(RegistrationAttack, WithAnotherCut) {
  const auto cut = [&](bool certificate, const RegistrationCut& parts) {
    return with(certificate,
                [&](Registration& r) { r.plan = *RegistrationPlan::make(*window_.deployment, certificate, parts); });
  };
  ASSERT_EQ(plain_.plan.cut().model, (Segmentation{1, 2}));
  EXPECT_EQ(cut(false, {{2, 1}, {}}), "equation");  // as many scalars, on other forks
  EXPECT_EQ(cut(false, {{3}, {}}), "length");
  Segmentation squares = certified_.plan.cut().curvature;
  squares[0] -= 1;
  squares[1] += 1;
  EXPECT_EQ(cut(true, {{1, 2}, squares}), "equation");
}

TEST_F(RegistrationAttack, WithRowsThatDoNotFitTheLayout) {
  const auto few = [](auto member) { return [=](Registration& r) { (r.statement.*member).pop_back(); }; };
  const auto many = [](auto member) {
    return [=](Registration& r) { (r.statement.*member).push_back(r.proof.rows[0]); };
  };
  EXPECT_EQ(with(false, few(&RegistrationStatement::unchanged)), "statement");
  EXPECT_EQ(with(false, few(&RegistrationStatement::curvature)), "statement");
  for (const bool certificate : {false, true}) {
    EXPECT_EQ(with(certificate, many(&RegistrationStatement::unchanged)), "statement");
    EXPECT_EQ(with(certificate, many(&RegistrationStatement::curvature)), "statement");
  }
}

TEST_F(RegistrationAttack, WithRowsThatAreNoPoints) {
  EncodedPoint odd{};
  odd[0] = 3;
  for (const EncodedPoint& row : {odd, EncodedPoint{}}) {
    EXPECT_EQ(with(false, [&](Registration& r) { r.statement.unchanged[0] = row; }), "point");
    EXPECT_EQ(with(false, [&](Registration& r) { r.statement.curvature[1] = row; }), "point");
    EXPECT_EQ(with(false, [&](Registration& r) { r.proof.rows[1] = row; }), "point");
  }
}

// Late shifts: see argument/attacks/late_shift_test.cpp. Each fails if the absorption of its message is dropped.
class RegistrationLateShift : public ::testing::Test {
 protected:
  DishonestProver false_registration() {
    return false_proof(std::make_shared<RegistrationRelation>(statement_, plan_), pool_);
  }

  ThreadPool pool_{2};
  const TestWindow window_{{.block = 4, .tensors = {20, 9}}, pool_};
  const RegistrationPlan plan_ =
      *RegistrationPlan::make(*window_.deployment, true, {{1, 1}, {curvature_rows(window_.deployment->layout())}});
  const RegistrationStatement statement_{&*window_.deployment, "client 1", window_.unchanged.encoded, {}};
};

TEST_F(RegistrationLateShift, OfASealedScalar) {
  const DishonestProver start = false_registration();
  for (const size_t fork : {0, 2}) {  // of weights, of the curvature
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p.hand_in());
    }
  }
}

TEST_F(RegistrationLateShift, OfARow) {
  DishonestProver p = false_registration();
  p.proof.rows[0] = late_shift_of_row(p, 0, pool_);
  expect_false(p.hand_in());
}

TEST_F(RegistrationLateShift, OfAPad) {
  DishonestProver p = false_registration();
  late_shift_of_pad(p, pool_);
  expect_false(p.hand_in());
}

}  // namespace
}  // namespace zkapex
