// The public interface over real records, without a network, for tests.
#pragma once

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "exchange/paths.h"
#include "log/receipt.h"
#include "log/sequencer.h"
#include "parties/client_testing.h"
#include "service/admin.h"
#include "service/log_tables.h"
#include "service/worker.h"

namespace zkapex::testing {

inline constexpr UnixTime kApiStart = 1'800'000'000, kApiDay = 86'400;

class ApiTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    for (const std::string& client : {kAnna, kBert}) world_->enroll(client);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  explicit ApiTest(bool carried = false) {
    std::filesystem::remove_all(folder_);
    ProviderSettings settings;
    settings.carried = carried;
    settings.origin = "log.example/zkapex";
    settings.base = world_->base_file().string();
    const Status made = ProviderFolder::init(folder_, settings, world_->folder / "deployment.zka", kApiStart);
    EXPECT_TRUE(made.ok()) << refusal(made);
    provider_.emplace(*ProviderFolder::open(folder_));
    stores_.emplace(provider_->store_address());
    add_api(router_, context());
    const AdminContext admin{context(), AdminAccess(provider_->admin_token()), metrics_, ready_, [] { return 0; }};
    add_admin(admin_, admin);
    add_dashboard(admin_, admin);
    sequence();
  }
  ~ApiTest() override { std::filesystem::remove_all(folder_); }

  ApiContext context() {
    return {*provider_, *stores_, log_, [this] { return now_; }};
  }
  Store store() { return *provider_->open_store(); }

  // As the role log does.
  void sequence() {
    Store records = store();
    LogTables tables(records.database());
    SequencerSettings settings;
    settings.folder = provider_->log();
    settings.origin = provider_->notice().log.name;
    auto sequencer = Sequencer::open(tables, *provider_->read_log_key(), settings);
    ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
    const auto round = sequencer->run();
    ASSERT_TRUE(round.ok()) << refusal(round);
  }
  void work() {
    sequence();
    WorkerSettings settings;
    settings.store = provider_->store_address();
    settings.base = world_->base_file();
    settings.work = world_->settings;
    settings.carried = provider_->notice().carried;
    auto worker =
        Worker::open(store(), provider_->blobs(), provider_->statement_key(), settings, [this] { return now_; });
    ASSERT_TRUE(worker.ok()) << refusal(worker);
    for (int round = 0; round < 20; ++round) {
      const auto done = worker->run_once();
      ASSERT_TRUE(done.ok()) << refusal(done);
      if (*done == 0) break;
    }
    sequence();
  }

  HttpResponse ask(const Router& router, HttpRequest request, const std::string& target, const std::string& body) {
    const auto route = router.find(target, request);
    if (!route.ok()) return route.error();
    request.content_length = body.size();
    if ((*route)->receive == nullptr) {
      request.body = body;
      return (*route)->handle(request);
    }
    auto reception = (*route)->receive(request);
    if (!reception.ok()) return reception.error();
    if (!(*reception)->write(view(body))) return (*reception)->finish();
    return (*reception)->finish();
  }
  HttpResponse get(const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    return ask(router_, request, target, "");
  }
  HttpResponse post(std::string_view target, const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    return ask(router_, request, std::string(target), body);
  }
  HttpResponse put_at(const std::string& target, const Bytes& file) {
    HttpRequest request;
    request.method = "PUT";
    return ask(router_, request, target, std::string(file.begin(), file.end()));
  }
  HttpResponse put(const Digest& id, const Bytes& file) { return put_at(paths::upload(id), file); }
  // Of the admin listener, as a program with the token, or without.
  HttpResponse admin(const std::string& method, const std::string& target, const std::string& body = {},
                     std::map<std::string, std::string> headers = {}) {
    HttpRequest request;
    request.method = method;
    request.headers = std::move(headers);
    return ask(admin_, request, target, body);
  }
  std::map<std::string, std::string> token() { return {{"authorization", "Bearer " + provider_->admin_token()}}; }

  static std::string reason(const HttpResponse& response) {
    const auto problem = Problem::decode(response.body);
    return problem.ok() ? std::string(name(problem->kind)) : fmt::format("status {}", response.status);
  }

  std::string code(UnixTime lasts = kApiDay) {
    const std::string text = *random_code();
    EXPECT_TRUE(store().add_code(code_digest(text), "somebody", now_ + lasts, now_).ok());
    return text;
  }
  ClientNotice client_notice(const std::string& client, const SigningKey& key) {
    return {client, provider_->notice().deployment, key.public_key(), 0, ""};
  }
  std::string enrolment(const std::string& code, const ClientNotice& notice, const SigningKey& key) {
    return EnrolmentRequest{code, *sign_envelope(notice.encode(), key)}.encode();
  }
  void enrol(const std::string& client, const SigningKey& key) {
    const HttpResponse answer = post(paths::kClients, enrolment(code(), client_notice(client, key), key));
    ASSERT_EQ(answer.status, 201U) << answer.body;
  }
  static Bytes file_of(const std::string& client, const std::string& file) {
    return *read_file(world_->folder / client / file, kMaxPublicFile);
  }
  RegistrationNotice registration(const std::string& client) {
    const Bytes file = file_of(client, "registration.zka");
    RegistrationNotice notice;
    notice.file = reference_to(file);
    notice.client = client;
    notice.deployment = provider_->notice().deployment;
    notice.registration = RegistrationFile::decode(file)->digest();
    notice.seen = *provider_->published_tree();
    return notice;
  }
  template <class Notice>
  static std::string statement(const Notice& notice, const SigningKey& key) {
    return sign_envelope(notice.encode(), key)->encode();
  }
  void be_registered(const std::string& client, const SigningKey& key) {
    enrol(client, key);
    const RegistrationNotice notice = registration(client);
    const HttpResponse answer = post(paths::kRegistrations, statement(notice, key));
    ASSERT_EQ(answer.status, 201U) << answer.body;
    ASSERT_EQ(put(sha256(notice.encode()), file_of(client, "registration.zka")).status, 202U);
    work();
  }
  void publish(UnixTime opens, UnixTime deadline) {
    Store records = store();
    const auto window = publish_request(*provider_, records, {world_->mask.serialize(), opens, deadline}, now_);
    ASSERT_TRUE(window.ok()) << refusal(window);
    sequence();
  }
  SubmissionNotice submission(const std::string& client) {
    const Bytes file = file_of(client, "proof.zka");
    SubmissionNotice notice;
    notice.file = reference_to(file);
    notice.client = client;
    notice.window = world_->mask.window;
    notice.deployment = provider_->notice().deployment;
    notice.mask = world_->mask.digest();
    notice.registration = RegistrationFile::decode(file_of(client, "registration.zka"))->digest();
    notice.starts_from = (*store().client(client))->model->commitment;
    return notice;
  }

  static inline World* world_ = nullptr;
  static inline const std::string kAnna = std::string(32, 'a'), kBert = std::string(32, 'b');

  Path folder_ = Path(::testing::TempDir()) / fmt::format("zkapex-api-{}", ::getpid());
  UnixTime now_ = kApiStart;
  std::optional<ProviderFolder> provider_;
  std::optional<StorePool> stores_;
  RunLog log_{stderr, true, [this] { return now_; }};
  HttpMetrics metrics_;
  std::atomic<bool> ready_{true};
  Router router_, admin_;
  SigningKey anna_ = *SigningKey::generate(), bert_ = *SigningKey::generate(KeyAlgorithm::kP256);
};

}  // namespace zkapex::testing
