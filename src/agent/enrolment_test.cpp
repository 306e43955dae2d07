#include "agent/enrolment.h"

#include "agent/agent_testing.h"
#include "exchange/audit.h"

namespace zkapex::testing {
namespace {

class KeyTest : public AgentTest {
 protected:
  static std::string key_id() { return SigningKey::read(folder().key())->public_key().id(); }
  static bool is_ordered() { return std::filesystem::exists(folder().next_key()); }
  static void order() {
    const Status done = order_new_key(folder());
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  // What an auditor finds in the provider's log.
  Lines findings() {
    LogAudit audit(provider_->policy().logs().front().key);
    for (const Bytes& entry : provider_->entries()) audit.add(entry);
    Lines out;
    for (const AuditFinding& finding : audit.findings()) out.push_back(finding.what);
    return out;
  }
  // Lets no upload through; if `arrives`, only its answer is lost.
  void lose_uploads(bool arrives) {
    provider_->intercept = [this, arrives](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
      if (request.method != WebMethod::kPut || inside_) return std::nullopt;
      inside_ = true;
      if (arrives) (void)provider_->send(request);
      inside_ = false;
      return Result<WebAnswer>(error("the connection broke"));
    };
  }

  bool inside_ = false;
};

TEST_F(KeyTest, ANewKeySignsFromThenOn) {
  be_registered();
  const std::string before = key_id();
  order();
  const std::string next = SigningKey::read(folder().next_key())->public_key().id();
  order();  // once more is the same order
  EXPECT_EQ(SigningKey::read(folder().next_key())->public_key().id(), next);
  EXPECT_TRUE(read_status(folder())->key_is_ordered);
  rounds(1);
  EXPECT_EQ(told_, Lines{"key: replaced"});
  EXPECT_EQ(key_id(), next);
  EXPECT_EQ(read_status(folder())->key, next);
  EXPECT_FALSE(is_ordered());
  publish("w1");
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
  order();
  rounds(1);
  EXPECT_EQ(findings(), Lines{});
  const std::vector<ClientNotice> keys = provider_->notices<ClientNotice>();
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[1].replaces, before);
  EXPECT_EQ(keys[2].replaces, next);
  EXPECT_EQ(keys[2].rotation, 2U);
}

TEST_F(KeyTest, AnOrderIsForAnAgent) {
  EXPECT_NE(refusal(order_new_key({at("nowhere")})).find("agent init"), std::string::npos);
}

TEST_F(KeyTest, ARunningAgentNoticesAnOrder) {
  be_registered();
  auto agent = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(agent.ok());
  (void)agent->once(kNow);
  order();
  EXPECT_TRUE(agent->has_new_order());
  (void)agent->once(kNow);
  EXPECT_FALSE(agent->has_new_order());
  publish("w1");
  (void)agent->once(kNow);
  EXPECT_EQ(state_of("w1"), "received");
}

TEST_F(KeyTest, TheProviderSignsThisKey) {
  be_registered();
  const std::string before = key_id();
  order();
  bool by_somebody_else = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost) return std::nullopt;
    EnrolmentRequest asked =
        *EnrolmentRequest::decode({reinterpret_cast<const char*>(request.body.data()), request.body.size()});
    by_somebody_else = true;
    EXPECT_TRUE(add_signature(asked.client, provider_->log_key).ok());
    const std::string body = EnrolmentAnswer{asked.client}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 201, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_EQ(trouble(round()).size(), 1U);
  EXPECT_TRUE(by_somebody_else);
  EXPECT_EQ(key_id(), before);
}

// The old key does for as long as the provider will not have the new one.
TEST_F(KeyTest, ARefusedKeyHoldsNothingUp) {
  be_registered();
  const std::string before = key_id();
  order();
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (!request.url.ends_with(paths::kClients)) return std::nullopt;
    const std::string body = Problem{ProblemKind::kTaken, "no"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 409, .body = Bytes(body.begin(), body.end())});
  };
  publish("w1");
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(says(trouble(round()), "the new key: the provider refuses (taken)"));
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(key_id(), before);
  provider_->intercept = {};
  rounds(1);
  EXPECT_NE(key_id(), before);
}

// A statement that was signed by the old key, and what it announces never came.
TEST_F(KeyTest, InTheMiddleOfAWindow) {
  be_registered();
  publish("w1");
  lose_uploads(false);
  EXPECT_TRUE(says(trouble(round()), "broke"));
  EXPECT_EQ(state_of("w1"), "submitted");
  provider_->intercept = {};
  order();
  for (int k = 0; k < 4; ++k) (void)round();  // it is announced again
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(provider_->notices<SubmissionNotice>().size(), 1U);
  EXPECT_EQ(findings(), Lines{});
}

// It came, and the answer was lost: the log has the signature of the old key.
TEST_F(KeyTest, WhatIsInTheLogStaysAsItWasSigned) {
  lose_uploads(true);
  EXPECT_TRUE(says(trouble(round()), "broke"));
  provider_->intercept = {};
  order();
  rounds(3);
  EXPECT_EQ(read_status(folder())->registration, "accepted");
  publish("w1");
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(findings(), Lines{});
}

TEST_F(KeyTest, KilledAnywhereAKeyIsReplaced) {
  be_registered();
  publish("w1");
  order();
  save_as("rotating");
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset_from("rotating");
    killed = is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentOptions fragile = options(change);
      fragile.work = provider_->settings = settings;
      auto agent = Agent::open(folder(), *provider_, fragile);
      for (int k = 0; k < 2; ++k) (void)agent->once(kNow);
    });
    rounds(2);
    EXPECT_FALSE(is_ordered()) << fatal;
    EXPECT_EQ(provider_->notices<ClientNotice>().size(), 2U) << fatal;
    EXPECT_EQ(provider_->notices<ClientNotice>().back().key.id(), key_id()) << fatal;
    EXPECT_EQ(state_of("w1"), "accepted") << fatal;
    EXPECT_EQ(findings(), Lines{}) << fatal;
  }
  EXPECT_GT(fatal, 5);
}

}  // namespace
}  // namespace zkapex::testing
