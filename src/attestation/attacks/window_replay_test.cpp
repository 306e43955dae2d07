// An accepted proof under any other statement, and with its rows elsewhere.
#include <gtest/gtest.h>

#include "attestation/attacks/dishonest_window_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class WindowReplay : public ::testing::Test {
 protected:
  static Verdict verify(const WindowStatement& statement, const WindowPlan& plan, const Proof& proof,
                        const TestWindow& window, ThreadPool& pool) {
    ZKAPEX_TRY(const Proof decoded, Proof::decode(proof.encode(), plan.shape()));
    ZKAPEX_TRY(const PointSum sum, check_window(statement, plan, decoded, pool));
    return verdict_var(sum, window.generators(), pool);
  }
  std::string answer(const WindowStatement& statement, const WindowPlan& plan) const {
    return answer(statement, plan, proof_);
  }
  std::string answer(const WindowStatement& statement, const WindowPlan& plan, const Proof& proof) const {
    const Verdict verdict = verify(statement, plan, proof, window_, pool_);
    return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
  }
  // Of a statement that `change` made another.
  template <class Change>
  std::string with(const Change& change) const {
    WindowStatement statement = window_.statement();
    change(statement);
    return answer(statement, window_.plan());
  }
  template <class Change>
  std::string with_mask(const Change& change) const {
    Mask mask = window_.mask;
    change(mask);
    WindowStatement statement = window_.statement();
    statement.mask = &mask;
    return answer(statement, *WindowPlan::make(*window_.deployment, mask, segmentation_));
  }
  template <class Change>
  std::string with_parameters(const Change& change) const {
    Parameters parameters = window_.deployment->parameters();
    change(parameters);
    const Deployment deployment = *Deployment::make(window_.deployment->layout(), parameters);
    WindowStatement statement = window_.statement();
    statement.deployment = &deployment;
    return answer(statement, *WindowPlan::make(deployment, window_.mask, segmentation_));
  }

  mutable ThreadPool pool_{2};
  const TestWindow window_{{.rows_per_segment = 2}, pool_};  // segments of one row and of two
  const Segmentation segmentation_ = window_.plan().segmentation();
  const Proof proof_ = window_.prove(pool_)->proof;
};

TEST_F(WindowReplay, UnderItsOwnStatementItIsAccepted) {
  EXPECT_EQ(answer(window_.statement(), window_.plan()), "accepted");
}

TEST_F(WindowReplay, UnderAnotherClientOrRegistration) {
  EXPECT_EQ(with([](WindowStatement& s) { s.client = "client 2"; }), "equation");
  EXPECT_EQ(with([](WindowStatement& s) { s.registration[31] ^= 1; }), "equation");
}

TEST_F(WindowReplay, UnderAnotherMask) {
  EXPECT_EQ(with_mask([](Mask& m) { m.window = "window 2"; }), "equation");
  EXPECT_EQ(with_mask([](Mask& m) { m.nonce[3] ^= 1; }), "equation");
  EXPECT_EQ(with_mask([](Mask& m) { m.deployment[0] ^= 1; }), "equation");
  EXPECT_EQ(with_mask([](Mask& m) { m.support.pop_back(); }), "equation");
  EXPECT_EQ(with_mask([](Mask& m) { m.support[1] += m.support[1] + 1 == m.support[2] ? -1 : 1; }), "equation");
}

TEST_F(WindowReplay, UnderOtherParametersOfTheSameShape) {
  EXPECT_EQ(with_parameters([](Parameters& p) { p.floor = 4; }), "equation");
  EXPECT_EQ(with_parameters([](Parameters& p) { p.cap_numerator = 65; }), "equation");
  EXPECT_EQ(with_parameters([](Parameters& p) { p.curvature_bits = 4; }), "equation");
  EXPECT_EQ(with_parameters([](Parameters& p) { p.weights.fraction_bits = 9; }), "equation");
}

TEST_F(WindowReplay, WithOtherCommitments) {
  EXPECT_EQ(with([](WindowStatement& s) { std::swap(s.model[0], s.model[1]); }), "equation");
  EXPECT_EQ(with([](WindowStatement& s) { std::swap(s.curvature[0], s.curvature[1]); }), "equation");
  EXPECT_EQ(with([](WindowStatement& s) { s.curvature[2] = s.model[0]; }), "equation");
  EXPECT_EQ(with([](WindowStatement& s) { s.unchanged[0] = s.model[0]; }), "equation");
}

TEST_F(WindowReplay, WithCommitmentsThatDoNotFitTheLayout) {
  for (const auto rows : {&WindowStatement::model, &WindowStatement::curvature, &WindowStatement::unchanged}) {
    EXPECT_EQ(with([=](WindowStatement& s) { (s.*rows).pop_back(); }), "statement");
    EXPECT_EQ(with([=](WindowStatement& s) { (s.*rows).push_back((s.*rows)[0]); }), "statement");
  }
}

TEST_F(WindowReplay, WithCommitmentsThatAreNoPoints) {
  EncodedPoint odd{};
  odd[0] = 3;
  for (const auto rows : {&WindowStatement::model, &WindowStatement::curvature}) {
    EXPECT_EQ(with([=](WindowStatement& s) { (s.*rows).back() = odd; }), "point");
    EXPECT_EQ(with([=](WindowStatement& s) { (s.*rows)[0] = {}; }), "point");  // the identity
  }
}

TEST_F(WindowReplay, WithAnotherSegmentationOrOperator) {
  const auto cut = [&](const Segmentation& parts) {
    return answer(window_.statement(), *WindowPlan::make(*window_.deployment, window_.mask, parts));
  };
  ASSERT_EQ(segmentation_, (Segmentation{1, 2}));
  EXPECT_EQ(cut({2, 1}), "equation");  // as many scalars, on other forks
  EXPECT_EQ(cut({3}), "length");
  EXPECT_EQ(cut({1, 1, 1}), "length");
  EXPECT_EQ(with_mask([](Mask& mask) { mask.op = Operator::kMaskOnly; }), "length");
}

TEST_F(WindowReplay, WithItsRowsSwappedOrRepeated) {
  for (size_t k = 0; k + 1 < proof_.rows.size(); k += 5) {
    Proof swapped = proof_, repeated = proof_;
    std::swap(swapped.rows[k], swapped.rows[k + 1]);
    repeated.rows[k] = repeated.rows[k + 1];
    EXPECT_EQ(answer(window_.statement(), window_.plan(), swapped), "equation") << k;
    EXPECT_EQ(answer(window_.statement(), window_.plan(), repeated), "equation") << k;
  }
}

// The rows of the same model's next proof, though they commit to the same bits.
TEST_F(WindowReplay, WithARowOfAnotherProof) {
  Proof other = window_.prove(pool_)->proof;
  other.rows[3] = proof_.rows[3];
  EXPECT_EQ(answer(window_.statement(), window_.plan(), other), "equation");
}

// Late shifts: see argument/attacks/late_shift_test.cpp. Each fails if the absorption of its message is dropped.
class WindowLateShift : public ::testing::Test {
 protected:
  // Any scalars at all, for a window of two segments.
  DishonestProver false_window(Operator op = Operator::kGroupObs) {
    std::mt19937_64 rng(42);
    std::vector<OpenCommitment> opened;
    const auto fill = [&](std::vector<EncodedPoint>& rows) {
      for (EncodedPoint& row : rows) {
        opened.push_back({random_scalars(rng, window_.options.row), random_scalar(rng)});
        row = opened.back().encode(pool_);
      }
    };
    mask_ = window_.mask;
    mask_.op = op;
    WindowStatement statement = window_.statement();
    statement.mask = &mask_;
    fill(statement.model);
    if (op == Operator::kGroupObs) fill(statement.curvature);
    const WindowPlan plan = *WindowPlan::make(*window_.deployment, mask_, {1, 1});
    for (OpenCommitment& row : opened) row.vector.resize(plan.shape().generators());
    return false_proof(relation(statement, plan), pool_, opened);
  }

  ThreadPool pool_{2};
  const TestWindow window_{{.block = 4, .tensors = {20, 9}}, pool_};
  Mask mask_;  // of the last false window
};

TEST_F(WindowLateShift, OfASealedScalar) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    const DishonestProver start = false_window(op);
    for (const size_t fork : {size_t{0}, start.proof.forks.size() - 1}) {  // a segment's, and the projection's link
      for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
        DishonestProver p = start;
        late_shift(p, p.proof.forks[fork][k]);
        expect_false(p.hand_in());
      }
    }
  }
}

TEST_F(WindowLateShift, OfARow) {
  const DishonestProver start = false_window();
  // Of θ_u, of a plane, of the cap, of the projections.
  const size_t later = start.shape().first_rows();
  for (const size_t row : {size_t{0}, size_t{2}, later - 1, later, start.proof.rows.size() - 1}) {
    DishonestProver p = start;
    p.proof.rows[row] = late_shift_of_row(p, row, pool_);
    expect_false(p.hand_in());
  }
}

TEST_F(WindowLateShift, OfAPad) {
  DishonestProver p = false_window();
  late_shift_of_pad(p, pool_);
  expect_false(p.hand_in());
}

}  // namespace
}  // namespace zkapex
