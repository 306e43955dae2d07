#include "exchange/answers.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "exchange/exchange_testing.h"
#include "exchange/paths.h"
#include "exchange/problem.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::made_up_digest;
using testing::refusal;

LoggedEnvelope logged_window(std::optional<uint64_t> index) {
  return {*sign_envelope(testing::sample_window().encode(), fixed_key(2)), index};
}

TEST(Answers, ComeBack) {
  const DeploymentAnswer deployment{logged_window(3)};
  EXPECT_EQ(DeploymentAnswer::decode(deployment.encode())->deployment, deployment.deployment);
  const WindowsAnswer windows{{logged_window(1), logged_window(std::nullopt)}};
  EXPECT_EQ(WindowsAnswer::decode(windows.encode())->windows, windows.windows);
  EXPECT_TRUE(WindowsAnswer::decode(WindowsAnswer{}.encode())->windows.empty());
  const EnrolmentRequest request{"a code", logged_window(0).envelope};
  EXPECT_EQ(EnrolmentRequest::decode(request.encode())->code, "a code");
  EXPECT_EQ(EnrolmentRequest::decode(request.encode())->client, request.client);
  const EnrolmentAnswer enrolled{request.client};
  EXPECT_EQ(EnrolmentAnswer::decode(enrolled.encode())->client, request.client);
  const UploadTicket ticket{made_up_digest("x"), "/v1/uploads/x"};
  EXPECT_EQ(UploadTicket::decode(ticket.encode())->upload, ticket.upload);
  EXPECT_EQ(UploadTicket::decode(ticket.encode())->id, ticket.id);
  EXPECT_TRUE(UploadTicket::decode(ticket.encode())->state.empty());
  const UploadTicket more{made_up_digest("x"), "/v1/uploads/x", {{made_up_digest("a"), 3}, {made_up_digest("b"), 4}}};
  EXPECT_EQ(UploadTicket::decode(more.encode())->state, more.state);
  for (const SubmissionState state : {SubmissionState::kAnnounced, SubmissionState::kReceived}) {
    const SubmissionAnswer answer{made_up_digest("x"), state, std::nullopt};
    EXPECT_EQ(SubmissionAnswer::decode(answer.encode())->state, state);
  }
  const SubmissionAnswer accepted{made_up_digest("x"), SubmissionState::kAccepted, logged_window(9)};
  EXPECT_EQ(SubmissionAnswer::decode(accepted.encode())->verdict, accepted.verdict);
}

TEST(Answers, RefuseOtherForms) {
  const SubmissionAnswer accepted{made_up_digest("x"), SubmissionState::kAccepted, std::nullopt};
  EXPECT_NE(refusal(SubmissionAnswer::decode(accepted.encode())).find("do not fit"), std::string::npos);
  const SubmissionAnswer early{made_up_digest("x"), SubmissionState::kReceived, logged_window(9)};
  EXPECT_NE(refusal(SubmissionAnswer::decode(early.encode())).find("do not fit"), std::string::npos);
  nlohmann::json json = nlohmann::json::parse(early.encode());
  json["state"] = "lost";
  EXPECT_NE(refusal(SubmissionAnswer::decode(json.dump())).find("unknown state"), std::string::npos);
  EXPECT_NE(refusal(WindowsAnswer::decode(R"({"windows": {}})")).find("no list"), std::string::npos);
  EXPECT_FALSE(WindowsAnswer::decode(R"({"windows": [{}]})").ok());
  EXPECT_FALSE(DeploymentAnswer::decode("[]").ok());
  nlohmann::json ticket = nlohmann::json::parse(UploadTicket{made_up_digest("x"), "/v1/uploads/x"}.encode());
  ticket["state"] = nlohmann::json::object();
  EXPECT_NE(refusal(UploadTicket::decode(ticket.dump())).find("no list"), std::string::npos);
  ticket["state"] = {{{"sha256", "x"}, {"bytes", 1}}};
  EXPECT_FALSE(UploadTicket::decode(ticket.dump()).ok());
  const UploadTicket twice{made_up_digest("x"), "/v1/uploads/x", {{made_up_digest("a"), 3}, {made_up_digest("a"), 3}}};
  EXPECT_NE(refusal(UploadTicket::decode(twice.encode())).find("asks twice"), std::string::npos);
  EXPECT_NE(refusal(WindowsAnswer::decode(std::string(kMaxAnswerBytes + 1, ' '))).find("at most"), std::string::npos);
  EnrolmentRequest request{std::string(129, 'c'), logged_window(0).envelope};
  EXPECT_NE(refusal(EnrolmentRequest::decode(request.encode())).find("more than 128"), std::string::npos);
  request.code = "c";
  nlohmann::json more = nlohmann::json::parse(request.encode());
  more["x"] = 1;
  EXPECT_NE(refusal(EnrolmentRequest::decode(more.dump())).find("unknown here"), std::string::npos);
  EXPECT_NE(refusal(EnrolmentRequest::decode(std::string(131'071, ' '))).find("more than 131070"), std::string::npos);
}

TEST(Problems, ComeBackWithTheirStatus) {
  for (int k = 0; k <= static_cast<int>(ProblemKind::kBusy); ++k) {
    const Problem problem{static_cast<ProblemKind>(k), "what \"happened\""};
    const auto again = Problem::decode(problem.encode());
    ASSERT_TRUE(again.ok()) << refusal(again);
    EXPECT_EQ(again->kind, problem.kind);
    EXPECT_EQ(again->detail, problem.detail);
    const nlohmann::json json = nlohmann::json::parse(problem.encode());
    EXPECT_EQ(json["status"], status(problem.kind));
    EXPECT_EQ(json["type"], fmt::format("urn:zkapex:problem:{}", name(problem.kind)));
    EXPECT_GE(status(problem.kind), 400);
  }
  EXPECT_NE(refusal(Problem::decode(R"({"type": "about:blank", "detail": ""})")).find("unknown type"),
            std::string::npos);
  EXPECT_NE(refusal(Problem::decode(std::string(16'385, ' '))).find("at most"), std::string::npos);
  EXPECT_TRUE(worth_retrying(ProblemKind::kBusy));
  EXPECT_FALSE(worth_retrying(ProblemKind::kDeadline));
  EXPECT_TRUE(Problem::decode(Problem{ProblemKind::kMalformed, "\xff"}.encode()).ok()) << "bytes that are no text";
}

TEST(Paths, AreMadeOfDigests) {
  const std::string hex = to_hex(made_up_digest("x"));
  EXPECT_EQ(paths::window_file(made_up_digest("x")), "/v1/windows/" + hex + "/psi.zka");
  EXPECT_EQ(paths::upload(made_up_digest("x")), "/v1/uploads/" + hex);
  EXPECT_EQ(paths::upload_state(made_up_digest("x"), made_up_digest("y")),
            "/v1/uploads/" + hex + "/state/" + to_hex(made_up_digest("y")));
  EXPECT_EQ(paths::submission_receipt(made_up_digest("x")), "/v1/submissions/" + hex + "/receipt");
}

}  // namespace
}  // namespace zkapex
