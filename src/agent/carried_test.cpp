// An agent whose provider keeps digests only: it sends its state along.
#include <map>

#include "agent/agent_testing.h"

namespace zkapex::testing {
namespace {

class CarriedTest : public AgentTest {
 protected:
  static void SetUpTestSuite() {
    AgentTest::SetUpTestSuite();
    FakeProvider provider(*world_, at("carried/provider"), true);
    const auto done = set_up(AgentFolder{at("carried/agent")}, setup(), provider, world_->settings);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void SetUp() override {
    reset_from("carried");
    be_registered();
  }
  static bool is_state(const WebRequest& request) { return request.url.find("/state/") != std::string::npos; }
};

TEST_F(CarriedTest, ItsStateGoesAlongWithEachWindow) {
  size_t files = 0;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    files += static_cast<size_t>(is_state(request));
    return std::nullopt;
  };
  publish("w1");
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
  publish("w2", {0, 3, 7, 8, 24});
  rounds(2);
  EXPECT_EQ(history(), (Lines{"w1", "w2"}));
  EXPECT_EQ(files, 4U);
}

TEST_F(CarriedTest, EveryRequestMayFailOnceAndArriveTwice) {
  std::map<std::string, int> sent;
  bool inside = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (inside) return std::nullopt;
    if (sent[std::to_string(static_cast<int>(request.method)) + request.url]++ > 0) return std::nullopt;
    inside = true;
    for (int k = 0; k < 2; ++k) (void)provider_->send(request);
    inside = false;
    return Result<WebAnswer>(error("the connection broke"));
  };
  publish("w1");
  for (int k = 0; k < 20; ++k) (void)round();
  EXPECT_EQ(state_of("w1"), "accepted");
  EXPECT_EQ(provider_->notices<SubmissionNotice>().size(), 1U);
  EXPECT_EQ(verdicts("w1", true), 1U);
}

// What it is asked for may be on nobody's disk but a stranger's.
TEST_F(CarriedTest, OnlyItsOwnStateIsSent) {
  publish("w1");
  bool sent = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    sent = sent || is_state(request);
    if (request.method == WebMethod::kPut) {
      const std::string body = Problem{ProblemKind::kState, "first"}.encode();
      return Result<WebAnswer>(WebAnswer{.status = 409, .body = Bytes(body.begin(), body.end())});
    }
    if (request.method != WebMethod::kPost) return std::nullopt;
    const Envelope envelope =
        *Envelope::decode({reinterpret_cast<const char*>(request.body.data()), request.body.size()});
    const std::string body =
        UploadTicket{envelope.payload_digest(), paths::upload(envelope.payload_digest()), {{{}, 5}}}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 201, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "none of this client's state"));
  EXPECT_FALSE(sent);
  provider_->intercept = {};
  for (int k = 0; k < 4; ++k) (void)round();
  EXPECT_EQ(state_of("w1"), "accepted");
}

// It asks for more than there is, and does not insist: what was made is handed in all the same.
TEST_F(CarriedTest, AFileThatItDoesNotHaveHoldsNothingUp) {
  publish("w1");
  bool inside = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost || inside) return std::nullopt;
    inside = true;
    const WebAnswer answer = *provider_->send(request);
    inside = false;
    UploadTicket ticket =
        *UploadTicket::decode({reinterpret_cast<const char*>(answer.body.data()), answer.body.size()});
    ticket.state.insert(ticket.state.begin(), FileReference{{}, 5});
    const std::string body = ticket.encode();
    return Result<WebAnswer>(WebAnswer{.status = answer.status, .body = Bytes(body.begin(), body.end())});
  };
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

// The provider has lost, or let go of, what came: it gets it again.
TEST_F(CarriedTest, ARefusalForWantOfStateIsNotTheEnd) {
  publish("w1");
  bool refused = false;
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPut || is_state(request) || refused) return std::nullopt;
    refused = true;
    const std::string body = Problem{ProblemKind::kState, "first"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 409, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "refuses (state)"));
  EXPECT_EQ(state_of("w1"), "submitted");
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

}  // namespace
}  // namespace zkapex::testing
