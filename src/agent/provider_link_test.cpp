#include "agent/provider_link.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"

namespace zkapex {
namespace {

// Answers everything alike.
class Parrot : public WebClient {
 public:
  Parrot(int status, std::string body, uint64_t retry_after = 0)
      : answer_{.status = status, .retry_after = retry_after, .body = Bytes(body.begin(), body.end())} {}
  Result<WebAnswer> send(const WebRequest& request) override {
    asked = request.url;
    return answer_;
  }
  std::string asked;

 private:
  WebAnswer answer_;
};

bool tells(const Result<Reply>& reply, std::string_view part) {
  return testing::refusal(reply).find(part) != std::string::npos;
}

TEST(ProviderLink, SuccessIsAReply) {
  for (const int status : {200, 201, 202, 304}) {
    Parrot web(status, "text");
    const auto reply = ProviderLink(web, "https://provider.example/x").get("/v1/windows", 100);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->status, status);
    EXPECT_EQ(reply->text(), "text");
    EXPECT_EQ(reply->unchanged(), status == 304);
    EXPECT_FALSE(reply->refusal.has_value());
    EXPECT_EQ(web.asked, "https://provider.example/x/v1/windows");
  }
}

TEST(ProviderLink, WhatWouldBeRefusedAgainIsARefusal) {
  Parrot web(409, Problem{ProblemKind::kDeadline, "late"}.encode());
  const auto reply = ProviderLink(web, "https://provider.example").post_json("/v1/submissions", "{}");
  ASSERT_TRUE(reply.ok());
  ASSERT_TRUE(reply->refusal.has_value());
  EXPECT_EQ(reply->refusal->kind, ProblemKind::kDeadline);
  EXPECT_EQ(as_error(*reply->refusal).message, "the provider refuses (deadline): \"late\"");
}

TEST(ProviderLink, WhatMayPassIsAnError) {
  Parrot busy(503, Problem{ProblemKind::kBusy, "full"}.encode(), 30);
  ListeningClient listening(busy);
  EXPECT_TRUE(tells(ProviderLink(listening, "https://provider.example").put_file("/v1/uploads/x", {}), "busy"));
  EXPECT_EQ(listening.take_retry_after(), 30U);
  EXPECT_EQ(listening.take_retry_after(), 0U);
  Parrot pending(409, Problem{ProblemKind::kPending, "wait"}.encode());
  EXPECT_TRUE(tells(ProviderLink(pending, "https://provider.example").get("/x", 100), "pending"));
}

TEST(ProviderLink, WhateverAProxySaysIsNoRefusal) {
  for (const auto& [status, body] :
       {std::pair(502, std::string("<html>")), std::pair(302, std::string()), std::pair(404, std::string("not here")),
        std::pair(500, Problem{ProblemKind::kDeadline, "late"}.encode())}) {
    Parrot web(status, body);
    EXPECT_TRUE(tells(ProviderLink(web, "https://provider.example").get("/x", 100), "answers with status")) << status;
  }
}

}  // namespace
}  // namespace zkapex
