// Every function with what a broken program may pass, and every reader of bytes with what a hostile one may send: an
// error or a rejection, and nothing that a sanitizer would tell of.
#include <gtest/gtest.h>
#include <zkapex.h>

#include <functional>

#include "log/log_testing.h"
#include "log/receipt.h"
#include "parties/client_testing.h"

namespace zkapex {
namespace {

using testing::World;

struct Function {
  const char* name;
  std::function<zkapex_status(zkapex_session*)> call;
};

template <class Options>
Options zeroed() {
  Options out{};
  out.size = sizeof(Options);
  return out;
}

constexpr zkapex_buffer kNothing{nullptr, 0};

// All that take a session, with NULL for everything else.
std::vector<Function> functions_with_null() {
  return {
      {"describe", [](auto* s) { return zkapex_describe(s, nullptr); }},
      {"deploy", [](auto* s) { return zkapex_deploy(s, nullptr); }},
      {"deployment_open", [](auto* s) { return zkapex_deployment_open(s, nullptr, nullptr); }},
      {"request_make", [](auto* s) { return zkapex_request_make(s, nullptr); }},
      {"request_open", [](auto* s) { return zkapex_request_open(s, nullptr, nullptr, nullptr); }},
      {"curvature_open", [](auto* s) { return zkapex_curvature_open(s, nullptr, nullptr); }},
      {"curvature_blocks", [](auto* s) { return zkapex_curvature_blocks(s, nullptr, ZKAPEX_F32, kNothing, 0); }},
      {"curvature_gradients",
       [](auto* s) { return zkapex_curvature_gradients(s, nullptr, ZKAPEX_F32, kNothing, 0, 0, 0); }},
      {"curvature_finish", [](auto* s) { return zkapex_curvature_finish(s, nullptr); }},
      {"register", [](auto* s) { return zkapex_register(s, nullptr); }},
      {"unlearn", [](auto* s) { return zkapex_unlearn(s, nullptr); }},
      {"update", [](auto* s) { return zkapex_update(s, nullptr); }},
      {"settle", [](auto* s) { return zkapex_settle(s, nullptr); }},
      {"admit", [](auto* s) { return zkapex_admit(s, nullptr, kNothing); }},
      {"admit_update", [](auto* s) { return zkapex_admit_update(s, nullptr, kNothing); }},
      {"publish", [](auto* s) { return zkapex_publish(s, nullptr, nullptr); }},
      {"verify", [](auto* s) { return zkapex_verify(s, nullptr, nullptr, kNothing); }},
      {"verify_batch", [](auto* s) { return zkapex_verify_batch(s, nullptr, nullptr, nullptr, 3, nullptr); }},
      {"receipt_check", [](auto* s) { return zkapex_receipt_check(s, nullptr); }},
  };
}

// Options of the right size with nothing in them.
std::vector<Function> functions_with_zeros() {
  static zkapex_curvature* writer = nullptr;
  return {
      {"deploy", [o = zeroed<zkapex_deploy_options>()](auto* s) { return zkapex_deploy(s, &o); }},
      {"request_make", [o = zeroed<zkapex_request_options>()](auto* s) { return zkapex_request_make(s, &o); }},
      {"curvature_open",
       [o = zeroed<zkapex_curvature_options>()](auto* s) { return zkapex_curvature_open(s, &o, &writer); }},
      {"register", [o = zeroed<zkapex_register_options>()](auto* s) { return zkapex_register(s, &o); }},
      {"unlearn", [o = zeroed<zkapex_unlearn_options>()](auto* s) { return zkapex_unlearn(s, &o); }},
      {"update", [o = zeroed<zkapex_update_options>()](auto* s) { return zkapex_update(s, &o); }},
      {"settle", [o = zeroed<zkapex_settle_options>()](auto* s) { return zkapex_settle(s, &o); }},
      {"admit",
       [o = zeroed<zkapex_provider>()](auto* s) {
         return zkapex_admit(s, &o, {nullptr, 0});
       }},
      {"admit_update",
       [o = zeroed<zkapex_provider>()](auto* s) {
         return zkapex_admit_update(s, &o, {nullptr, 0});
       }},
      {"publish", [o = zeroed<zkapex_provider>()](auto* s) { return zkapex_publish(s, &o, nullptr); }},
      {"verify",
       [o = zeroed<zkapex_provider>()](auto* s) {
         return zkapex_verify(s, &o, nullptr, {nullptr, 0});
       }},
      {"receipt_check", [o = zeroed<zkapex_receipt_options>()](auto* s) { return zkapex_receipt_check(s, &o); }},
  };
}

class HostileCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override {
    ASSERT_EQ(zkapex_session_new(nullptr, &session_), ZKAPEX_OK);
    ASSERT_EQ(zkapex_deployment_open(session_, at("deployment.zka").c_str(), &deployment_), ZKAPEX_OK);
    ASSERT_EQ(zkapex_request_open(session_, at("psi.zka").c_str(), deployment_, &request_), ZKAPEX_OK);
    provider_ = {sizeof provider_, ledger_.c_str(), deployment_, base_.c_str()};
  }
  void TearDown() override {
    zkapex_free(request_);
    zkapex_free(deployment_);
    zkapex_free(session_);
    std::filesystem::remove_all(ledger_);
  }
  static std::string at(const std::string& name) { return (world_->folder / name).string(); }
  static Bytes file(const std::string& name) { return *read_file(at(name), size_t{1} << 20); }

  // The file cut short at many places, and with a bit changed at many others: all rejected. Each is in memory of its
  // own size, so that a reader cannot go past its end unnoticed.
  void expect_none_accepted(const Bytes& whole, const std::function<zkapex_status(zkapex_buffer)>& reader) {
    const size_t step = whole.size() / 40 + 1;
    const auto is_rejected = [&](const Bytes& changed, size_t place, const char* how) {
      const auto exact = std::make_unique<uint8_t[]>(changed.size());
      std::copy(changed.begin(), changed.end(), exact.get());
      EXPECT_EQ(reader({exact.get(), changed.size()}), ZKAPEX_REJECTED)
          << how << " at byte " << place << ": " << zkapex_error_text(session_);
    };
    for (size_t length = 0; length < whole.size(); length += step)
      is_rejected(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)), length, "cut");
    is_rejected(Bytes(whole.begin(), whole.end() - 1), whole.size() - 1, "cut");
    for (size_t place = 0; place < whole.size(); place += step) {
      Bytes changed = whole;
      changed[place] ^= static_cast<uint8_t>(1 << place % 8);
      is_rejected(changed, place, "changed");
    }
  }

  static inline World* world_ = nullptr;
  std::string ledger_ = at("hostile-ledger"), base_ = world_->base_file().string();
  zkapex_session* session_ = nullptr;
  zkapex_deployment* deployment_ = nullptr;
  zkapex_request* request_ = nullptr;
  zkapex_provider provider_{};
};

TEST_F(HostileCalls, WithoutASessionNothingWorks) {
  for (const Function& function : functions_with_null()) {
    EXPECT_EQ(function.call(nullptr), ZKAPEX_ERROR) << function.name;
    EXPECT_STREQ(zkapex_error_text(nullptr), "a session is needed, and the handle is NULL") << function.name;
    EXPECT_EQ(function.call(reinterpret_cast<zkapex_session*>(request_)), ZKAPEX_ERROR) << function.name;
    EXPECT_STREQ(zkapex_error_text(nullptr), "a session is needed, and the handle is a request") << function.name;
  }
  EXPECT_STREQ(zkapex_report(nullptr), "{}");
  EXPECT_STREQ(zkapex_report(reinterpret_cast<zkapex_session*>(request_)), "{}");
  zkapex_free(nullptr);
}

TEST_F(HostileCalls, NullIsAnErrorOfEveryFunction) {
  for (const Function& function : functions_with_null()) {
    EXPECT_EQ(function.call(session_), ZKAPEX_ERROR) << function.name;
    EXPECT_NE(std::string(zkapex_error_text(session_)).find("NULL"), std::string::npos) << function.name;
    EXPECT_STREQ(zkapex_report(session_), "{}") << function.name;
  }
}

TEST_F(HostileCalls, EmptyOptionsAreAnErrorThatSaysWhatIsMissing) {
  for (const Function& function : functions_with_zeros()) {
    EXPECT_EQ(function.call(session_), ZKAPEX_ERROR) << function.name;
    EXPECT_STRNE(zkapex_error_text(session_), "") << function.name;
    EXPECT_EQ(std::string(zkapex_error_text(session_)).find("unexpected"), std::string::npos) << function.name;
  }
}

TEST_F(HostileCalls, ARegistrationThatIsCutOrChangedIsRejected) {
  const Bytes whole = file("alice/registration.zka");
  expect_none_accepted(whole, [&](zkapex_buffer f) { return zkapex_admit(session_, &provider_, f); });
  expect_none_accepted(whole, [&](zkapex_buffer f) { return zkapex_admit_update(session_, &provider_, f); });
  EXPECT_EQ(zkapex_admit(session_, &provider_, {whole.data(), whole.size()}), ZKAPEX_OK);
}

TEST_F(HostileCalls, AProofThatIsCutOrChangedIsRejected) {
  const Bytes registration = file("alice/registration.zka"), whole = file("alice/proof.zka");
  ASSERT_EQ(zkapex_admit(session_, &provider_, {registration.data(), registration.size()}), ZKAPEX_OK);
  expect_none_accepted(whole, [&](zkapex_buffer f) { return zkapex_verify(session_, &provider_, request_, f); });
  expect_none_accepted(whole, [&](zkapex_buffer f) {
    zkapex_status verdicts[2] = {ZKAPEX_OK, ZKAPEX_OK};
    const zkapex_buffer both[2] = {f, {nullptr, 0}};
    const zkapex_status status = zkapex_verify_batch(session_, &provider_, request_, both, 2, verdicts);
    EXPECT_EQ(verdicts[1], ZKAPEX_REJECTED);
    return status == verdicts[0] ? status : ZKAPEX_ERROR;
  });
  EXPECT_EQ(zkapex_verify(session_, &provider_, request_, {whole.data(), whole.size()}), ZKAPEX_OK);
}

TEST_F(HostileCalls, NumbersNeedNotBeAligned) {
  const std::string output = at("unaligned.zka");
  auto options = zeroed<zkapex_curvature_options>();
  options.deployment = deployment_;
  options.output = output.c_str();
  zkapex_curvature* store = nullptr;
  ASSERT_EQ(zkapex_curvature_open(session_, &options, &store), ZKAPEX_OK);
  const auto bytes = std::make_unique<uint8_t[]>(1 + 16 * sizeof(double));  // zeros
  EXPECT_EQ(zkapex_curvature_blocks(session_, store, ZKAPEX_F64, {bytes.get() + 1, 16 * sizeof(double)}, 1), ZKAPEX_OK);
  EXPECT_EQ(zkapex_curvature_gradients(session_, store, ZKAPEX_F32, {bytes.get() + 1, 32}, 2, 4, 4), ZKAPEX_OK);
  zkapex_free(store);
}

// A receipt that parses; nobody has signed its checkpoint.
class HostileReceipts : public HostileCalls {
 protected:
  void SetUp() override {
    HostileCalls::SetUp();
    const NoteKey key = testing::log_key("provider.example/log", testing::fixed_key(1));
    const std::string policy = fmt::format("log {}\nquorum none\n", key.vkey());
    ASSERT_TRUE(write_file(policy_, Bytes(policy.begin(), policy.end()), {.overwrite = true}).ok());
    const std::string root(43, 'A');
    receipt_ = Receipt{.entry = Bytes{'{', '}'},
                       .index = 0,
                       .proof = {},
                       .checkpoint = {"provider.example/log\n1\n" + root + "=\n", {{key.name, key.id(), Bytes(64)}}}}
                   .encode();
    options_ = zeroed<zkapex_receipt_options>();
    options_.policy = policy_.c_str();
    options_.receipt = {receipt_.data(), receipt_.size()};
  }
  std::string refusal() {
    return zkapex_receipt_check(session_, &options_) == ZKAPEX_ERROR ? zkapex_error_text(session_) : "(no error)";
  }
  std::string policy_ = at("hostile-policy"), receipt_;
  zkapex_receipt_options options_{};
};

TEST_F(HostileReceipts, AnEmptyReceiptOfTheDeploymentIsNotTakenForNone) {
  EXPECT_EQ(zkapex_receipt_check(session_, &options_), ZKAPEX_REJECTED);
  options_.deployment = {"", 0};
  EXPECT_EQ(zkapex_receipt_check(session_, &options_), ZKAPEX_REJECTED);
  EXPECT_NE(std::string(zkapex_report(session_)).find("the deployment's receipt: this is no receipt"),
            std::string::npos);
}

TEST_F(HostileReceipts, BuffersAreWhatTheySay) {
  options_.deployment = {nullptr, 7};
  EXPECT_EQ(refusal(), "the deployment's receipt is NULL, with a length of 7 bytes");
  options_.deployment = {nullptr, 0};
  options_.receipt = {nullptr, 7};
  EXPECT_EQ(refusal(), "the receipt is NULL, with a length of 7 bytes");
}

TEST_F(HostileReceipts, NoneThatIsCutProvesAnything) {
  for (size_t length = 0; length < receipt_.size(); ++length) {
    const auto exact = std::make_unique<char[]>(length);
    std::copy_n(receipt_.data(), length, exact.get());
    options_.receipt = {exact.get(), length};
    EXPECT_EQ(zkapex_receipt_check(session_, &options_), ZKAPEX_REJECTED) << length;
  }
}

}  // namespace
}  // namespace zkapex
