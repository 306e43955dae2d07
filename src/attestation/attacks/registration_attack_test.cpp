// Malicious registrations, and accepted ones under any other statement.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

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
  Registration registered(const TestWindow& window, Tamper* tamper = nullptr) {
    Registration out{{&*window.deployment, "client 1"},
                     *RegistrationPlan::make(*window.deployment, cut_rows(window.deployment->layout().rows(), 2)),
                     {}};
    out.proof = prove_registration(out.statement, out.plan, TestWindow::Before(window), 1 << 12, window.generators(),
                                   pool_, {.scratch = {}, .progress = go_on, .tamper = tamper})
                    .value()
                    .proof;
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
  std::string with(const Change& change) {
    Registration r = registered_;
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
    EXPECT_EQ(answer(registered(window, &tamper)), "equation");
  }

  ThreadPool pool_{2};
  const TestWindow window_{{}, pool_};
  const Registration registered_ = registered(window_);
};

TEST_F(RegistrationAttack, UnderItsOwnStatementItIsAccepted) { EXPECT_EQ(answer(registered_), "accepted"); }

TEST_F(RegistrationAttack, AWeightOnPadding) {
  Liar honest;
  expect_false(with_weight_on_padding(), honest);
}

TEST_F(RegistrationAttack, AWeightOnPaddingAndALieInTheta) {
  Liar liar;
  liar.at("unit 0", "theta", Liar::close_gap(0));
  expect_false(with_weight_on_padding(), liar);
}

class Honest : public ModelReader {
 public:
  explicit Honest(const TestWindow& window) : honest(window) {}
  Status weights(uint64_t first_row, std::span<int64_t> out) const override { return honest.weights(first_row, out); }
  Status unchanged(uint64_t first_row, std::span<int64_t> out) const override {
    return honest.unchanged(first_row, out);
  }
  Status triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const override {
    return honest.triangles(first_slot, slots, out);
  }
  Status square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const override {
    return honest.square_rows(slot, first, out);
  }
  Status square_rows(uint64_t slot, uint64_t first, std::span<int16_t> out) const override {
    return honest.square_rows(slot, first, out);
  }
  Result<Sha512::Digest> digest(ThreadPool& pool) const override { return honest.digest(pool); }

  TestWindow::Before honest;
};

// Rows that say something else after the challenge than before: committed large, projected small.
template <class Method>
class TwoFaced : public Honest {
 public:
  TwoFaced(const TestWindow& window, Method change) : Honest(window), change_(change) {}
  Status weights(uint64_t first_row, std::span<int64_t> out) const override {
    ZKAPEX_CHECK(honest.weights(first_row, out));
    change_(0, first_row, out);
    return Done{};
  }
  Status unchanged(uint64_t first_row, std::span<int64_t> out) const override {
    ZKAPEX_CHECK(honest.unchanged(first_row, out));
    change_(2, first_row, out);
    return Done{};
  }
  Status square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const override {  // for the commitment
    ZKAPEX_CHECK(honest.square_rows(slot, first, out));
    change_(1, slot, out);
    return Done{};
  }

 private:
  Method change_;
};

TEST_F(RegistrationAttack, ProjectionsOfOtherRowsThanTheCommitted) {
  // The first reading of a row is for its commitment; the others are of the row that is projected.
  for (const int kind : {0, 1, 2}) {
    std::map<std::pair<int, uint64_t>, int> reads;
    std::mutex reading;
    const auto change = [&](int which, uint64_t first, auto out) {
      const std::lock_guard lock(reading);
      if (which == kind && reads[{which, first}]++ == 0) out[1] = out[1] == 0 ? 1 : 0;
    };
    const TwoFaced reader(window_, change);
    const RegistrationPlan plan = *RegistrationPlan::make(*window_.deployment, {window_.deployment->layout().rows()});
    Tamper unscrupulous;
    Registration r{{&*window_.deployment, "client 1"}, plan, {}};
    r.proof = prove_registration(r.statement, plan, reader, 1 << 12, window_.generators(), pool_,
                                 {.scratch = {}, .progress = go_on, .tamper = &unscrupulous})
                  .value()
                  .proof;
    EXPECT_EQ(answer(r), "equation") << kind;
  }
}

TEST_F(RegistrationAttack, UnderAnotherStatement) {
  EXPECT_EQ(with([](Registration& r) { r.statement.client = "client 2"; }), "equation");
  // Every kind of row: of the model, the curvature, the others, their projections.
  const RegistrationPlan& plan = registered_.plan;
  std::vector<size_t> firsts = {0, plan.model_rows(), plan.model_rows() + plan.curvature_rows()};
  for (const ProjectedRows& projected : plan.projections()) firsts.push_back(projected.rows.first_bit_row);
  for (const size_t row : firsts) {
    EXPECT_EQ(with([&](Registration& r) { std::swap(r.proof.rows[row], r.proof.rows[row + 1]); }), "equation") << row;
    EXPECT_EQ(with([&](Registration& r) { r.proof.rows[row] = r.proof.rows[row + 1]; }), "equation") << row;
  }
}

TEST_F(RegistrationAttack, UnderAnotherDeploymentOfTheSameShape) {
  Parameters parameters = window_.deployment->parameters();
  parameters.floor = 4;
  const Deployment other = *Deployment::make(window_.deployment->layout(), parameters);
  EXPECT_EQ(with([&](Registration& r) { r.statement.deployment = &other; }), "equation");
}

TEST_F(RegistrationAttack, WithAnotherCut) {
  const auto cut = [&](const Segmentation& parts) {
    return with([&](Registration& r) { r.plan = *RegistrationPlan::make(*window_.deployment, parts); });
  };
  ASSERT_EQ(registered_.plan.cut(), (Segmentation{1, 2}));
  EXPECT_EQ(cut({2, 1}), "equation");  // as many scalars, on other forks
  EXPECT_EQ(cut({3}), "length");
}

TEST_F(RegistrationAttack, WithRowsThatAreNoPoints) {
  EncodedPoint odd{};
  odd[0] = 3;
  const size_t last = registered_.proof.rows.size() - 1;
  for (const EncodedPoint& row : {odd, EncodedPoint{}}) {
    for (const size_t at : {size_t{0}, registered_.plan.model_rows() + 1, last}) {
      EXPECT_EQ(with([&](Registration& r) { r.proof.rows[at] = row; }), "point") << at;
    }
  }
}

// Late shifts: see argument/attacks/late_shift_test.cpp. Each fails if the absorption of its message is dropped.
class RegistrationLateShift : public ::testing::Test {
 protected:
  DishonestProver false_registration() {
    return false_proof(std::make_shared<RegistrationRelation>(statement_, plan_), pool_);
  }

  ThreadPool pool_{2};
  const TestWindow window_{{.block = 4, .tensors = {20, 9}, .anchored = true}, pool_};
  const RegistrationPlan plan_ = *RegistrationPlan::make(*window_.deployment, {1, 1});
  const BaseRows base_ = window_.base_rows();
  const RegistrationStatement statement_{&*window_.deployment, "client 1", &base_};
};

// Of padding, of the anchor, and of the links; units are those of the argument's own test.
TEST_F(RegistrationLateShift, OfASealedScalar) {
  const DishonestProver start = false_registration();
  const size_t padded = plan_.padded().size();
  ASSERT_EQ(padded, 2U);
  std::vector<size_t> forks = {0};
  size_t next = padded;
  for (const size_t end = padded + plan_.sums()->forks(); next < end; ++next) forks.push_back(next);
  for (const ProjectedRows& projected : plan_.projections()) {
    next += projected.shape.forks();
    forks.push_back(next - 1);
  }
  for (const size_t fork : forks) {
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p.hand_in());
    }
  }
}

// One of every kind, each absorbed under a label of its own.
TEST_F(RegistrationLateShift, OfARow) {
  std::vector<size_t> rows = {0, plan_.model_rows(), plan_.model_rows() + plan_.curvature_rows(),
                              plan_.sums()->first_slack_row};
  for (const ProjectedRows& projected : plan_.projections()) rows.push_back(projected.rows.first_bit_row);
  for (const size_t row : rows) {
    DishonestProver p = false_registration();
    p.proof.rows[row] = late_shift_of_row(p, row, pool_);
    expect_false(p.hand_in());
  }
}

TEST_F(RegistrationLateShift, OfAPad) {
  DishonestProver p = false_registration();
  late_shift_of_pad(p, pool_);
  expect_false(p.hand_in());
}

}  // namespace
}  // namespace zkapex
