// Every scalar that a prover sends, moved when it is sent, the prover going on as if it were true: alone, and in pairs
// that keep the equation it stands in. What is accepted is a value that nothing binds.
#include <gtest/gtest.h>

#include "argument/channel.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/update_testing.h"

namespace zkapex {
namespace {

using testing::TestUpdate;
using testing::TestWindow;
using testing::WindowOptions;

struct Message {
  std::string transcript, label;
  size_t size;
  std::vector<Scalar> coefficients;  // of its equation, where there is one
};

class Recorder : public Tamper {
 public:
  void send(const std::string& transcript, std::string_view label, std::span<Scalar> values,
            std::span<const Scalar> coefficients, const Scalar&) override {
    messages.push_back({transcript, std::string(label), values.size(), {coefficients.begin(), coefficients.end()}});
  }
  std::vector<Message> messages;
};

// Adds 1 to value `moved` of one message, and to value `paid` of it what keeps its equation.
struct Shift : Tamper {
  size_t message, moved;
  std::optional<size_t> paid;
  size_t seen = 0;
  Shift(size_t which, size_t value, std::optional<size_t> by = std::nullopt) : message(which), moved(value), paid(by) {}
  void send(const std::string&, std::string_view, std::span<Scalar> values, std::span<const Scalar> coefficients,
            const Scalar&) override {
    if (seen++ != message) return;
    values[moved] += Scalar::one();
    if (paid) values[*paid] -= coefficients[moved] * coefficients[*paid].inverse();
  }
};

// attempt(tamper): is the proof accepted?
template <class Attempt>
void expect_all_values_bound(const Attempt& attempt) {
  Recorder recorder;
  ASSERT_TRUE(attempt(recorder));
  for (size_t m = 0; m < recorder.messages.size(); ++m) {
    const Message& message = recorder.messages[m];
    // The rounds of a sumcheck are all alike; the first and the last of each stand for the others.
    if (message.label.ends_with("round 2") || message.label.ends_with("round 3")) continue;
    const auto has_weight = [&](size_t k) {
      return k < message.coefficients.size() && !message.coefficients[k].is_zero();
    };
    for (size_t k = 0; k < message.size; ++k) {
      Shift alone(m, k);
      EXPECT_FALSE(attempt(alone)) << message.transcript << "/" << message.label << " " << k;
      const size_t next = (k + 1) % message.size;
      if (next == k || !has_weight(k) || !has_weight(next)) continue;
      Shift pair(m, k, next);
      EXPECT_FALSE(attempt(pair)) << message.transcript << "/" << message.label << " " << k << " paid by " << next;
    }
  }
}

class UnboundValues : public ::testing::Test {
 protected:
  void expect_bound(const WindowOptions& options) {
    const TestWindow window(options, pool_);
    expect_all_values_bound([&](Tamper& tamper) {
      const Result<WindowProof> proof = window.prove(pool_, &tamper);
      EXPECT_TRUE(proof.ok());
      return window.verify(proof->proof, pool_).ok();
    });
  }
  ThreadPool pool_{2};
};

TEST_F(UnboundValues, NoneInACompensatedWindow) {
  expect_bound({.block = 7, .tensors = {7, 20}, .rows_per_segment = 2, .seed = 3});
  expect_bound({.block = 7, .tensors = {7, 20}, .rows_per_segment = 1, .seed = 3});
}

TEST_F(UnboundValues, NoneInAMaskOnlyWindow) {
  expect_bound({.tensors = {10, 20}, .rows_per_segment = 1, .op = Operator::kMaskOnly});
}

TEST_F(UnboundValues, NoneInARegistration) {
  const TestWindow window({.block = 4, .tensors = {20}, .anchored = true}, pool_);
  const RegistrationPlan plan = *RegistrationPlan::make(*window.deployment, {window.deployment->layout().rows()});
  const BaseRows base = window.base_rows();
  const RegistrationStatement statement{&*window.deployment, "client 1", &base};
  expect_all_values_bound([&](Tamper& tamper) {
    const Result<ProvedRegistration> proved =
        prove_registration(statement, plan, TestWindow::Before(window), 1 << 12, window.generators(), pool_,
                           {.scratch = {}, .progress = go_on, .tamper = &tamper});
    EXPECT_TRUE(proved.ok());
    const auto sum = check_registration(statement, plan, proved->proof, pool_);
    return sum.ok() && verdict_var(*sum, window.generators(), pool_).ok();
  });
}

TEST_F(UnboundValues, NoneInAnUpdate) {
  const TestUpdate update({.block = 4, .tensors = {20}}, pool_);
  expect_all_values_bound([&](Tamper& tamper) {
    const Result<ProvedRegistration> proved = update.prove(pool_, &tamper);
    EXPECT_TRUE(proved.ok());
    return update.verify(proved->proof, pool_).ok();
  });
}

}  // namespace
}  // namespace zkapex
