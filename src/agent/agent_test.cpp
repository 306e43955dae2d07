#include "agent/agent.h"

#include "agent/agent_testing.h"

namespace zkapex::testing {
namespace {

TEST_F(AgentTest, AWindowFromRegistrationToItsReceipt) {
  be_registered();
  const uint64_t index = publish("w1");
  rounds(2);
  EXPECT_EQ(told_, (Lines{"window \"w1\": seen", "window \"w1\": computed", "window \"w1\": submitted",
                          "window \"w1\": received", "window \"w1\": accepted"}));
  EXPECT_EQ(history(), Lines{"w1"});
  EXPECT_EQ(pending(), 0U);
  EXPECT_EQ(verdicts("w1", true), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder().model()));
  EXPECT_FALSE(std::filesystem::exists(window("w1").model()));

  // All that is needed to show it to somebody else.
  const Bytes bytes = *read_file(window("w1").receipt(), Receipt::kMaxFileBytes);
  const Receipt receipt = *Receipt::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Envelope verdict = *read_envelope(window("w1").verdict());
  EXPECT_TRUE(check_receipt(receipt, view(verdict.encode()), provider_->policy()).ok());
  EXPECT_EQ(VerdictNotice::decode(verdict.payload)->window_index, index);
}

TEST_F(AgentTest, RoundsWithoutWorkChangeNothing) {
  be_registered();
  publish("w1");
  rounds(3);
  told_.clear();
  const size_t entries = provider_->entries().size();
  rounds(3);
  EXPECT_EQ(told_, Lines{});
  EXPECT_EQ(provider_->entries().size(), entries);
}

TEST_F(AgentTest, OneWindowAfterTheOther) {
  be_registered();
  publish("w1");
  publish("w2", {0, 3, 7, 8, 24});
  rounds(1);
  EXPECT_EQ(state_of("w1"), "received");
  EXPECT_EQ(state_of("w2"), "seen");
  rounds(3);
  EXPECT_EQ(history(), (Lines{"w1", "w2"}));
}

TEST_F(AgentTest, OneProcessAtATime) {
  const auto first = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(first.ok());
  EXPECT_NE(refusal(Agent::open(folder(), *provider_, options())), "(accepted)");
}

TEST_F(AgentTest, AFolderWithoutAnAgentSaysWhatToDo) {
  EXPECT_NE(refusal(Agent::open({at("nowhere")}, *provider_, options())).find("agent init"), std::string::npos);
  std::filesystem::remove(folder().enrolment());
  EXPECT_NE(refusal(Agent::open(folder(), *provider_, options())).find("agent init again"), std::string::npos);
}

// Polls

TEST_F(AgentTest, TheNextRoundIsWhenSomethingMayHaveHappened) {
  auto agent = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(agent->once(kNow).next, kNow + 4);  // a verdict is due
  EXPECT_EQ(agent->once(kNow).next, kNow + 3 * 3600);
  provider_->intercept = [](const WebRequest&) { return Result<WebAnswer>(error("nobody there")); };
  for (const UnixTime wait : {4, 8, 16}) {
    const Round failed = agent->once(kNow);
    EXPECT_TRUE(says(failed.troubles, "nobody there"));
    EXPECT_EQ(failed.next, kNow + wait);
  }
  provider_->intercept = [](const WebRequest&) {
    const std::string body = Problem{ProblemKind::kBusy, "full"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 503, .retry_after = 70, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_EQ(agent->once(kNow).next, kNow + 70);
  provider_->intercept = {};
  EXPECT_EQ(agent->once(kNow).next, kNow + 3 * 3600);
}

TEST_F(AgentTest, AnAnswerThatIsKnownIsNotSentAgain) {
  be_registered();
  auto agent = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(agent.ok());
  std::vector<std::string> etags;
  provider_->intercept = [&](const WebRequest& request) {
    if (request.url.ends_with(paths::kWindows)) etags.push_back(request.etag);
    return std::optional<Result<WebAnswer>>();
  };
  (void)agent->once(kNow);
  (void)agent->once(kNow);
  ASSERT_EQ(etags.size(), 2U);
  EXPECT_EQ(etags[0], "");
  EXPECT_NE(etags[1], "");
  publish("w1");
  (void)agent->once(kNow);
  EXPECT_EQ(state_of("w1"), "received");
}

TEST_F(AgentTest, AWindowBeginsAtATimeOfItsOwn) {
  AgentConfig config = *read_config(folder());
  config.at_once = false;
  ASSERT_TRUE(write_file(folder().config(), view(config.encode()), {.overwrite = true}).ok());
  be_registered();
  publish("w1");
  const UnixTime start = own_start(kNow - 10, kNow + 10 * kDay, config.client, "w1");
  if (start > kNow) {
    const Round waits = round();
    EXPECT_EQ(state_of("w1"), "seen");
    EXPECT_EQ(waits.next, std::min(start, kNow + 3 * 3600));
  }
  rounds(1, start);
  EXPECT_EQ(state_of("w1"), "received");
}

// Faults

TEST_F(AgentTest, KilledAnywhereARegistrationIsFinished) {
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset();
    killed = is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentOptions fragile = options(change);
      fragile.work = provider_->settings = settings;
      auto agent = Agent::open(folder(), *provider_, fragile);
      for (int k = 0; k < 2; ++k) (void)agent->once(kNow);
    });
    rounds(2);
    EXPECT_EQ(read_status(folder())->registration, "accepted") << fatal;
    EXPECT_EQ(provider_->notices<RegistrationNotice>().size(), 1U) << fatal;
    EXPECT_EQ(provider_->notices<VerdictNotice>().size(), 1U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
  }
  EXPECT_GT(fatal, 5);
}

TEST_F(AgentTest, KilledAnywhereTheNextRoundGoesOn) {
  be_registered();
  publish("w1");
  save_as("published");
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset_from("published");
    killed = is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentOptions fragile = options(change);
      fragile.work = provider_->settings = settings;
      auto agent = Agent::open(folder(), *provider_, fragile);
      for (int k = 0; k < 2; ++k) (void)agent->once(kNow);
    });
    rounds(2);
    EXPECT_EQ(state_of("w1"), "accepted") << fatal;
    EXPECT_EQ(history(), Lines{"w1"}) << fatal;
    EXPECT_EQ(pending(), 0U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
    EXPECT_EQ(verdicts("w1", true), 1U) << fatal;
    EXPECT_EQ(verdicts("w1", false), 0U) << fatal;
    EXPECT_EQ(Journal(folder().windows()).windows()->size(), 1U) << fatal;
    EXPECT_TRUE(std::filesystem::exists(folder().model())) << fatal;
  }
  EXPECT_GT(fatal, 25);
}

TEST_F(AgentTest, KilledAnywhereARejectionIsFinished) {
  be_registered();
  publish("w1");
  provider_->rejects = Reason::kEquation;
  rounds(1);
  ASSERT_EQ(state_of("w1"), "received");
  save_as("rejected");
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset_from("rejected");
    killed = is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentOptions fragile = options(change);
      fragile.work = provider_->settings = settings;
      auto agent = Agent::open(folder(), *provider_, fragile);
      (void)agent->once(kNow);
    });
    rounds(2);
    EXPECT_EQ(state_of("w1"), "accepted") << fatal;
    EXPECT_EQ(history(), Lines{"w1"}) << fatal;
    EXPECT_EQ(pending(), 0U) << fatal;
    EXPECT_EQ(verdicts("w1", true), 1U) << fatal;
    EXPECT_EQ(verdicts("w1", false), 1U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
    EXPECT_EQ(count_earlier(window("w1")), 1U) << fatal;
  }
  EXPECT_GT(fatal, 20);
}

TEST_F(AgentTest, EveryRequestMayFailOnceAndArriveTwice) {
  std::map<std::string, int> sent;
  bool inside = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (inside) return std::nullopt;
    const std::string what = std::to_string(static_cast<int>(request.method)) + request.url;
    if (sent[what]++ > 0) return std::nullopt;
    // It arrives, twice, and the answer is lost.
    inside = true;
    for (int k = 0; k < 2; ++k) (void)provider_->send(request);
    inside = false;
    return Result<WebAnswer>(error("the connection broke"));
  };
  for (int k = 0; k < 40; ++k) (void)round();
  publish("w1");
  for (int k = 0; k < 40; ++k) (void)round();
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(verdicts("w1", true), 1U);
  EXPECT_EQ(provider_->notices<SubmissionNotice>().size(), 1U);
  EXPECT_EQ(provider_->notices<RegistrationNotice>().size(), 1U);
}

TEST_F(AgentTest, WhatTheProviderLostIsSentAgain) {
  be_registered();
  publish("w1");
  provider_->deciding = false;
  rounds(1);
  ASSERT_EQ(state_of("w1"), "received");
  const Envelope submission = *read_envelope(window("w1").submission());
  std::filesystem::remove_all(at("test/provider/deliveries") / to_hex(submission.payload_digest()));
  EXPECT_TRUE(says(trouble(round()), "announced again"));
  rounds(1);
  provider_->deciding = true;
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

// Clocks and deadlines

TEST_F(AgentTest, AClockThatIsADayOffDecidesNothing) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow - 10, kNow + kDay / 2);
  // Ahead: the window seems to be over. Behind: it seems not to be open. Neither is final.
  for (const UnixTime wrong : {kNow + kDay, kNow - kDay}) {
    provider_->now = kNow;
    auto agent = Agent::open(folder(), *provider_, options());
    ASSERT_TRUE(agent.ok());
    EXPECT_EQ(agent->once(wrong).troubles, Lines{});
    EXPECT_NE(state_of("w1"), "received");
  }
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

TEST_F(AgentTest, AWindowThatWasSeenAndMissedHoldsNothingUp) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow + 10, kNow + 20);
  rounds(1);
  EXPECT_EQ(state_of("w1"), "seen");
  provider_->publish("w2", {0, 3, 7, 8, 24}, kNow, kNow + kDay);
  rounds(2, kNow + 100);
  EXPECT_EQ(state_of("w1"), "seen");
  EXPECT_EQ(history(), Lines{"w2"});
}

TEST_F(AgentTest, TheProvidersDeadlineEndsAWindow) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow - 10, kNow + 100);
  provider_->now = kNow + 200;  // this machine's clock is behind
  auto agent = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(agent.ok());
  // A refusal is not signed: before its own clock agrees, the agent tries again.
  EXPECT_TRUE(says(trouble(agent->once(kNow)), "refuses (deadline)"));
  EXPECT_EQ(state_of("w1"), "computed");
  EXPECT_EQ(pending(), 1U);
  EXPECT_EQ(agent->once(kNow + 100).troubles, Lines{});
  EXPECT_EQ(state_of("w1"), "rejected");
  EXPECT_EQ(pending(), 0U);
  EXPECT_FALSE(std::filesystem::exists(window("w1").model()));
  EXPECT_FALSE(std::filesystem::exists(window("w1").aside()));  // nobody has the proof
  EXPECT_EQ(read_status(folder())->windows.front().reason, "deadline");
  EXPECT_EQ(agent->once(kNow + 100).troubles, Lines{});
  EXPECT_EQ(state_of("w1"), "rejected");
}

// A proof that was sent and refused may be accepted all the same; then only what was set aside is the way on.
TEST_F(AgentTest, WhatWasSentAndRefusedIsKept) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow - 10, kNow + 100);
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPut) return std::nullopt;
    const std::string body = Problem{ProblemKind::kDeadline, "late"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 409, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "refuses (deadline)"));
  EXPECT_EQ(state_of("w1"), "submitted");
  rounds(1, kNow + 100);
  EXPECT_EQ(state_of("w1"), "rejected");
  EXPECT_EQ(pending(), 0U);
  size_t secrets = 0;
  for (const auto& attempt : std::filesystem::directory_iterator(window("w1").aside()))
    secrets += static_cast<size_t>(std::filesystem::exists(attempt.path() / "secret.zka"));
  EXPECT_EQ(secrets, 1U);
  EXPECT_TRUE(std::filesystem::exists(window("w1").aside() / "unlearned.safetensors"));
}

TEST_F(AgentTest, APromiseThatIsNotKeptIsEvidence) {
  be_registered();
  publish("w1");
  provider_->deciding = false;
  rounds(1);
  EXPECT_EQ(round(kNow + FakeProvider::kVerdictSeconds).troubles, Lines{});
  EXPECT_TRUE(says(trouble(round(kNow + FakeProvider::kVerdictSeconds + 1)), "is the evidence"));
  EXPECT_EQ(pending(), 1U);
}

// Rejections

TEST_F(AgentTest, ARejectedProofIsMadeAgain) {
  be_registered();
  publish("w1");
  provider_->rejects = Reason::kEquation;
  rounds(1);
  provider_->rejects = {};
  told_.clear();
  rounds(1);
  EXPECT_EQ(told_, (Lines{"window \"w1\": rejected", "window \"w1\": seen", "window \"w1\": computed",
                          "window \"w1\": submitted", "window \"w1\": received"}));
  EXPECT_EQ(read_status(folder())->windows.front().earlier, 1U);
  rounds(1);
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(verdicts("w1", false), 1U);
  EXPECT_TRUE(std::filesystem::exists(window("w1").folder / "earlier/1/verdict.tlog-proof"));
}

TEST_F(AgentTest, NotForever) {
  be_registered();
  publish("w1");
  provider_->rejects = Reason::kEquation;
  rounds(8);
  EXPECT_EQ(state_of("w1"), "rejected");
  EXPECT_EQ(verdicts("w1", false), WindowSteps::kMostAttempts);
  EXPECT_EQ(history(), Lines{});
  EXPECT_EQ(pending(), 0U);
  // The next window starts from the same state.
  provider_->rejects = {};
  publish("w2", {0, 3, 7, 8, 24});
  rounds(2);
  EXPECT_EQ(history(), Lines{"w2"});
}

TEST_F(AgentTest, NorWhereAnotherProofWouldBeRejectedToo) {
  for (const Reason reason :
       {Reason::kLength, Reason::kVersion, Reason::kStatement, Reason::kDeployment, Reason::kRegistration,
        Reason::kClient, Reason::kMask, Reason::kWindow, Reason::kModel, Reason::kOrder})
    EXPECT_FALSE(worth_proving_again(reason)) << name(reason);
  be_registered();
  publish("w1");
  provider_->rejects = Reason::kMask;
  rounds(4);
  EXPECT_EQ(state_of("w1"), "rejected");
  EXPECT_EQ(verdicts("w1", false), 1U);
  EXPECT_EQ(read_status(folder())->windows.front().reason, "mask");
}

}  // namespace
}  // namespace zkapex::testing
