#include "agent/update_steps.h"

#include "agent/agent_testing.h"
#include "agent/enrolment.h"

namespace zkapex::testing {
namespace {

class UpdateTest : public AgentTest {
 protected:
  // The client's weights as they stand, each that is not zero moved by `step`.
  static Path learned(int64_t step, const std::string& file = "test/learned.safetensors") {
    const OpenSecret state = *OpenSecret::open(ClientFolder{folder().client()}.secret(), world_->deployment);
    std::vector<int64_t> integers(world_->deployment.layout().coordinates());
    EXPECT_TRUE(state.read(0, integers).ok());
    std::vector<double> weights;
    for (const int64_t v : integers) weights.push_back(static_cast<double>(v == 0 ? 0 : v + step) / 1024);
    world_->write_model(file, weights, {1, 2, 3});
    return at(file);
  }
  static Status order(const Path& model) {
    return order_update(folder(), {.model = model, .store = at("store.zka"), .base = world_->base_file()});
  }
  void be_ordered(const Path& model) {
    const Status done = order(model);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void do_window(const std::string& name, const std::vector<uint64_t>& support = {0, 7, 8, 24}) {
    publish(name, support);
    rounds(2);
    ASSERT_EQ(state_of(name), "accepted");
    told_.clear();
  }
  static Lines updates() {
    Lines out;
    const AgentStatus status = *read_status(folder());
    for (const UpdateStatus& update : status.updates) out.emplace_back(name(update.state));
    return out;
  }
  static Sha256::Digest last_update() { return read_secret_header(ClientFolder{folder().client()}.secret())->update; }
  static size_t pending_update_count() { return pending_updates(ClientFolder{folder().client()})->size(); }
  // What was sent and refused, by whomever: the state after it is still here.
  static bool is_kept() {
    for (const auto& attempt : std::filesystem::directory_iterator(folder().updates() / "1" / "set-aside")) {
      if (std::filesystem::exists(attempt.path() / "secret.zka")) return true;
    }
    return false;
  }
  size_t update_verdicts(bool passed) {
    size_t out = 0;
    for (const VerdictNotice& verdict : provider_->notices<VerdictNotice>())
      out += static_cast<size_t>(verdict.of == StatementKind::kUpdate && verdict.passed() == passed);
    return out;
  }
  // Everything up to `count` rounds in a process that dies at its change number `fatal`.
  bool dies(int fatal, int count) {
    return is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentOptions fragile = options(change);
      fragile.work = provider_->settings = settings;
      auto agent = Agent::open(folder(), *provider_, fragile);
      for (int k = 0; k < count; ++k) (void)agent->once(kNow);
    });
  }
};

TEST_F(UpdateTest, FromTheOrderToTheReceipt) {
  be_registered();
  do_window("w1");
  be_ordered(learned(3));
  EXPECT_EQ(updates(), Lines{"ordered"});
  rounds(2);
  EXPECT_EQ(told_, (Lines{"update: computed", "update: sent", "update: received", "update: accepted"}));
  EXPECT_EQ(updates(), Lines{"accepted"});
  EXPECT_EQ(update_verdicts(true), 1U);
  EXPECT_EQ(pending_update_count(), 0U);
  const DeliveryFiles files = past_updates(folder()).front().delivery();
  EXPECT_EQ(last_update(), read_public_file<UpdateFile>(files.file)->digest());
  EXPECT_TRUE(provider_->notices<UpdateNotice>().front().curvature);

  const Bytes bytes = *read_file(files.receipt, Receipt::kMaxFileBytes);
  const Receipt receipt = *Receipt::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  EXPECT_TRUE(check_receipt(receipt, view(read_envelope(files.verdict)->encode()), provider_->policy()).ok());

  // The next window starts from it, and so does the next update.
  do_window("w2", {0, 3, 7, 8, 24});
  EXPECT_EQ(history(), (Lines{"w1", "w2"}));
  be_ordered(learned(-2));
  rounds(2);
  EXPECT_EQ(updates(), (Lines{"accepted", "accepted"}));
}

TEST_F(UpdateTest, AnOrderIsForAFolderFilesAndATimeThatFit) {
  be_registered();
  const Path model = learned(3);
  EXPECT_NE(refusal(order_update({at("nowhere")}, {.model = model, .store = {}, .base = {}})).find("agent init"),
            std::string::npos);
  EXPECT_NE(refusal(order_update(folder(), {.model = model, .store = {}, .base = {}})).find("--base"),
            std::string::npos);
  EXPECT_NE(refusal(order(at("no-model"))), "(accepted)");
  EXPECT_NE(refusal(order_update(folder(), {.model = model, .store = model, .base = world_->base_file()})),
            "(accepted)");
  EXPECT_EQ(updates(), Lines{});
  be_ordered(model);
  EXPECT_NE(refusal(order(model)).find("under way"), std::string::npos);
}

TEST_F(UpdateTest, ARunningAgentNoticesAnOrder) {
  be_registered();
  auto agent = Agent::open(folder(), *provider_, options());
  ASSERT_TRUE(agent.ok());
  (void)agent->once(kNow);
  EXPECT_FALSE(agent->has_new_order());
  be_ordered(learned(3));
  EXPECT_TRUE(agent->has_new_order());
  provider_->deciding = false;
  (void)agent->once(kNow);
  EXPECT_FALSE(agent->has_new_order());
  EXPECT_EQ(updates(), Lines{"received"});
}

// Windows and updates

TEST_F(UpdateTest, AWindowThatIsOpenComesFirst) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow + 50, kNow + kDay);
  be_ordered(learned(3));
  rounds(2);
  EXPECT_EQ(updates(), Lines{"ordered"});
  EXPECT_EQ(state_of("w1"), "seen");
  rounds(1, kNow + 60);
  EXPECT_EQ(state_of("w1"), "received");
  EXPECT_EQ(updates(), Lines{"ordered"});
  rounds(1, kNow + 60);
  EXPECT_EQ(state_of("w1"), "accepted");
  // What was learned before the window does not keep what the window did.
  EXPECT_EQ(updates(), Lines{"failed"});
  EXPECT_NE(read_status(folder())->updates.front().reason, "");
  be_ordered(learned(3));
  rounds(2, kNow + 60);
  EXPECT_EQ(updates(), (Lines{"failed", "accepted"}));
}

TEST_F(UpdateTest, AWindowThatWasMissedHoldsNothingUp) {
  be_registered();
  provider_->publish("w1", {0, 7, 8, 24}, kNow - 10, kNow + 100);
  provider_->deciding = false;
  int fatal = 0;
  while (dies(fatal, 1) && pending() == 0) ++fatal;  // computed, and nobody has it
  ASSERT_EQ(pending(), 1U);
  ASSERT_EQ(state_of("w1"), "seen");
  provider_->deciding = true;
  be_ordered(learned(3));
  rounds(2, kNow + 200);
  EXPECT_EQ(updates(), Lines{"accepted"});
  EXPECT_EQ(pending(), 0U);
}

TEST_F(UpdateTest, WindowsWaitForTheVerdict) {
  be_registered();
  be_ordered(learned(3));
  provider_->deciding = false;
  rounds(1);
  EXPECT_EQ(updates(), Lines{"received"});
  publish("w1");
  const Round waits = round();
  EXPECT_TRUE(waits.waiting);
  EXPECT_EQ(state_of("w1"), "seen");
  EXPECT_TRUE(says(trouble(round(kNow + FakeProvider::kVerdictSeconds + 1)), "is the evidence"));
  EXPECT_EQ(state_of("w1"), "seen");
  provider_->deciding = true;
  rounds(3);
  EXPECT_EQ(updates(), Lines{"accepted"});
  EXPECT_EQ(history(), Lines{"w1"});
}

// The provider publishes a window while the update is on its way: first at its announcement, then at its upload.
TEST_F(UpdateTest, AWindowThatComesBetweenIsAnsweredFirst) {
  be_registered();
  save_as("registered");
  for (const WebMethod method : {WebMethod::kPost, WebMethod::kPut}) {
    reset_from("registered");
    be_ordered(learned(3));
    bool published = false;
    provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
      if (request.method == method && !published) {
        published = true;
        provider_->publish("w1", {0, 7, 8, 24}, kNow - 10, kNow + kDay);
      }
      return std::nullopt;
    };
    EXPECT_TRUE(says(trouble(round()), "the answer to a window first"));
    EXPECT_EQ(updates(), Lines{"computed"});
    EXPECT_EQ(provider_->notices<UpdateNotice>().size(), 0U);
    rounds(2);
    EXPECT_EQ(history(), Lines{"w1"});
    EXPECT_EQ(verdicts("w1", false), 0U);
    EXPECT_EQ(updates(), Lines{"failed"});  // its weights are not zero where the window's are
    EXPECT_EQ(pending_update_count(), 0U);
    EXPECT_TRUE(is_kept());
  }
}

// Ends

TEST_F(UpdateTest, ARejectedUpdateLeavesTheClientWhereItWas) {
  be_registered();
  be_ordered(learned(3));
  provider_->rejects = Reason::kEquation;
  rounds(2);
  EXPECT_EQ(updates(), Lines{"rejected"});
  EXPECT_EQ(read_status(folder())->updates.front().reason, "equation");
  EXPECT_EQ(last_update(), Sha256::Digest{});
  EXPECT_EQ(pending_update_count(), 0U);
  provider_->rejects = {};
  be_ordered(learned(3));
  rounds(2);
  EXPECT_EQ(updates(), (Lines{"rejected", "accepted"}));
}

TEST_F(UpdateTest, WhatTheProviderWillNotHaveEnds) {
  be_registered();
  be_ordered(learned(3));
  provider_->intercept = [](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost) return std::nullopt;
    const std::string body = Problem{ProblemKind::kTooLarge, "no room"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 413, .body = Bytes(body.begin(), body.end())});
  };
  rounds(1);
  EXPECT_EQ(updates(), Lines{"failed"});
  EXPECT_NE(read_status(folder())->updates.front().reason.find("no room"), std::string::npos);
  EXPECT_TRUE(is_kept());
  provider_->intercept = {};
  do_window("w1");
}

// Faults

TEST_F(UpdateTest, KilledAnywhereAnUpdateIsFinished) {
  be_registered();
  do_window("w1");
  be_ordered(learned(3));
  save_as("ordered");
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset_from("ordered");
    killed = dies(fatal, 2);
    rounds(2);
    EXPECT_EQ(updates(), Lines{"accepted"}) << fatal;
    EXPECT_EQ(pending_update_count(), 0U) << fatal;
    EXPECT_EQ(update_verdicts(true), 1U) << fatal;
    EXPECT_EQ(provider_->notices<UpdateNotice>().size(), 1U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
    EXPECT_EQ(last_update(), provider_->notices<UpdateNotice>().front().update) << fatal;
    publish("w2", {0, 3, 7, 8, 24});
    rounds(2);
    EXPECT_EQ(history(), (Lines{"w1", "w2"})) << fatal;
  }
  EXPECT_GT(fatal, 15);
}

TEST_F(UpdateTest, KilledAnywhereARejectionIsFinished) {
  be_registered();
  be_ordered(learned(3));
  provider_->rejects = Reason::kEquation;
  rounds(1);
  ASSERT_EQ(updates(), Lines{"received"});
  save_as("judged");
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    reset_from("judged");
    provider_->rejects = Reason::kEquation;
    killed = dies(fatal, 1);
    rounds(1);
    EXPECT_EQ(updates(), Lines{"rejected"}) << fatal;
    EXPECT_EQ(pending_update_count(), 0U) << fatal;
    EXPECT_EQ(update_verdicts(false), 1U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
  }
  EXPECT_GT(fatal, 3);
}

TEST_F(UpdateTest, EveryRequestMayFailOnceAndArriveTwice) {
  be_registered();
  be_ordered(learned(3));
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
  for (int k = 0; k < 20; ++k) (void)round();
  EXPECT_EQ(updates(), Lines{"accepted"});
  EXPECT_EQ(provider_->notices<UpdateNotice>().size(), 1U);
  EXPECT_EQ(update_verdicts(true), 1U);
}

// The provider has the new key, and the agent does not know: the old one signs nothing more.
TEST_F(UpdateTest, ANewKeyWhoseAnswerWasLost) {
  be_registered();
  be_ordered(learned(3));
  ASSERT_TRUE(order_new_key(folder()).ok());
  bool lost = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (!request.url.ends_with(paths::kClients) || lost) return std::nullopt;
    lost = true;
    (void)provider_->send(request);
    return Result<WebAnswer>(error("the connection broke"));
  };
  EXPECT_TRUE(says(trouble(round()), "the new key: "));
  EXPECT_EQ(updates(), Lines{"ordered"});
  rounds(2);
  EXPECT_EQ(updates(), Lines{"accepted"});
}

TEST_F(UpdateTest, ARefusedSignatureIsNoEndWhileAKeyIsReplaced) {
  be_registered();
  be_ordered(learned(3));
  ASSERT_TRUE(order_new_key(folder()).ok());
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost) return std::nullopt;
    const bool rotates = request.url.ends_with(paths::kClients);
    const std::string body = Problem{rotates ? ProblemKind::kTaken : ProblemKind::kSignature, "no"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = rotates ? 409 : 403, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_EQ(trouble(round()).size(), 2U);
  EXPECT_EQ(updates(), Lines{"sent"});
  provider_->intercept = {};
  rounds(2);
  EXPECT_EQ(updates(), Lines{"accepted"});
}

TEST_F(UpdateTest, WhatTheProviderLostIsSentAgain) {
  be_registered();
  be_ordered(learned(3));
  provider_->deciding = false;
  rounds(1);
  ASSERT_EQ(updates(), Lines{"received"});
  const Envelope statement = *read_envelope(UpdateFolder{folder().update()}.delivery().statement);
  std::filesystem::remove_all(at("test/provider/deliveries") / to_hex(statement.payload_digest()));
  EXPECT_TRUE(says(trouble(round()), "announced again"));
  // Refused now, it is still the provider's to explain: it has signed for it.
  publish("w1");
  EXPECT_TRUE(says(trouble(round()), "window-open"));
  EXPECT_EQ(updates(), Lines{"received"});
  EXPECT_EQ(state_of("w1"), "seen");
}

}  // namespace
}  // namespace zkapex::testing
