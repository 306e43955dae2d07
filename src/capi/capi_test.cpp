// Arguments that make no sense, one by one; the story of a client and a provider is told by flow_test.c.
#include <gtest/gtest.h>
#include <zkapex.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "parties/client_testing.h"
#include "parties/ledger.h"

namespace zkapex {
namespace {

using testing::World;

class CApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override {
    ASSERT_EQ(zkapex_session_new(nullptr, &session_), ZKAPEX_OK);
    ASSERT_EQ(zkapex_deployment_open(session_, at("deployment.zka").c_str(), &deployment_), ZKAPEX_OK);
  }
  void TearDown() override {
    zkapex_free(deployment_);
    zkapex_free(session_);
  }

  static std::string at(const std::string& name) { return (world_->folder / name).string(); }
  // The sentence of a call that was refused.
  std::string refusal(zkapex_status status) const {
    return status == ZKAPEX_ERROR ? zkapex_error_text(session_) : fmt::format("(status {})", static_cast<int>(status));
  }
  zkapex_curvature* new_store(const std::string& name) {
    const std::string output = at(name);
    zkapex_curvature_options options{};
    options.size = sizeof options;
    options.deployment = deployment_;
    options.output = output.c_str();
    zkapex_curvature* out = nullptr;
    EXPECT_EQ(zkapex_curvature_open(session_, &options, &out), ZKAPEX_OK) << zkapex_error_text(session_);
    return out;
  }

  static inline World* world_ = nullptr;
  zkapex_session* session_ = nullptr;
  zkapex_deployment* deployment_ = nullptr;
};

TEST_F(CApi, AHandleIsOfItsKind) {
  EXPECT_EQ(refusal(zkapex_describe(session_, session_)), "a curvature writer is needed, and the handle is a session");
  EXPECT_EQ(refusal(zkapex_describe(session_, nullptr)), "a curvature writer is needed, and the handle is NULL");
  zkapex_request* request = nullptr;
  const auto* wrong = reinterpret_cast<const zkapex_deployment*>(session_);
  EXPECT_EQ(refusal(zkapex_request_open(session_, at("psi.zka").c_str(), wrong, &request)),
            "a deployment is needed, and the handle is a session");
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(zkapex_describe(reinterpret_cast<zkapex_session*>(deployment_), deployment_), ZKAPEX_ERROR);
  EXPECT_STREQ(zkapex_error_text(nullptr), "a session is needed, and the handle is a deployment");
}

TEST_F(CApi, OptionsAreOfTheirSize) {
  zkapex_register_options options{};
  options.size = sizeof options - 1;
  EXPECT_NE(refusal(zkapex_register(session_, &options)).find("the options have a size of"), std::string::npos);
  options.size = sizeof options + 8;
  EXPECT_NE(refusal(zkapex_register(session_, &options)).find("the options have a size of"), std::string::npos);
  EXPECT_EQ(refusal(zkapex_register(session_, nullptr)), "the options are NULL");
}

TEST_F(CApi, WhatIsRequiredIsNamed) {
  zkapex_unlearn_options options{};
  options.size = sizeof options;
  EXPECT_EQ(refusal(zkapex_unlearn(session_, &options)), "the client's folder is missing");
  options.client = "";
  EXPECT_EQ(refusal(zkapex_unlearn(session_, &options)), "the client's folder is missing");
}

TEST_F(CApi, ABufferWithoutBytesHasNoLength) {
  const std::string ledger = at("capi-ledger"), base = world_->base_file().string();
  const zkapex_provider provider{sizeof(zkapex_provider), ledger.c_str(), deployment_, base.c_str()};
  EXPECT_EQ(refusal(zkapex_admit(session_, &provider, {nullptr, 3})), "the file is NULL, with a length of 3 bytes");
  EXPECT_EQ(zkapex_admit(session_, &provider, {nullptr, 0}), ZKAPEX_REJECTED);
}

TEST_F(CApi, AFileThatIsTooLongIsNotRead) {
  const std::string ledger = at("capi-ledger"), base = world_->base_file().string();
  const zkapex_provider provider{sizeof(zkapex_provider), ledger.c_str(), deployment_, base.c_str()};
  const char byte = 0;
  EXPECT_EQ(zkapex_admit(session_, &provider, {&byte, size_t{1} << 60}), ZKAPEX_REJECTED);
  EXPECT_NE(std::string(zkapex_report(session_)).find(R"("reason":"length")"), std::string::npos);
}

TEST_F(CApi, ALedgerIsOfTheDeployment) {
  Deployment other = testing::small_deployment();
  ASSERT_TRUE(write_file(at("other.zka"), other.serialize(), {.overwrite = true}).ok());
  Mask mask = world_->mask;
  mask.deployment = other.digest();
  ASSERT_TRUE(write_file(at("other-psi.zka"), mask.serialize(), {.overwrite = true}).ok());
  zkapex_deployment* deployment = nullptr;
  zkapex_request* request = nullptr;
  ASSERT_EQ(zkapex_deployment_open(session_, at("other.zka").c_str(), &deployment), ZKAPEX_OK);
  ASSERT_EQ(zkapex_request_open(session_, at("other-psi.zka").c_str(), deployment, &request), ZKAPEX_OK);
  const std::string ledger = at("own-ledger");
  zkapex_provider provider{sizeof(zkapex_provider), ledger.c_str(), deployment_, nullptr};
  ASSERT_TRUE(Ledger::open_or_create(ledger, world_->deployment).ok());
  EXPECT_NE(refusal(zkapex_verify(session_, &provider, request, {"x", 1})).find("the mask was made for deployment"),
            std::string::npos);
  EXPECT_NE(refusal(zkapex_publish(session_, &provider, request)).find("the mask was made for deployment"),
            std::string::npos);
  provider.deployment = deployment;
  EXPECT_EQ(refusal(zkapex_verify(session_, &provider, request, {"x", 1})),
            ledger + " is the ledger of another deployment");
  EXPECT_EQ(refusal(zkapex_publish(session_, &provider, request)), ledger + " is the ledger of another deployment");
  zkapex_free(request);
  zkapex_free(deployment);
}

TEST_F(CApi, NumbersFillTheirBuffer) {
  zkapex_curvature* store = new_store("capi-store.zka");
  const std::vector<double> block(16, 1.0);
  const auto take = [&](zkapex_type type, size_t bytes, uint64_t count) {
    return refusal(zkapex_curvature_blocks(session_, store, type, {block.data(), bytes}, count));
  };
  EXPECT_NE(take(ZKAPEX_F64, 127, 1).find("the data has 127 bytes"), std::string::npos);
  EXPECT_NE(take(ZKAPEX_F64, 128, 2).find("the data has 128 bytes"), std::string::npos);
  EXPECT_NE(take(ZKAPEX_F32, 128, 1).find("the data has 128 bytes"), std::string::npos);
  EXPECT_EQ(take(static_cast<zkapex_type>(3), 128, 1), "3 is no type of numbers");
  EXPECT_NE(take(ZKAPEX_F64, 0, 0).find("0 blocks were given"), std::string::npos);
  EXPECT_NE(take(ZKAPEX_F64, 128, ~uint64_t{0}).find("are missing"), std::string::npos);
  EXPECT_EQ(take(ZKAPEX_F64, 128, 1), "(status 0)");
  zkapex_free(store);
}

TEST_F(CApi, GradientsAreOfWholeBlocks) {
  zkapex_curvature* store = new_store("capi-store-2.zka");
  const std::vector<double> rows(100, 1.0);
  const auto take = [&](uint64_t samples, uint64_t width, uint64_t stride, size_t numbers) {
    return refusal(
        zkapex_curvature_gradients(session_, store, ZKAPEX_F64, {rows.data(), 8 * numbers}, samples, width, stride));
  };
  EXPECT_NE(take(2, 3, 3, 6).find("3 weights are not the next whole blocks"), std::string::npos);
  EXPECT_NE(take(2, 0, 0, 0).find("0 weights are not the next whole blocks"), std::string::npos);
  EXPECT_NE(take(2, 28, 28, 56).find("28 weights are not the next whole blocks"), std::string::npos);
  EXPECT_EQ(take(0, 4, 4, 0), "there are no samples");
  EXPECT_EQ(take(2, 4, 3, 7), "rows of 4 numbers do not fit a stride of 3");
  EXPECT_NE(take(2, 4, 6, 12).find("the data has 96 bytes"), std::string::npos);
  // Sizes whose product is 2^64 and a little are not taken for the little.
  EXPECT_NE(take((uint64_t{1} << 61) + 1, 4, 8, 4).find("the data has 32 bytes"), std::string::npos);
  EXPECT_EQ(take(2, 4, 6, 10), "(status 0)");
  EXPECT_EQ(take(4, 21, 25, 96), "(status 0)");
  EXPECT_EQ(take(2, 4, 4, 8), "all 7 blocks are there already");
  EXPECT_EQ(zkapex_curvature_finish(session_, store), ZKAPEX_OK);
  EXPECT_EQ(refusal(zkapex_curvature_finish(session_, store)), "the store is finished already");
  EXPECT_EQ(take(2, 4, 4, 8), "the store is finished already");
  zkapex_free(store);
}

TEST_F(CApi, ADampingIsOneOfTwo) {
  const std::string output = at("damped.zka");
  zkapex_curvature_options options{};
  options.size = sizeof options;
  options.deployment = deployment_;
  options.output = output.c_str();
  options.damping = options.relative_damping = 1;
  zkapex_curvature* out = nullptr;
  EXPECT_EQ(refusal(zkapex_curvature_open(session_, &options, &out)),
            "a damping is relative, or it is not: give one of the two");
  options.damping = 0;
  options.relative_damping = -1;
  EXPECT_EQ(refusal(zkapex_curvature_open(session_, &options, &out)), "a damping of -1 is not a number from zero up");
  EXPECT_EQ(out, nullptr);
}

TEST_F(CApi, AnUnfinishedStoreOfNoRunIsBegunAgain) {
  zkapex_curvature* first = new_store("again.zka");
  const std::vector<double> block(16, 1.0);
  ASSERT_EQ(zkapex_curvature_blocks(session_, first, ZKAPEX_F64, {block.data(), 128}, 1), ZKAPEX_OK);
  zkapex_free(first);
  zkapex_curvature* second = new_store("again.zka");
  ASSERT_EQ(zkapex_describe(session_, second), ZKAPEX_OK);
  EXPECT_NE(std::string(zkapex_report(session_)).find(R"("written":0)"), std::string::npos);
  zkapex_free(second);
}

TEST_F(CApi, AVerdictIsAcceptedOrRejected) {
  zkapex_settle_options options{};
  options.size = sizeof options;
  options.client = "nobody";
  EXPECT_EQ(refusal(zkapex_settle(session_, &options)),
            "say what the provider's verdict was: --accepted or --rejected");
  options.accepted = options.rejected = 1;
  EXPECT_EQ(refusal(zkapex_settle(session_, &options)),
            "say what the provider's verdict was: --accepted or --rejected");
}

struct Reentry {
  zkapex_session* session = nullptr;
  zkapex_status inner = ZKAPEX_OK, other_thread = ZKAPEX_OK;
};
int call_back(void* user, const char* /*stage*/, uint64_t /*done*/, uint64_t /*total*/) {
  auto* reentry = static_cast<Reentry*>(user);
  reentry->inner = zkapex_describe(reentry->session, nullptr);
  std::thread([&] { reentry->other_thread = zkapex_describe(reentry->session, nullptr); }).join();
  return 1;
}

TEST_F(CApi, ASessionIsOfOneThreadAtATime) {
  Reentry reentry;
  zkapex_session_options options{};
  options.size = sizeof options;
  options.progress = call_back;
  options.user = &reentry;
  ASSERT_EQ(zkapex_session_new(&options, &reentry.session), ZKAPEX_OK);
  zkapex_register_options request{};
  request.size = sizeof request;
  request.deployment = request.model = request.curvature = request.client = request.output = "x";
  EXPECT_EQ(zkapex_register(reentry.session, &request), ZKAPEX_CANCELLED);
  EXPECT_EQ(reentry.inner, ZKAPEX_BUSY);
  EXPECT_EQ(reentry.other_thread, ZKAPEX_BUSY);
  EXPECT_STREQ(zkapex_error_text(reentry.session), "cancelled");
  EXPECT_EQ(zkapex_describe(reentry.session, deployment_), ZKAPEX_OK);
  EXPECT_STREQ(zkapex_error_text(reentry.session), "");
  zkapex_free(reentry.session);
}

TEST_F(CApi, ASessionHasNotTooManyThreads) {
  zkapex_session_options options{};
  options.size = sizeof options;
  options.threads = 1025;
  zkapex_session* session = nullptr;
  EXPECT_EQ(zkapex_session_new(&options, &session), ZKAPEX_ERROR);
  EXPECT_STREQ(zkapex_error_text(nullptr), "1025 threads are too many: at most 1024, and 0 for one per processor");
  zkapex_free(session);
}

// Frees what the call works with; the handles are nobody's any more, and the call goes on.
struct Freed {
  zkapex_session *session = nullptr, *other = nullptr;
  zkapex_deployment* deployment = nullptr;
  zkapex_request* request = nullptr;
  int calls = 0;
  std::vector<std::string> said;
};
int free_all(void* user, const char* /*stage*/, uint64_t /*done*/, uint64_t /*total*/) {
  auto* freed = static_cast<Freed*>(user);
  if (freed->calls++ > 0) return 0;
  for (void* handle : {static_cast<void*>(freed->deployment), static_cast<void*>(freed->request)}) {
    zkapex_free(handle);
    zkapex_describe(freed->other, handle);
    freed->said.emplace_back(zkapex_error_text(freed->other));
  }
  zkapex_free(freed->session);
  zkapex_describe(freed->session, nullptr);
  freed->said.emplace_back(zkapex_error_text(nullptr));
  return 0;
}

TEST_F(CApi, WhatIsFreedInACallLivesUntilItReturns) {
  const std::string ledger = at("freed-ledger"), base = world_->base_file().string();
  Freed freed;
  freed.other = session_;
  zkapex_session_options options{};
  options.size = sizeof options;
  options.progress = free_all;
  options.user = &freed;
  ASSERT_EQ(zkapex_session_new(&options, &freed.session), ZKAPEX_OK);
  ASSERT_EQ(zkapex_deployment_open(session_, at("deployment.zka").c_str(), &freed.deployment), ZKAPEX_OK);
  ASSERT_EQ(zkapex_request_open(session_, at("psi.zka").c_str(), freed.deployment, &freed.request), ZKAPEX_OK);
  ASSERT_TRUE(Ledger::open_or_create(ledger, world_->deployment).ok());
  const zkapex_provider provider{sizeof(zkapex_provider), ledger.c_str(), freed.deployment, base.c_str()};
  EXPECT_EQ(zkapex_verify(freed.session, &provider, freed.request, {"no proof", 8}), ZKAPEX_REJECTED);
  EXPECT_GT(freed.calls, 0);
  EXPECT_EQ(freed.said,
            (std::vector<std::string>{"a curvature writer is needed, and the handle is no handle of this library",
                                      "a curvature writer is needed, and the handle is no handle of this library",
                                      "a session is needed, and the handle is no handle of this library"}));
}

TEST_F(CApi, ARequestIsPublishedOnce) {
  const std::string ledger = at("publishing-ledger"), base = world_->base_file().string();
  const zkapex_provider provider{sizeof(zkapex_provider), ledger.c_str(), deployment_, base.c_str()};
  zkapex_request* request = nullptr;
  ASSERT_EQ(zkapex_request_open(session_, at("psi.zka").c_str(), deployment_, &request), ZKAPEX_OK);
  EXPECT_NE(refusal(zkapex_publish(session_, &provider, request)).find("is no ledger"), std::string::npos);
  ASSERT_TRUE(Ledger::open_or_create(ledger, world_->deployment).ok());
  EXPECT_EQ(zkapex_publish(session_, &provider, request), ZKAPEX_OK) << zkapex_error_text(session_);
  EXPECT_NE(std::string(zkapex_report(session_)).find(R"("published_before":false)"), std::string::npos);
  EXPECT_EQ(zkapex_publish(session_, &provider, request), ZKAPEX_OK);
  EXPECT_NE(std::string(zkapex_report(session_)).find(R"("published_before":true)"), std::string::npos);
  // Whoever registers now does so with the request in sight.
  const Bytes registration = *read_file(at("alice/registration.zka"), size_t{1} << 20);
  const Bytes proof = *read_file(at("alice/proof.zka"), size_t{1} << 20);
  ASSERT_EQ(zkapex_admit(session_, &provider, {registration.data(), registration.size()}), ZKAPEX_OK);
  EXPECT_EQ(zkapex_verify(session_, &provider, request, {proof.data(), proof.size()}), ZKAPEX_REJECTED);
  EXPECT_NE(std::string(zkapex_report(session_)).find(R"("reason":"order")"), std::string::npos);
  zkapex_free(request);
}

}  // namespace
}  // namespace zkapex
