// Updates that take back what windows did, and provers that say they do not.
#include <gtest/gtest.h>

#include <set>

#include "argument/attacks/dishonest_testing.h"
#include "argument/attacks/simulator_testing.h"
#include "attestation/update_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

// Without padding, in one segment. Forks: what was removed; the anchor of covered rows, and of the others; progress;
// slacks.
constexpr std::string_view kRemoved = "unit 0", kProgress = "unit 3", kSlacks = "unit 4";

// A prover of an update reads the covered rows in turns: before it begins, for what was removed, for distances and for
// progress; for commitments and projections; for the forks of removed weights, of the anchor and of progress; for
// links.
enum UpdateTurn : int { kRemovals = 1, kMeasured = 2, kFollowed = 3, kZero = 6, kKept = 8 };

// Another model in some turns. With one thread, row 0 comes first in each.
class OtherInTurns : public TestWindow::Before {
 public:
  OtherInTurns(const TestWindow& model, const TestWindow& other, std::set<int> turns)
      : Before(model), other_(other), turns_(std::move(turns)) {}

  Status weights(uint64_t first_row, std::span<int64_t> out) const override {
    if (first_row == 0) ++turn_;
    return turns_.contains(turn_) ? other_.weights(first_row, out) : Before::weights(first_row, out);
  }

 private:
  Before other_;
  std::set<int> turns_;
  mutable int turn_ = 0;
};

// Hears γ and every K, and says the S with which sums and slacks add up.
class SumLiar : public Liar {
 public:
  explicit SumLiar(const RegistrationPlan& plan) : sums_(*plan.sums()) {}

  Scalar challenge(const std::string&, std::string_view label, const Scalar& drawn) override {
    if (label == "anchor") powers_ = powers(drawn, sums_.groups());
    return drawn;
  }
  void send(const std::string& where, std::string_view label, std::span<Scalar> values,
            std::span<const Scalar> coefficients, const Scalar& claim) override {
    if (label == "K") total_ += values[0];
    if (label == "S") {
      values[0] = -total_;
      for (size_t k = 0; k < sums_.bounds.size(); ++k) values[0] += powers_[k] * to_scalar(sums_.bounds[k]);
      for (size_t k = 0; k < sums_.progress.size(); ++k)
        values[0] -= powers_[sums_.bounds.size() + k] * to_scalar(sums_.progress[k].least);
    }
    Liar::send(where, label, values, coefficients, claim);
  }

 private:
  const BoundedSums sums_;
  std::vector<Scalar> powers_;
  Scalar total_;
};

// Hears γ, and says the K of progress that another model would have.
class ProgressLiar : public Liar {
 public:
  ProgressLiar(const TestUpdate& update, const TestUpdate& claimed) : sums_(*update.plan().sums()) {
    const Layout& layout = update.window.deployment->layout();
    const UpdateTerms terms = update.terms();
    std::vector<int64_t> guide(layout.padded_size());
    PastGuide(layout, terms, 0).read(0, guide);
    for (const KeptProgress& kept : sums_.progress) {
      const LayoutTensor& tensor = layout.tensors()[kept.tensor];
      Scalar& sum = lost_.emplace_back();
      for (size_t i = tensor.first_row * 64; i < (tensor.first_row + tensor.rows) * 64; ++i)
        sum += Scalar::from_i64(1000 * guide[i] * (claimed.earlier[i] - claimed.next.theta_p[i]));
    }
  }

  Scalar challenge(const std::string&, std::string_view label, const Scalar& drawn) override {
    if (label == "anchor") powers_ = powers(drawn, sums_.groups());
    return drawn;
  }
  void send(const std::string& where, std::string_view label, std::span<Scalar> values,
            std::span<const Scalar> coefficients, const Scalar& claim) override {
    if (label == "K" && where == kProgress) {
      values[0] = Scalar::zero();
      for (size_t k = 0; k < lost_.size(); ++k) values[0] += powers_[sums_.bounds.size() + k] * lost_[k];
    }
    Liar::send(where, label, values, coefficients, claim);
  }

 private:
  const BoundedSums sums_;
  std::vector<Scalar> powers_, lost_;  // of each group: 1000 Σ Δ (p − s)
};

class UpdateAttack : public ::testing::Test {
 protected:
  TestUpdate honest() { return TestUpdate({.tensors = {64, 128}}, pool_); }
  // Weights of the first tensor go back to an eighth of their guide: its progress is lost, and the model is still near
  // the reference.
  TestUpdate without_progress() {
    TestUpdate out = honest();
    set_back(out, 0);
    return out;
  }
  static void set_back(TestUpdate& update, size_t tensor) {
    const LayoutTensor& in = update.window.deployment->layout().tensors()[tensor];
    const std::vector<int64_t> guide = update.window.guide();
    for (size_t i = in.first_row * 64; i < (in.first_row + in.rows) * 64; ++i) {
      const bool kept = guide[i] != 0 && update.next.theta_p[i] != 0;
      if (kept) update.next.theta_p[i] = update.earlier[i] + guide[i] / 8;
    }
  }
  std::string answer(const TestUpdate& update, Tamper& tamper) {
    const auto proved = update.prove(pool_, &tamper);
    return proved.ok() ? update.answer(proved->proof, pool_) : proved.error().message;
  }
  // The model `update.next`, and `claimed` in some turns.
  std::string answer(const TestUpdate& update, const TestUpdate& claimed, std::set<int> turns, Tamper& tamper) {
    const auto proved = update.prove(OtherInTurns(update.next, claimed.next, std::move(turns)), pool_, &tamper);
    return proved.ok() ? update.answer(proved->proof, pool_) : proved.error().message;
  }

  ThreadPool pool_{1};
};

TEST_F(UpdateAttack, ForksAreWhatTheTestsTakeThemFor) {
  const RegistrationPlan plan = honest().plan();
  EXPECT_EQ(plan.padded().size(), 1U);
  EXPECT_EQ(plan.sums()->units.size(), 2U);
  EXPECT_EQ(plan.sums()->progress_units.size(), 1U);
  Tamper unscrupulous;
  EXPECT_EQ(answer(honest(), unscrupulous), "accepted");
}

// Of the first window, and of the second.
TEST_F(UpdateAttack, RefillsARemovedWeight) {
  for (const bool of_first : {true, false}) {
    TestUpdate update = honest();
    const Layout& layout = update.window.deployment->layout();
    for (const uint64_t c : update.second.support) {
      if (std::ranges::binary_search(update.window.mask.support, c) != of_first) continue;
      update.next.theta_p[layout.padded_index(c)] = 1;
      break;
    }
    const std::string told = update.refusal(pool_);
    EXPECT_NE(told.find("has weights that a window removed"), std::string::npos) << told;
    Tamper unscrupulous;
    EXPECT_EQ(answer(update, honest(), {kRemovals}, unscrupulous), "equation");
    Liar liar;
    liar.at(std::string(kRemoved), "theta", Liar::close_gap(0));
    EXPECT_EQ(answer(update, honest(), {kRemovals}, liar), "equation");
    EXPECT_EQ(answer(update, honest(), {kRemovals, kZero}, unscrupulous), "equation");
  }
}

// Each step is a small part of the way. The bound is around the public reference, and the progress from the model
// before the window: steps do not add up to what one step may not do.
TEST_F(UpdateAttack, WalksBackToTheOldModelInSteps) {
  TestUpdate update = honest();
  const std::vector<int64_t> from = update.next.theta_p;
  std::vector<std::string> answers;
  for (int64_t step = 0; step <= 8; ++step) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 0) update.next.theta_p[i] = from[i] + (update.earlier[i] - from[i]) * step / 8;
    }
    answers.push_back(update.refusal(pool_));
  }
  EXPECT_EQ(answers.front(), "(accepted)");
  EXPECT_NE(answers.back().find("no longer follows the guide of the window 'window 1'"), std::string::npos)
      << answers.back();
  Tamper unscrupulous;
  EXPECT_EQ(answer(update, honest(), {kMeasured, kFollowed}, unscrupulous), "equation");
}

TEST_F(UpdateAttack, WalksAwayInSteps) {
  TestUpdate update = honest();
  const std::vector<int64_t> guide = update.window.guide();
  std::string told = "(accepted)";
  int steps = 0;
  for (; told == "(accepted)" && steps < 64; ++steps) {
    for (size_t i = 0; i < guide.size(); ++i) {
      if (update.next.theta_p[i] != 0) update.next.theta_p[i] += guide[i] < 0 ? -60 : 60;
    }
    told = update.refusal(pool_);
  }
  EXPECT_GT(steps, 1);
  EXPECT_NE(told.find("has drifted by"), std::string::npos) << told;
  Tamper unscrupulous;
  EXPECT_EQ(answer(update, honest(), {kMeasured, kFollowed}, unscrupulous), "equation");
}

// What succeeds: progress is a sum over a tensor, and of a window's rules an update keeps no other. Four weights have
// all of it, as far as the anchor lets them go, and all others are what they were before the window.
TEST_F(UpdateAttack, ProgressGatheredInFewWeights) {
  constexpr int64_t kGathered = 4;
  TestUpdate update = honest();
  const Layout& layout = update.window.deployment->layout();
  const std::vector<int64_t> guide = update.window.guide();
  size_t back = 0, drawn = 0;
  for (const size_t tensor : layout.covered()) {
    const LayoutTensor& in = layout.tensors()[tensor];
    std::vector<size_t> follow;
    for (size_t i = in.first_row * 64; i < (in.first_row + in.rows) * 64; ++i) {
      if (update.current_weights[i] == 0) continue;
      update.next.theta_p[i] = update.earlier[i];
      if (guide[i] != 0) follow.push_back(i);
    }
    const auto all = static_cast<int64_t>(follow.size());
    for (int64_t k = 0; k < kGathered; ++k) {
      const size_t i = follow[static_cast<size_t>(k)];
      update.next.theta_p[i] += guide[i] * update.window.mask.guidance->progress * all / (1000 * kGathered) + guide[i];
    }
    drawn += follow.size();
    back += follow.size() - static_cast<size_t>(kGathered);
  }
  EXPECT_GT(back, drawn * 9 / 10);
  const auto proved = update.prove(pool_);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  EXPECT_EQ(update.answer(proved->proof, pool_), "accepted");
}

TEST_F(UpdateAttack, ProgressUndoneInOneTensor) {
  const TestUpdate lost = without_progress();
  EXPECT_NE(lost.refusal(pool_).find("tensor 'covered.0' no longer follows"), std::string::npos) << lost.refusal(pool_);
  Tamper unscrupulous;
  EXPECT_EQ(answer(lost, honest(), {kFollowed}, unscrupulous), "equation");
}

// Progress and slacks add up over all tensors, and in no tensor: one is paid for by the slack of another.
TEST_F(UpdateAttack, ATensorPaidForByAnother) {
  TestUpdate lost = honest(), claimed = honest();
  const std::vector<int64_t> guide = lost.window.guide();
  // So many weights go back by half of the guide, which is of the same size everywhere.
  const auto go_back = [&](TestUpdate& update, size_t first, size_t count) {
    for (size_t i = first; count > 0; ++i) {
      if (guide[i] == 0 || update.next.theta_p[i] == 0) continue;
      update.next.theta_p[i] -= guide[i] / 2;
      --count;
    }
  };
  go_back(lost, 0, 30);
  go_back(claimed, 64, 30);
  EXPECT_EQ(std::abs(guide[lost.drawn_index(0)]), std::abs(guide[lost.drawn_index(1)]));
  EXPECT_NE(lost.refusal(pool_), "(accepted)");
  EXPECT_EQ(claimed.refusal(pool_), "(accepted)");
  Tamper unscrupulous;
  EXPECT_EQ(answer(lost, claimed, {kFollowed}, unscrupulous), "equation");
}

// Rows that are committed without progress, and with it where progress is proved.
TEST_F(UpdateAttack, ProgressOfOtherRowsThanTheCommitted) {
  Tamper unscrupulous;
  EXPECT_EQ(answer(without_progress(), honest(), {kFollowed, kKept}, unscrupulous), "equation");
}

// K is that of a model with progress: the sumcheck ends elsewhere, and one of the two values is made to fit.
TEST_F(UpdateAttack, ALieInTheProgress) {
  const TestUpdate claimed = honest(), lost = without_progress();
  ProgressLiar truthful(claimed, claimed);
  EXPECT_EQ(answer(claimed, truthful), "accepted");
  for (const int value : {-1, 0, 1}) {
    ProgressLiar liar(lost, claimed);
    if (value >= 0) liar.at(std::string(kProgress), "theta, before", Liar::close_gap(static_cast<size_t>(value)));
    EXPECT_EQ(answer(lost, claimed, {kFollowed}, liar), "equation") << value;
  }
}

// Both values are false, and their sum is true: δ comes after them.
TEST_F(UpdateAttack, LiesInBothModelsThatCancel) {
  const TestUpdate claimed = honest(), lost = without_progress();
  ProgressLiar liar(lost, claimed);
  liar.at(std::string(kProgress), "theta, before",
          [](std::span<Scalar> values, std::span<const Scalar> coefficients, const Scalar& gap) {
            const Scalar shift = gap * (coefficients[1] - coefficients[0]).inverse();
            values[0] -= shift;
            values[1] += shift;
          });
  EXPECT_EQ(answer(lost, claimed, {kFollowed}, liar), "equation");
}

TEST_F(UpdateAttack, ALieInTheSumOfSlacks) {
  for (const int value : {-1, 0, 1}) {
    SumLiar liar(honest().plan());
    if (value >= 0) liar.at(std::string(kSlacks), "slack evaluations", Liar::close_gap(static_cast<size_t>(value)));
    EXPECT_EQ(answer(without_progress(), honest(), {kFollowed}, liar), "equation") << value;
  }
}

// An old model from which the new one looks like progress: another client's, or one's own of another time.
TEST_F(UpdateAttack, AnotherModelBeforeTheWindow) {
  TestUpdate update = without_progress();
  update.earlier = update.window.theta_p;
  const std::vector<int64_t> guide = update.window.guide();
  for (size_t i = 0; i < guide.size(); ++i) update.earlier[i] -= guide[i];
  Tamper unscrupulous;
  EXPECT_EQ(answer(update, unscrupulous), "equation");  // it does not open what the ledger has

  TestUpdate other({.tensors = {64, 128}, .seed = 5}, pool_);
  const TestUpdate own = honest();
  const Proof proof = own.prove(pool_).value().proof;
  UpdateTerms theirs = own.terms();
  theirs.windows[0].before = other.before;
  const Verdict verdict = own.verify(proof, theirs, pool_);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kEquation);
}

// Whoever goes on from a model has to be able to open it. Its commitment is public, and nothing else of an update
// before any guided window needs a secret of the client: others would take its place.
TEST_F(UpdateAttack, ByWhoeverCannotOpenTheCurrentModel) {
  const TestUpdate update = honest();
  const BaseRows base = update.window.base_rows();
  UpdateTerms terms = update.terms();
  terms.windows.erase(terms.windows.begin());
  const RegistrationStatement statement{&*update.window.deployment, update.client, &base, &terms};
  const RegistrationPlan plan = RegistrationPlan::make(*update.window.deployment, update.cut, &terms).value();
  const auto told = [&](const KnownModels& known, Tamper& tamper) {
    const auto proved =
        prove_update(statement, plan, TestWindow::Before(update.next), known, 1 << 12, update.window.generators(),
                     pool_, {.scratch = {}, .progress = go_on, .tamper = &tamper});
    if (!proved.ok()) return proved.error().message;
    const Verdict verdict = update.verify(proved->proof, terms, pool_);
    return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
  };
  Tamper unscrupulous;
  KnownModels own{{{}}, update.known().current};
  EXPECT_EQ(told(own, unscrupulous), "accepted");
  // Weights that somebody guessed, without what blinds one of the rows, and with the blindings of another time.
  for (size_t row = 0; row < update.current.encoded.size(); ++row) {
    std::vector<Scalar> blindings(update.current.all_blindings().begin(), update.current.all_blindings().end());
    blindings[row] = Scalar::zero();
    own.current.blindings = blindings;
    EXPECT_EQ(told(own, unscrupulous), "equation") << row;
  }
  own.current.blindings = {update.earlier_blindings.data(), update.earlier_blindings.size()};
  EXPECT_EQ(told(own, unscrupulous), "equation");
  // Another model.
  EXPECT_EQ(told({{{}}, update.known().before[0]}, unscrupulous), "equation");
}

TEST_F(UpdateAttack, UnderAnotherStatement) {
  const TestUpdate update = honest();
  const Proof proof = update.prove(pool_).value().proof;
  const auto with = [&](const auto& change) {
    UpdateTerms terms = update.terms();
    change(terms);
    const Verdict verdict = update.verify(proof, terms, pool_);
    return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
  };
  EXPECT_EQ(with([](UpdateTerms&) {}), "accepted");
  EXPECT_EQ(with([](UpdateTerms& t) { t.registration.fill(8); }), "equation");
  EXPECT_EQ(with([](UpdateTerms& t) { t.start.fill(8); }), "equation");
  EXPECT_EQ(with([](UpdateTerms& t) { std::swap(t.current[0], t.current[1]); }), "equation");
  EXPECT_EQ(with([](UpdateTerms& t) { t.current.pop_back(); }), "statement");
  EXPECT_EQ(with([](UpdateTerms& t) { std::swap(t.windows[0].before[0], t.windows[0].before[1]); }), "equation");
  EXPECT_EQ(with([](UpdateTerms& t) { t.windows[0].before[0] = {}; }), "point");
  EXPECT_EQ(with([](UpdateTerms& t) { t.windows[0].before.pop_back(); }), "statement");
  EXPECT_EQ(with([](UpdateTerms& t) { t.windows[1].before = t.windows[0].before; }), "statement");
  // The same support under another name.
  Mask renamed = update.second;
  renamed.window = "window 3";
  EXPECT_EQ(with([&](UpdateTerms& t) { t.windows[1].mask = &renamed; }), "equation");
  // Less progress asked for, and less removed.
  Mask easier = update.window.mask;
  easier.guidance->progress -= 1;
  EXPECT_EQ(with([&](UpdateTerms& t) { t.windows[0].mask = &easier; }), "equation");
  Mask less = update.second;
  less.support.pop_back();
  EXPECT_EQ(with([&](UpdateTerms& t) { t.windows[1].mask = &less; }), "equation");
  TestUpdate of_another = honest();
  of_another.client = "client 2";
  EXPECT_EQ(of_another.answer(proof, pool_), "equation");
  TestUpdate elsewhere = honest();
  elsewhere.window.base[elsewhere.drawn_index(0)] += 1;
  EXPECT_EQ(elsewhere.answer(proof, pool_), "equation");
  TestUpdate renewed = honest();
  renewed.curvature = true;
  EXPECT_EQ(renewed.answer(proof, pool_), "length");
}

// Late shifts: see argument/attacks/late_shift_test.cpp.
TEST_F(UpdateAttack, LateShifts) {
  const TestUpdate update({.block = 4, .tensors = {20, 9}}, pool_);
  const UpdateTerms terms = update.terms();
  const BaseRows base = update.window.base_rows();
  const RegistrationStatement statement{&*update.window.deployment, "client 1", &base, &terms};
  const RegistrationPlan plan = update.plan();
  std::vector<OpenCommitment> opened;
  const auto open = [&](const std::vector<int64_t>& weights, const auto& blindings) {
    for (size_t t = 0; t < blindings.size(); ++t) {
      OpenCommitment& row = opened.emplace_back();
      for (size_t l = 0; l < 64; ++l) row.vector.push_back(Scalar::from_i64(weights[t * 64 + l]));
      row.vector.resize(plan.shape().generators());
      row.blinding = blindings[t];
    }
  };
  open(update.earlier, update.earlier_blindings);
  open(update.current_weights, update.current.all_blindings());
  const DishonestProver start = false_proof(std::make_shared<RegistrationRelation>(statement, plan), pool_, opened);
  const size_t progress = plan.padded().size() + plan.sums()->units.size();
  for (const size_t fork : {progress, start.proof.forks.size() - 1}) {
    for (size_t k = 0; k < start.proof.forks[fork].size(); ++k) {
      DishonestProver p = start;
      late_shift(p, p.proof.forks[fork][k]);
      expect_false(p.hand_in());
    }
  }
}

TEST_F(UpdateAttack, UpdatesCanBeSimulated) {
  const TestUpdate update = honest();
  const UpdateTerms terms = update.terms();
  const BaseRows base = update.window.base_rows();
  const RegistrationStatement statement{&*update.window.deployment, "client 1", &base, &terms};
  const RegistrationPlan plan = update.plan();
  std::mt19937_64 rng(5);
  expect_simulated(RegistrationRelation(statement, plan), rng, pool_);
  expect_nothing_shared({update.prove(pool_).value().proof, update.prove(pool_).value().proof});
}

}  // namespace
}  // namespace zkapex
