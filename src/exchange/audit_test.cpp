#include "exchange/audit.h"

#include <gtest/gtest.h>

#include "exchange/exchange_testing.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::kClient;
using testing::log_key;
using testing::made_up_digest;

constexpr uint8_t kProviderSeed = 2, kClientSeed = 3;

Envelope by(const auto& notice, uint8_t seed) { return *sign_envelope(notice.encode(), fixed_key(seed)); }

Envelope enrolled(const ClientNotice& notice, std::initializer_list<uint8_t> seeds) {
  Envelope out{.payload = notice.encode(), .signatures = {}};
  for (const uint8_t seed : seeds) EXPECT_TRUE(add_signature(out, fixed_key(seed)).ok());
  return out;
}

// What is found of a log that has this one entry.
std::string found_alone(const Envelope& envelope) {
  LogAudit audit(log_key("example.com/log", fixed_key(1)));
  audit.add(view(envelope.encode()));
  return audit.findings().empty() ? "(nothing)" : audit.findings()[0].what;
}

// Adds entries and looks at what is found.
class AuditTest : public ::testing::Test {
 protected:
  // "" where nothing was found.
  std::string add(const Envelope& envelope) { return add_bytes(envelope.encode()); }
  std::string add_bytes(const std::string& entry) {
    const size_t before = audit_.findings().size();
    const auto taken = audit_.add(view(entry));
    const std::string found = audit_.findings().size() > before ? audit_.findings().back().what : "";
    EXPECT_EQ(taken.has_value(), found.empty());
    return found;
  }
  // What the log looks like now, for a statement that names it.
  SeenTree now() { return {audit_.tree().size(), audit_.tree().root(audit_.tree().size())}; }

  void deploy() { ASSERT_EQ(add(by(testing::sample_deployment(), kProviderSeed)), ""); }
  void enrol() { ASSERT_EQ(add(enrolled(testing::sample_client(), {kClientSeed, kProviderSeed})), ""); }
  RegistrationNotice registration() {
    RegistrationNotice out = testing::sample_registration();
    out.seen = now();
    return out;
  }
  void register_client() {
    const RegistrationNotice notice = registration();
    ASSERT_EQ(add(by(notice, kClientSeed)), "");
    ASSERT_EQ(add(by(testing::sample_verdict(notice), kProviderSeed)), "");
  }
  WindowNotice window() {
    WindowNotice out = testing::sample_window();
    out.seen = now();
    return out;
  }
  void publish() { ASSERT_EQ(add(by(window(), kProviderSeed)), ""); }
  void submit() { ASSERT_EQ(add(by(testing::sample_submission(), kClientSeed)), ""); }
  void up_to_submission() {
    deploy();
    enrol();
    register_client();
    publish();
    submit();
  }
  std::string verdict(const std::function<void(VerdictNotice&)>& change = {}) {
    VerdictNotice notice = testing::sample_verdict(testing::sample_submission());
    if (change) change(notice);
    return add(by(notice, kProviderSeed));
  }

  LogAudit audit_{log_key("example.com/log", fixed_key(1))};
};

TEST_F(AuditTest, AnHonestLogHasNoFindings) {
  up_to_submission();
  EXPECT_EQ(verdict(), "");
  EXPECT_EQ(audit_.finding_count(), 0U);
  const AuditTotals totals = audit_.totals();
  EXPECT_EQ(totals.accepted, 2U);
  EXPECT_EQ(totals.waiting, 0U);
  EXPECT_EQ(totals.entries.at(StatementKind::kVerdict), 2U);
  ASSERT_EQ(audit_.windows().size(), 1U);
  ASSERT_EQ(audit_.windows()[0].records.size(), 1U);
  EXPECT_EQ(audit_.windows()[0].records[0].verdict, 6U);
  EXPECT_TRUE(audit_.windows()[0].records[0].outcome->passed());
}

TEST_F(AuditTest, ARejectionMovesNothingAndMayBeFollowedByAnAcceptance) {
  up_to_submission();
  EXPECT_EQ(verdict([](auto& v) {
              v.leads_to.reset();
              v.rejection = Rejection{Reason::kEquation, "the proof does not hold"};
            }),
            "");
  SubmissionNotice again = testing::sample_submission();
  again.file.sha256 = made_up_digest("another proof");
  EXPECT_EQ(add(by(again, kClientSeed)), "");
  EXPECT_EQ(audit_.totals().waiting, 1U);
  EXPECT_EQ(add(by(testing::sample_verdict(again), kProviderSeed)), "");
  EXPECT_EQ(audit_.totals().rejected, 1U);
  EXPECT_EQ(audit_.windows()[0].records.size(), 2U);
}

TEST_F(AuditTest, EntriesAreEnvelopesInTheirOneForm) {
  EXPECT_NE(add_bytes("hello"), "");
  EXPECT_NE(add_bytes(by(testing::sample_deployment(), kProviderSeed).encode() + "\n").find("one form"),
            std::string::npos);
  EXPECT_EQ(audit_.tree().size(), 2U) << "they count all the same";
}

TEST_F(AuditTest, TheDeploymentComesFirstAndOnce) {
  EXPECT_NE(add(by(testing::sample_window(), kProviderSeed)).find("before the deployment"), std::string::npos);
  EXPECT_NE(add(by(testing::sample_deployment(), kProviderSeed)).find("not the first"), std::string::npos);
}

TEST_F(AuditTest, ThereIsOneDeploymentOfThisLog) {
  DeploymentNotice other = testing::sample_deployment();
  other.log = log_key("other.example", fixed_key(1));
  EXPECT_NE(found_alone(by(other, kProviderSeed)).find("another log"), std::string::npos);
  EXPECT_NE(found_alone(by(testing::sample_deployment(), 9)).find("not signed"), std::string::npos);
  deploy();
  EXPECT_NE(add(by(testing::sample_deployment(), kProviderSeed)).find("second deployment"), std::string::npos);
}

TEST_F(AuditTest, ReceiptsOfUploadsAreNotLogged) {
  deploy();
  EXPECT_NE(add(by(testing::sample_upload(), kProviderSeed)).find("not logged"), std::string::npos);
}

TEST_F(AuditTest, ClientsAreEnrolledByBoth) {
  deploy();
  EXPECT_NE(add(enrolled(testing::sample_client(), {kClientSeed})).find("not signed"), std::string::npos);
  EXPECT_NE(add(enrolled(testing::sample_client(), {kProviderSeed})).find("not signed"), std::string::npos);
  ClientNotice foreign = testing::sample_client();
  foreign.deployment = made_up_digest("other");
  EXPECT_NE(add(enrolled(foreign, {kClientSeed, kProviderSeed})).find("another deployment"), std::string::npos);
  enrol();
  EXPECT_NE(add(enrolled(testing::sample_client(), {kClientSeed, kProviderSeed})).find("has had 1 keys"),
            std::string::npos);
  EXPECT_NE(
      add(enrolled(testing::sample_client(fixed_key(kClientSeed), std::string(32, 'a')), {kClientSeed, kProviderSeed}))
          .find("belonged to a client"),
      std::string::npos);
}

TEST_F(AuditTest, KeysAreRotatedOneAfterTheOther) {
  deploy();
  ClientNotice next = testing::sample_client(fixed_key(4));
  next.rotation = 1;
  next.replaces = fixed_key(kClientSeed).public_key().id();
  EXPECT_NE(add(enrolled(next, {4, kClientSeed, kProviderSeed})).find("is unknown"), std::string::npos);
  enrol();
  EXPECT_NE(add(enrolled(next, {4, kProviderSeed})).find("not signed"), std::string::npos);
  EXPECT_EQ(add(enrolled(next, {4, kClientSeed, kProviderSeed})), "");
  EXPECT_NE(add(by(registration(), kClientSeed)).find("not signed"), std::string::npos) << "the old key";
  EXPECT_EQ(add(by(registration(), 4)), "");
}

TEST_F(AuditTest, WhatIsHandedInIsTheClients) {
  deploy();
  EXPECT_NE(add(by(registration(), kClientSeed)).find("not enrolled"), std::string::npos);
  enrol();
  EXPECT_NE(add(by(registration(), kProviderSeed)).find("not signed"), std::string::npos);
  RegistrationNotice foreign = registration();
  foreign.deployment = made_up_digest("other");
  EXPECT_NE(add(by(foreign, kClientSeed)).find("another deployment"), std::string::npos);
  RegistrationNotice forked = registration();
  forked.seen.root = made_up_digest("fork");
  EXPECT_NE(add(by(forked, kClientSeed)).find("forked"), std::string::npos);
  RegistrationNotice early = registration();
  early.seen.size += 1;
  EXPECT_NE(add(by(early, kClientSeed)).find("which is later"), std::string::npos);
  const Envelope good = by(registration(), kClientSeed);
  EXPECT_EQ(add(good), "");
  EXPECT_NE(add(good).find("handed in before"), std::string::npos);
}

TEST_F(AuditTest, WindowsAreTheProvidersAndEachIsNew) {
  deploy();
  EXPECT_NE(add(by(window(), kClientSeed)).find("not signed"), std::string::npos);
  WindowNotice other = window();
  other.op = Operator::kMaskOnly;
  EXPECT_NE(add(by(other, kProviderSeed)).find("no windows of the operator"), std::string::npos);
  other = window();
  other.predecessor = made_up_digest("none");
  EXPECT_NE(add(by(other, kProviderSeed)).find("not in the log"), std::string::npos);
  other = window();
  other.deployment = made_up_digest("none");
  EXPECT_NE(add(by(other, kProviderSeed)).find("another deployment"), std::string::npos);
  other = window();
  other.seen.root = made_up_digest("none");
  EXPECT_NE(add(by(other, kProviderSeed)).find("forked"), std::string::npos);
  publish();
  other = window();
  other.mask = made_up_digest("mask 2");
  EXPECT_NE(add(by(other, kProviderSeed)).find("published before"), std::string::npos) << "the name again";
  other = window();
  other.window = "window 2";
  EXPECT_NE(add(by(other, kProviderSeed)).find("published before"), std::string::npos) << "the mask again";
  other.mask = made_up_digest("mask 2");
  other.predecessor = made_up_digest("mask");
  EXPECT_EQ(add(by(other, kProviderSeed)), "");
}

TEST_F(AuditTest, ASubmissionIsForAWindowBeforeIt) {
  deploy();
  enrol();
  register_client();
  EXPECT_NE(add(by(testing::sample_submission(), kClientSeed)).find("no window"), std::string::npos);
  publish();
  SubmissionNotice other = testing::sample_submission();
  other.mask = made_up_digest("other");
  EXPECT_NE(add(by(other, kClientSeed)).find("another mask"), std::string::npos);
}

TEST_F(AuditTest, AVerdictIsTheProvidersOnSomethingBeforeItAndOnce) {
  up_to_submission();
  EXPECT_NE(add(by(testing::sample_verdict(testing::sample_submission()), kClientSeed)).find("not signed"),
            std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.id = made_up_digest("nothing"); }).find("does not stand before"),
            std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.deployment = made_up_digest("x"); }).find("another deployment"), std::string::npos);
  EXPECT_EQ(verdict(), "");
  EXPECT_NE(verdict().find("second verdict"), std::string::npos);
}

TEST_F(AuditTest, AVerdictRepeatsWhatItIsAbout) {
  up_to_submission();
  const std::string why = "something else than entry 5";
  EXPECT_NE(verdict([](auto& v) { v.file.bytes += 1; }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.registration = made_up_digest("x"); }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.starts_from = made_up_digest("x"); }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.window = "window 2"; }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.mask = made_up_digest("x"); }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.client = std::string(32, 'a'); }).find(why), std::string::npos);
  EXPECT_NE(verdict([](auto& v) {
              v.of = StatementKind::kUpdate;
              v.window = "";
              v.mask.reset();
              v.op.reset();
            }).find(why),
            std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.submission = 4; }).find("names entry 4 in place of 5"), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.window_index = 3; }).find("names entry 3 as its window"), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.op = Operator::kGuided; }).find("another operator"), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.certified_error = "1e-9"; }).find("another error"), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.time = v.received + 3601; }).find("3600 were promised"), std::string::npos);
  EXPECT_NE(verdict([](auto& v) { v.time = v.received - 1; }).find("were promised"), std::string::npos);
  EXPECT_EQ(verdict([](auto& v) {
              v.submission = 5;
              v.window_index = 4;
              v.time = v.received + 3600;
            }),
            "");
}

TEST_F(AuditTest, AcceptedIsWhatCameInTime) {
  up_to_submission();
  const WindowNotice window = testing::sample_window();
  const auto at = [](UnixTime time) { return [time](VerdictNotice& v) { v.received = v.time = time; }; };
  EXPECT_NE(verdict(at(window.opens - 1)).find("outside of its window"), std::string::npos);
  EXPECT_NE(verdict(at(window.deadline)).find("outside of its window"), std::string::npos);
  EXPECT_EQ(verdict(at(window.opens)), "");
}

TEST_F(AuditTest, TheChainOfModelsHasNoGap) {
  up_to_submission();
  UpdateNotice update = testing::sample_update();
  ASSERT_EQ(add(by(update, kClientSeed)), "");
  ASSERT_EQ(verdict(), "");
  VerdictNotice late = testing::sample_verdict(testing::sample_registration());
  late.of = StatementKind::kUpdate;
  late.id = sha256(update.encode());
  late.file = update.file;
  late.starts_from = update.starts_from;
  EXPECT_NE(add(by(late, kProviderSeed)).find("another model"), std::string::npos) << "the window moved the client on";
  update.starts_from = made_up_digest("commitment next model of " + kClient);
  ASSERT_EQ(add(by(update, kClientSeed)), "");
  late.id = sha256(update.encode());
  late.starts_from = update.starts_from;
  EXPECT_EQ(add(by(late, kProviderSeed)), "");
}

TEST_F(AuditTest, AWindowIsAcceptedOncePerClient) {
  up_to_submission();
  ASSERT_EQ(verdict(), "");
  SubmissionNotice again = testing::sample_submission();
  again.starts_from = made_up_digest("commitment next model of " + kClient);
  ASSERT_EQ(add(by(again, kClientSeed)), "");
  EXPECT_NE(add(by(testing::sample_verdict(again), kProviderSeed)).find("accepted of this client before"),
            std::string::npos);
}

TEST_F(AuditTest, CommittedBeforeTheWindowWasPublished) {
  deploy();
  enrol();
  publish();
  register_client();
  submit();
  EXPECT_NE(verdict().find("chose its model after the window"), std::string::npos);
}

TEST_F(AuditTest, NorIsAModelChosenWithTheWindowInSight) {
  deploy();
  enrol();
  register_client();
  const auto learns_on = [&](const std::string& from, const std::string& to) {
    UpdateNotice update = testing::sample_update();
    update.starts_from = made_up_digest("commitment " + from);
    ASSERT_EQ(add(by(update, kClientSeed)), "");
    VerdictNotice accepted = testing::sample_verdict(testing::sample_registration());
    accepted.of = StatementKind::kUpdate;
    accepted.id = sha256(update.encode());
    accepted.file = update.file;
    accepted.starts_from = update.starts_from;
    accepted.leads_to->commitment = made_up_digest("commitment " + to);
    ASSERT_EQ(add(by(accepted, kProviderSeed)), "");
  };
  const auto answers_from = [&](const std::string& model) {
    SubmissionNotice submission = testing::sample_submission();
    submission.starts_from = made_up_digest("commitment " + model);
    EXPECT_EQ(add(by(submission, kClientSeed)), "");
    return add(by(testing::sample_verdict(submission), kProviderSeed));
  };
  learns_on("model of " + kClient, "second");
  publish();
  const LogAudit before = audit_;
  EXPECT_EQ(answers_from("second"), "");
  audit_ = before;
  learns_on("second", "third");
  EXPECT_NE(answers_from("third").find("chose its model after the window"), std::string::npos);
}

TEST_F(AuditTest, OneRegistrationAndNothingUnderAnother) {
  deploy();
  enrol();
  register_client();
  RegistrationNotice second = registration();
  second.registration = made_up_digest("second");
  ASSERT_EQ(add(by(second, kClientSeed)), "");
  EXPECT_NE(add(by(testing::sample_verdict(second), kProviderSeed)).find("registered already"), std::string::npos);
  publish();
  SubmissionNotice other = testing::sample_submission();
  other.registration = made_up_digest("second");
  ASSERT_EQ(add(by(other, kClientSeed)), "");
  EXPECT_NE(add(by(testing::sample_verdict(other), kProviderSeed)).find("another registration"), std::string::npos);
}

TEST_F(AuditTest, ACertificateWhereTheDeploymentAsksForOne) {
  DeploymentNotice strict = testing::sample_deployment();
  strict.certificate = true;
  ASSERT_EQ(add(by(strict, kProviderSeed)), "");
  enrol();
  RegistrationNotice notice = registration();
  ASSERT_EQ(add(by(notice, kClientSeed)), "");
  EXPECT_NE(add(by(testing::sample_verdict(notice), kProviderSeed)).find("without a certificate"), std::string::npos);
}

TEST_F(AuditTest, FindingsAreCountedBeyondTheirList) {
  for (size_t k = 0; k < LogAudit::kMaxFindings + 5; ++k) audit_.add(view("x"));
  EXPECT_EQ(audit_.findings().size(), LogAudit::kMaxFindings);
  EXPECT_EQ(audit_.finding_count(), LogAudit::kMaxFindings + 5);
}

}  // namespace
}  // namespace zkapex
