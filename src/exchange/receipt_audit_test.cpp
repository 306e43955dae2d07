#include "exchange/receipt_audit.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "exchange/exchange_testing.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::MemoryLogStore;
using testing::refusal;
using testing::TestFolder;

constexpr uint8_t kProviderKey = 2, kOtherKey = 3;

std::string signed_by(uint8_t seed, const auto& notice) {
  return sign_envelope(notice.encode(), fixed_key(seed))->encode();
}

// A log on disk, and receipts of its entries.
class WrittenLog {
 public:
  WrittenLog(const std::string& origin, uint8_t seed, const std::vector<std::string>& entries)
      : key(log_key(origin, fixed_key(seed))), folder_("receipt-audit-" + std::to_string(seed)) {
    for (const std::string& entry : entries) store_.queue(entry);
    Result<Sequencer> sequencer =
        Sequencer::open(store_, fixed_key(seed), {.folder = folder_.path(), .origin = origin});
    EXPECT_TRUE(sequencer.ok() && sequencer->run().ok());
  }
  [[nodiscard]] OpenedReceipt receipt(uint64_t index) {
    TileFolder tiles(folder_.path());
    const Bytes note = *read_file(folder_.path() / "checkpoint", kMaxNoteBytes);
    const Note checkpoint = *Note::parse(std::string(note.begin(), note.end()));
    return *open_receipt(make_receipt(tiles, index, checkpoint)->encode());
  }

  NoteKey key;

 private:
  TestFolder folder_;
  MemoryLogStore store_;
};

class ReceiptAuditTest : public ::testing::Test {
 protected:
  enum Entry : uint8_t { kDeployment, kVerdict, kForged, kNoEnvelope, kNoStatement, kRegistration, kSecondDeployment };

  Result<ReceiptAudit> audit(uint64_t index) { return audit_receipt(log_.receipt(index), policy_, nullptr); }
  Result<ReceiptAudit> audit_with(uint64_t index, const OpenedReceipt& deployment) {
    return audit_receipt(log_.receipt(index), policy_, &deployment);
  }
  static DeploymentNotice deployment_of(uint8_t provider) {
    DeploymentNotice out = testing::sample_deployment();
    out.provider = fixed_key(provider).public_key();
    return out;
  }

  WrittenLog log_{
      "example.com/log",
      1,
      {signed_by(kProviderKey, deployment_of(kProviderKey)),
       signed_by(kProviderKey, testing::sample_verdict(testing::sample_submission())),
       signed_by(kOtherKey, testing::sample_verdict(testing::sample_submission())), "no envelope",
       sign_envelope({'{', '}'}, fixed_key(kProviderKey))->encode(),
       signed_by(kOtherKey, testing::sample_registration()), signed_by(kOtherKey, deployment_of(kOtherKey))}};
  Policy policy_ = Policy::of_log(log_.key);
};

constexpr const char* kNotTheDeployment =
    "the other receipt is no receipt of the deployment, the first entry of the log";

TEST_F(ReceiptAuditTest, AVerdictOfTheProvider) {
  const Result<ReceiptAudit> alone = audit(kVerdict);
  ASSERT_TRUE(alone.ok()) << refusal(alone);
  EXPECT_FALSE(alone->provider_checked);
  const Result<ReceiptAudit> checked = audit_with(kVerdict, log_.receipt(kDeployment));
  ASSERT_TRUE(checked.ok()) << refusal(checked);
  const nlohmann::ordered_json told = as_json(*checked);
  EXPECT_EQ(told["verdict"], "accepted");
  EXPECT_EQ(told["log"], "example.com/log");
  EXPECT_EQ(told["index"], 1);
  EXPECT_EQ(told["size"], 7);
  EXPECT_EQ(told["witnesses"], 0);
  EXPECT_EQ(told["statement"], "verdict");
  EXPECT_EQ(told["result"], "PASSED");
  EXPECT_EQ(told["window"], "window 1");
  EXPECT_EQ(told["provider_checked"], true);
}

TEST_F(ReceiptAuditTest, OtherStatementsAreTold) {
  const Result<ReceiptAudit> registration = audit_with(kRegistration, log_.receipt(kDeployment));
  ASSERT_TRUE(registration.ok()) << refusal(registration);
  EXPECT_FALSE(registration->provider_checked);
  EXPECT_EQ(as_json(*registration)["statement"], "registration");
  EXPECT_FALSE(as_json(*registration).contains("provider_checked"));
}

TEST_F(ReceiptAuditTest, TheEntryIsInALogThatIsTrusted) {
  OpenedReceipt moved = log_.receipt(kVerdict);
  moved.receipt.index = kForged;
  EXPECT_TRUE(refusal(audit_receipt(moved, policy_, nullptr)).starts_with("the proof of inclusion"));
  OpenedReceipt other = log_.receipt(kVerdict);
  other.entry = log_.receipt(kForged).entry;
  EXPECT_TRUE(refusal(audit_receipt(other, policy_, nullptr)).starts_with("the proof of inclusion"));
  const Policy elsewhere = Policy::of_log(log_key("example.com/log", fixed_key(7)));
  EXPECT_FALSE(audit_receipt(log_.receipt(kVerdict), elsewhere, nullptr).ok());
}

TEST_F(ReceiptAuditTest, TheEntryIsAStatement) {
  EXPECT_FALSE(audit(kNoEnvelope).ok());
  EXPECT_FALSE(audit(kNoStatement).ok());
}

TEST_F(ReceiptAuditTest, AVerdictOfSomebodyElse) {
  EXPECT_TRUE(audit(kForged).ok());
  EXPECT_EQ(refusal(audit_with(kForged, log_.receipt(kDeployment))), "the verdict is not signed by the provider");
}

TEST_F(ReceiptAuditTest, TheDeploymentIsTheFirstEntry) {
  EXPECT_EQ(refusal(audit_with(kForged, log_.receipt(kSecondDeployment))), kNotTheDeployment);
  EXPECT_EQ(refusal(audit_with(kForged, log_.receipt(kRegistration))), kNotTheDeployment);
  OpenedReceipt moved = log_.receipt(kSecondDeployment);
  moved.receipt.index = 0;
  EXPECT_EQ(refusal(audit_with(kForged, moved)), kNotTheDeployment) << "it is not in the log there";
}

TEST_F(ReceiptAuditTest, TheDeploymentIsOfTheSameLog) {
  WrittenLog other("example.com/other", 4, {signed_by(kOtherKey, deployment_of(kOtherKey))});
  policy_ = *Policy::parse(fmt::format("log {}\nlog {}\nquorum none\n", log_.key.vkey(), other.key.vkey()));
  EXPECT_EQ(refusal(audit_with(kForged, other.receipt(0))), kNotTheDeployment);
}

TEST_F(ReceiptAuditTest, TheDeploymentIsSignedByItsProvider) {
  WrittenLog unsigned_log("example.com/log", 4,
                          {signed_by(kOtherKey, deployment_of(kProviderKey)),
                           signed_by(kProviderKey, testing::sample_verdict(testing::sample_submission()))});
  const OpenedReceipt deployment = unsigned_log.receipt(0);
  EXPECT_EQ(refusal(audit_receipt(unsigned_log.receipt(1), Policy::of_log(unsigned_log.key), &deployment)),
            kNotTheDeployment);
}

TEST_F(ReceiptAuditTest, AnEntryOfOnesOwn) {
  const OpenedReceipt whole = log_.receipt(kVerdict);
  Receipt bare = whole.receipt;
  bare.entry.reset();
  EXPECT_EQ(refusal(open_receipt(bare.encode())), "the receipt has no entry in it: give --entry");
  const Result<OpenedReceipt> opened = open_receipt(bare.encode(), whole.entry);
  ASSERT_TRUE(opened.ok()) << refusal(opened);
  EXPECT_EQ(opened->entry, whole.entry);
  const Bytes longest(kMaxEntryBytes, 'x'), longer(kMaxEntryBytes + 1, 'x');
  EXPECT_TRUE(open_receipt(bare.encode(), longest).ok());
  EXPECT_EQ(refusal(open_receipt(bare.encode(), longer)), "an entry of a log has at most 65535 bytes");
  EXPECT_NE(refusal(open_receipt("hello")).find("this is no receipt"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
