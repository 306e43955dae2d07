#include "service/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/hash.h"
#include "base/result_testing.h"
#include "service/http_static.h"
#include "service/http_testing.h"

namespace zkapex {

namespace {

using namespace std::chrono_literals;
using testing::refusal;

// Takes up to 100,000 bytes and answers with their digest.
class Digesting : public Reception {
 public:
  explicit Digesting(std::atomic<int>& open) : open_(open) { ++open_; }
  Digesting(const Digesting&) = delete;
  Digesting& operator=(const Digesting&) = delete;
  ~Digesting() override { --open_; }
  bool write(ByteView piece) override {
    hash_.update(piece);
    bytes_ += piece.size();
    return bytes_ <= 100'000;
  }
  HttpResponse finish() override {
    if (bytes_ > 100'000) return problem(ProblemKind::kBusy, "the disk is full");
    HttpResponse response;
    response.status = 202;
    response.type = "text/plain";
    response.body = to_hex(hash_.finish());
    return response;
  }

 private:
  std::atomic<int>& open_;
  Sha256 hash_;
  size_t bytes_ = 0;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    router_.get("/hello", [](const HttpRequest& request) {
      HttpResponse response;
      response.type = "text/plain";
      const auto name = request.query.find("name");
      response.body = "hello " + (name == request.query.end() ? std::string("world") : name->second);
      return response;
    });
    router_.post("/echo", 1000, [](const HttpRequest& request) {
      HttpResponse response;
      response.type = "text/plain";
      response.body = request.body;
      return response;
    });
    router_.get("/broken", [](const HttpRequest&) -> HttpResponse { throw std::bad_alloc(); });
    router_.get("/wait", [this](const HttpRequest&) {
      waiting_.count_down();
      go_on_.wait();
      HttpResponse response;
      response.body = "done";
      return response;
    });
    router_.get("/long", [](const HttpRequest&) {
      HttpResponse response;
      response.body = std::string(64 << 20, 'x');
      return response;
    });
    router_.put("/uploads/{}", [this](const HttpRequest& request) -> Result<std::unique_ptr<Reception>, HttpResponse> {
      if (*request.content_length > 200'000) return problem(ProblemKind::kTooLarge, "too long");
      return std::unique_ptr<Reception>(std::make_unique<Digesting>(receptions_));
    });
    limits_.linger = 300ms;
    limits_.bytes_per_second = 1'000'000;
  }

  HttpServer start() {
    HttpSettings settings;
    settings.limits = limits_;
    settings.headers = {{"X-Content-Type-Options", "nosniff"}};
    settings.observer = [this](const HttpServed& served) {
      const std::lock_guard lock(mutex_);
      served_.push_back(served);
    };
    auto server = HttpServer::start(router_, settings);
    EXPECT_TRUE(server.ok());
    return std::move(*server);
  }
  std::string ask(const std::string& request) {
    const HttpServer server = start();
    RawClient client(server.port());
    client.send(request);
    return client.read_answer();
  }
  std::string refused(const std::string& request, std::string_view status, std::string_view reason) {
    const HttpServer server = start();
    RawClient client(server.port());
    client.send(request);
    const std::string answer = client.read_all();
    EXPECT_EQ(status_line(answer).substr(9, 3), status) << answer;
    EXPECT_NE(answer.find("application/problem+json"), answer.npos) << answer;
    EXPECT_NE(answer.find(fmt::format("urn:zkapex:problem:{}", reason)), answer.npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), answer.npos) << answer;
    return answer;
  }

  Router router_;
  HttpLimits limits_;
  std::atomic<int> receptions_{0};
  std::latch waiting_{1}, go_on_{1};
  std::mutex mutex_;
  std::vector<HttpServed> served_;
};

std::string put(size_t announced, const std::string& body) {
  return fmt::format("PUT /uploads/1 HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", announced, body);
}

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  const HttpServer server = start();
  RawClient client(server.port());
  client.send("GET /hello?name=J%C3%BCrgen+K HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string first = client.read_answer();
  EXPECT_EQ(status_line(first), "HTTP/1.1 200 OK");
  EXPECT_EQ(body_of(first), "hello Jürgen K");
  EXPECT_NE(first.find("X-Content-Type-Options: nosniff"), first.npos);
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
  EXPECT_EQ(body_of(client.read_answer()), "abcde");
  client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(body_of(client.read_all()), "hello world");
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  const HttpServer server = start();
  RawClient client(server.port());
  std::string all;
  for (int k = 0; k < 20; ++k)
    all += fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{:02}", k);
  client.send(all);
  for (int k = 0; k < 20; ++k) EXPECT_EQ(body_of(client.read_answer()), fmt::format("{:02}", k));
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  const std::string answer = ask("HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
  EXPECT_NE(answer.find("Content-Length: 11"), answer.npos);
  EXPECT_EQ(body_of(answer), "");
}

TEST_F(HttpServerTest, UploadsAreTakenPieceByPiece) {
  const std::string body(100'000, 'b');
  EXPECT_EQ(body_of(ask(put(body.size(), body))), to_hex(sha256(view(body))));
  EXPECT_EQ(body_of(ask(put(0, ""))), to_hex(sha256({})));
  const HttpServer server = start();
  RawClient client(server.port());  // curl asks before it sends a megabyte
  client.send("PUT /uploads/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(body_of(client.read_answer()), to_hex(sha256(view("abc"))));
}

TEST_F(HttpServerTest, ARefusalComesBeforeTheBody) {
  // Nothing of the body is sent: the answer comes by the head alone.
  refused(put(200'001, ""), "413", "too-large");
  refused("PUT /uploads/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 200001\r\nExpect: 100-continue\r\n\r\n", "413",
          "too-large");
  refused("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", "413", "too-large");
  refused("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n", "413", "too-large");
  refused("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", "413", "too-large");
}

TEST_F(HttpServerTest, ARefusalIsReadThoughTheBodyIsStillComing) {
  refused(put(200'001, std::string(200'001, 'x')), "413", "too-large");
  refused(put(150'000, std::string(150'000, 'x')), "503", "busy");
}

TEST_F(HttpServerTest, ChunkedAndCompressedBodiesAreRefused) {
  const std::string chunked = "PUT /uploads/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";
  refused(chunked + "\r\n3\r\nabc\r\n0\r\n\r\n", "415", "encoding");
  refused("PUT /uploads/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "415", "encoding");
  refused("GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "415", "encoding");
  refused("PUT /uploads/1 HTTP/1.1\r\nHost: a\r\n\r\n", "411", "length-missing");
  refused("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc", "415",
          "encoding");
}

TEST_F(HttpServerTest, TwoLengthsAreRefused) {
  // What one server takes for a body, another takes for the next request.
  for (const char* lengths :
       {"Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "Content-Length: -1\r\n", "Content-Length: 0x3\r\n",
        "Content-Length: 3 4\r\n"}) {
    const HttpServer server = start();
    RawClient client(server.port());
    client.send(fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\n{}\r\nabc", lengths));
    const std::string status = status_line(client.read_all()).substr(9, 3);
    EXPECT_TRUE(status == "400" || status == "415") << lengths << status;
  }
}

TEST_F(HttpServerTest, HeadsHaveALimitAndAForm) {
  refused("GET /hello HTTP/1.1\r\nHost: a\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "413", "too-large");
  refused("GET /hello HTTP/1.1\r\nHost: a\r\nX y\r\n\r\n", "400", "malformed");
  refused("\x16\x03\x01\x02\r\n\r\n", "400", "malformed");
  refused("GET /hello HTTP/3.1\r\n\r\n", "400", "malformed");
  refused("GET /hello HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\n\r\n", "400", "malformed");
}

TEST_F(HttpServerTest, OddTargetsAreRefused) {
  for (const char* target : {"/hello/../hello", "/%2e%2e/hello", "//hello", "/hello/", "/a%2fb", "/a%00", "/a%5cb",
                             "/a%", "/a%zz", "/a%ff", "hello", "http://b/hello", "/hello?a=%0a", "/."})
    refused(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", target), "400", "malformed");
  refused("GET /" + std::string(3'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", "400", "malformed");
  refused("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "404", "not-found");
  const std::string answer = refused("DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n", "405", "method");
  EXPECT_NE(answer.find("Allow: GET"), answer.npos);
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsOurFailure) {
  const std::string answer = ask("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 500 Internal Server Error");
  EXPECT_NE(answer.find("nothing was decided"), answer.npos);
}

TEST_F(HttpServerTest, AHeadThatTricklesIsCut) {
  limits_.header = 300ms;
  const HttpServer server = start();
  RawClient client(server.port());
  const auto begun = std::chrono::steady_clock::now();
  // A byte every 50 ms: each read is answered, the whole is late.
  const std::string head = "GET /hello HTTP/1.1\r\nHost: a\r\nX: ";
  for (size_t k = 0; k < 100 && client.send(head.substr(k % head.size(), 1)) && !client.is_closed(50ms); ++k) {
  }
  EXPECT_TRUE(client.is_closed());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
  EXPECT_GT(std::chrono::steady_clock::now() - begun, 250ms);
}

TEST_F(HttpServerTest, ABodyThatTricklesIsCut) {
  limits_.grace = 300ms;
  limits_.bytes_per_second = 100'000;
  const HttpServer server = start();
  RawClient client(server.port());
  const auto begun = std::chrono::steady_clock::now();
  client.send(put(100'000, ""));
  while (std::chrono::steady_clock::now() - begun < 10s && client.send("xxxxxxxxxx") && !client.is_closed(20ms)) {
  }
  EXPECT_TRUE(client.is_closed());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
  for (int k = 0; k < 500 && receptions_ > 0; ++k) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(receptions_, 0);
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  limits_.idle = 600ms;
  const HttpServer server = start();
  RawClient fresh(server.port()), used(server.port());
  used.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(used.read_answer()), "hello world");
  EXPECT_TRUE(fresh.is_closed());
  EXPECT_TRUE(used.is_closed());
}

TEST_F(HttpServerTest, WhoDoesNotReadIsCut) {
  limits_.grace = 300ms;
  limits_.bytes_per_second = 100'000'000;
  const HttpServer server = start();
  RawClient client(server.port());
  client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
  for (int k = 0; k < 500 && server.connections() > 0; ++k) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(server.connections(), 0U);
}

TEST_F(HttpServerTest, ATruncatedUploadLeavesNothing) {
  const HttpServer server = start();
  {
    RawClient client(server.port());
    client.send(put(1000, "abc"));
    client.finish_sending();
    EXPECT_TRUE(client.is_closed());
  }
  for (int k = 0; k < 500 && server.connections() > 0; ++k) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(receptions_, 0);
  EXPECT_TRUE(served_.empty());
}

TEST_F(HttpServerTest, MoreConnectionsThanThereIsRoomForAreTurnedAway) {
  limits_.connections = 3;
  const HttpServer server = start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int k = 0; k < 3; ++k) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(body_of(clients.back()->read_answer()), "hello world");
  }
  RawClient fourth(server.port());
  EXPECT_EQ(status_line(fourth.read_all()), "HTTP/1.1 503 Service Unavailable");
}

TEST_F(HttpServerTest, DrainingEndsWhatHasBegunAndTakesNothingNew) {
  limits_.idle = 60s;
  HttpServer server = start();
  RawClient idle(server.port()), busy(server.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  waiting_.wait();
  std::thread drainer([&] { EXPECT_TRUE(server.drain(20s)); });
  EXPECT_TRUE(idle.is_closed());
  for (int k = 0; k < 500 && RawClient(server.port()).connected(); ++k) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(RawClient(server.port()).connected());
  go_on_.count_down();
  const std::string answer = busy.read_all();
  EXPECT_EQ(body_of(answer), "done");
  EXPECT_NE(answer.find("Connection: close"), answer.npos);
  drainer.join();
}

TEST_F(HttpServerTest, DrainingHasAnEnd) {
  limits_.grace = 60s;
  HttpServer server = start();
  RawClient client(server.port());
  client.send(put(1000, "abc"));
  for (int k = 0; k < 500 && receptions_ == 0; ++k) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(server.drain(100ms));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, WhatWasServedIsTold) {
  {
    const HttpServer server = start();
    RawClient client(server.port());
    client.send(put(3, "abc"));
    client.read_answer();
    client.send("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_all();
  }
  ASSERT_EQ(served_.size(), 2U);
  EXPECT_EQ(served_[0].route, "/uploads/{}");
  EXPECT_EQ(served_[0].status, 202U);
  EXPECT_EQ(served_[0].received, 3U);
  EXPECT_EQ(served_[0].sent, 64U);
  EXPECT_EQ(served_[1].route, "");
  EXPECT_EQ(served_[1].status, 404U);
}

TEST_F(HttpServerTest, APlaceThatIsTakenIsAnError) {
  const HttpServer server = start();
  HttpSettings settings;
  settings.listener.port = server.port();
  EXPECT_NE(refusal(HttpServer::start(router_, settings)).find("Address already in use"), std::string::npos);
  settings.listener.address = "localhost";
  EXPECT_NE(refusal(HttpServer::start(router_, settings)).find("no address of numbers"), std::string::npos);
}

TEST(HttpStatic, PathsStayBelowTheFolder) {
  for (const char* path : {"checkpoint", "tile/0/x001/067.p/12", "a-b_c.d"}) EXPECT_TRUE(is_plain_path(path)) << path;
  for (const char* path : {"", "/etc/passwd", "../a", "a/../b", "a/.b", ".a", "a//b", "a/", "a b", "a%2e", "a\\b", "ä"})
    EXPECT_FALSE(is_plain_path(path)) << path;
}

TEST(HttpStatic, OnlyFilesAreServedAndNoLinks) {
  const Path folder = ::testing::TempDir() + "/http-static";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "log/tile");
  ASSERT_TRUE(write_file(folder / "secret", view("s")).ok());
  ASSERT_TRUE(write_file(folder / "log/tile/a", view("abc")).ok());
  std::filesystem::create_symlink(folder / "secret", folder / "log/link");
  std::filesystem::create_directory_symlink(folder, folder / "log/up");
  const auto status = [&](std::string_view path) { return serve_file(folder / "log", path, "text/plain", "").status; };
  EXPECT_EQ(status("tile/a"), 200U);
  for (const char* path : {"tile", "link", "up/secret", "../secret", "tile/../tile/a", "nothing", "tile/a/b"})
    EXPECT_EQ(status(path), 404U) << path;
}

}  // namespace

}  // namespace zkapex
