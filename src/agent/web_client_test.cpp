#include "agent/web_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/result_testing.h"

namespace zkapex {
namespace {

// Answers one request on the loopback interface with bytes that are given, and keeps what it was asked.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer, size_t expected_body = 0) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this, expected_body] { serve(expected_body); });
  }
  ~OneAnswer() {
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  const std::string& asked() {
    if (thread_.joinable()) thread_.join();
    return asked_;
  }

 private:
  void serve(size_t expected_body) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    std::array<char, 4096> buffer{};
    while (asked_.find("\r\n\r\n") == std::string::npos ||
           asked_.size() < asked_.find("\r\n\r\n") + 4 + expected_body) {
      const ssize_t got = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      asked_.append(buffer.data(), static_cast<size_t>(got));
    }
    (void)::send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    ::close(connection);
  }

  std::string answer_, url_, asked_;
  int listener_ = -1;
  std::thread thread_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const WebLimits kHurried{.connect_seconds = 5, .total_seconds = 5, .slow_seconds = 5};

TEST(HttpAnswers, AnAnswerWithWhatItSays) {
  OneAnswer server("HTTP/1.1 200 OK\r\nETag: \"abc\"\r\nRetry-After: 17\r\nContent-Length: 5\r\n\r\nhello");
  const auto answer =
      make_web_client(kHurried)->send({.url = server.url() + "/v1/windows", .etag = "\"old\"", .max_answer = 5});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->etag, "\"abc\"");
  EXPECT_EQ(answer->retry_after, 17U);
  EXPECT_EQ(std::string(answer->body.begin(), answer->body.end()), "hello");
  EXPECT_TRUE(server.asked().starts_with("GET /v1/windows HTTP/1.1\r\n")) << server.asked();
  EXPECT_TRUE(has(server.asked(), "\r\nIf-None-Match: \"old\"\r\n"));
}

TEST(HttpAnswers, BodiesGoAlongWithTheirLength) {
  for (const auto& [method, word] : {std::pair(WebMethod::kPost, "POST"), std::pair(WebMethod::kPut, "PUT")}) {
    OneAnswer server("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 3);
    const auto answer = make_web_client(kHurried)->send(
        {.method = method, .url = server.url() + "/x", .type = "application/json", .body = {'a', 0, 'b'}});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->status, 202);
    EXPECT_TRUE(server.asked().starts_with(std::string(word) + " /x HTTP/1.1\r\n")) << server.asked();
    EXPECT_TRUE(has(server.asked(), "\r\nContent-Length: 3\r\n"));
    EXPECT_TRUE(has(server.asked(), "\r\nContent-Type: application/json\r\n"));
    EXPECT_TRUE(server.asked().ends_with(std::string("\r\n\r\na\0b", 7)));
    EXPECT_FALSE(has(server.asked(), "Expect:"));
  }
}

TEST(HttpAnswers, OneThatIsTooLongIsNotKept) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!");
  EXPECT_TRUE(has(testing::refusal(make_web_client(kHurried)->send({.url = server.url(), .max_answer = 5})),
                  "more than 5 bytes"));
}

TEST(HttpAnswers, HalfAnAnswerIsNone) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nhello!");
  EXPECT_TRUE(
      has(testing::refusal(make_web_client(kHurried)->send({.url = server.url(), .max_answer = 100})), "cannot reach"));
}

TEST(HttpAnswers, RedirectionsAreNotFollowed) {
  OneAnswer server("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  const auto answer = make_web_client(kHurried)->send({.url = server.url(), .max_answer = 5});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 302);
}

TEST(HttpAnswers, NobodyThereAndOtherProtocolsAreErrors) {
  const auto client = make_web_client(kHurried);
  EXPECT_TRUE(has(testing::refusal(client->send({.url = "http://127.0.0.1:1/", .max_answer = 5})), "cannot reach"));
  EXPECT_TRUE(has(testing::refusal(client->send({.url = "file:///etc/hostname", .max_answer = 500})), "cannot reach"));
}

TEST(HttpAnswers, ASlowAnswerIsGivenUp) {
  OneAnswer server("HTTP/1.1 200 OK\r\n", 1 << 20);  // it waits for a body that never comes
  const auto answer = make_web_client({.total_seconds = 1})->send({.url = server.url(), .max_answer = 5});
  EXPECT_TRUE(has(testing::refusal(answer), "cannot reach"));
}

TEST(ProviderAddress, OfTheWebAndNothingElse) {
  EXPECT_EQ(*provider_address("https://provider.example/unlearning/"), "https://provider.example/unlearning");
  EXPECT_EQ(*provider_address("http://127.0.0.1:8471"), "http://127.0.0.1:8471");
  EXPECT_EQ(*provider_address("http://localhost:8471/"), "http://localhost:8471");
  EXPECT_TRUE(has(testing::refusal(provider_address("http://provider.example")), "this machine only"));
  EXPECT_TRUE(has(testing::refusal(provider_address("ftp://provider.example")), "https://"));
  EXPECT_TRUE(has(testing::refusal(provider_address("provider example")), "no address"));
  EXPECT_TRUE(has(testing::refusal(provider_address("")), "no address"));
  for (const char* extra :
       {"https://a:b@provider.example", "https://provider.example?x=1", "https://provider.example#x"})
    EXPECT_TRUE(has(testing::refusal(provider_address(extra)), "only a host and a path")) << extra;
}

}  // namespace
}  // namespace zkapex
