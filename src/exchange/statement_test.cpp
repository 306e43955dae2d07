#include "exchange/statement.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "exchange/exchange_testing.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::kClient;
using testing::made_up_digest;
using testing::refusal;

std::string text_of(const Bytes& payload) { return {payload.begin(), payload.end()}; }

// Refused once `change` is made to the JSON.
template <class T>
std::string refusal_after(const T& notice, const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = nlohmann::json::parse(text_of(notice.encode()));
  change(json);
  return refusal(T::decode(view(json.dump())));
}

// Each statement comes back, and each of its fields counts: without it, with another type, with one more.
template <class T>
void expect_strict(const T& notice) {
  const Bytes payload = notice.encode();
  const Result<T> again = T::decode(payload);
  ASSERT_TRUE(again.ok()) << refusal(again);
  EXPECT_EQ(*again, notice);
  EXPECT_EQ(again->encode(), payload);
  const Result<Statement> any = decode_statement(payload);
  ASSERT_TRUE(any.ok());
  EXPECT_TRUE(std::holds_alternative<T>(*any));
  const nlohmann::json good = nlohmann::json::parse(text_of(payload));
  EXPECT_EQ(good["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(good["predicateType"], predicate_type(T::kKind));
  for (const auto& [key, value] : good["predicate"].items()) {
    EXPECT_NE(refusal_after(notice, [&, k = key](auto& j) { j["predicate"].erase(k); }), "(accepted)") << key;
    EXPECT_NE(refusal_after(notice, [&, k = key](auto& j) { j["predicate"][k] = nlohmann::json::array(); }),
              "(accepted)")
        << key;
    EXPECT_NE(refusal_after(notice, [&, k = key](auto& j) { j["predicate"][k] = "\n"; }), "(accepted)") << key;
  }
  const auto unknown = [](const std::string& why) { return why.find("unknown here") != std::string::npos; };
  EXPECT_TRUE(unknown(refusal_after(notice, [](auto& j) { j["predicate"]["x"] = 1; })));
  EXPECT_TRUE(unknown(refusal_after(notice, [](auto& j) { j["x"] = 1; })));
  EXPECT_TRUE(unknown(refusal_after(notice, [](auto& j) { j["subject"][0]["x"] = 1; })));
  EXPECT_TRUE(unknown(refusal_after(notice, [](auto& j) { j["subject"][0]["digest"]["md5"] = "1"; })));
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["_type"] = "https://in-toto.io/Statement/v0.1"; }).find("not https"),
            std::string::npos);
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["predicateType"] = "urn:zkapex:lunch/v1"; }), "(accepted)");
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["predicateType"] = "https://slsa.dev/provenance/v1"; })
                .find("no predicate of"),
            std::string::npos);
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["subject"].push_back(j["subject"][0]); }).find("one subject"),
            std::string::npos);
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["subject"][0]["name"] = "other"; }).find("subject is"),
            std::string::npos);
  EXPECT_NE(refusal(T::decode(view(std::string(65'536, ' ')))).find("at most 65535"), std::string::npos);
}

TEST(Statement, EachKindIsStrict) {
  expect_strict(testing::sample_deployment());
  expect_strict(testing::sample_client());
  expect_strict(testing::sample_registration());
  expect_strict(testing::sample_window());
  expect_strict(testing::sample_update());
  expect_strict(testing::sample_submission());
  expect_strict(testing::sample_upload());
}

TEST(Statement, AKindIsNoOther) {
  EXPECT_NE(refusal(UpdateNotice::decode(testing::sample_submission().encode())).find("statement of submission"),
            std::string::npos);
  EXPECT_NE(refusal(VerdictNotice::decode(testing::sample_submission().encode())).find("statement of submission"),
            std::string::npos);
}

TEST(Statement, ClientsArePseudonyms) {
  const std::string why = "drawn at random";
  for (const char* name : {"Alice", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcde", ""})
    EXPECT_NE(refusal_after(testing::sample_submission(), [&](auto& j) { j["predicate"]["client"] = name; }).find(why),
              std::string::npos);
  EXPECT_TRUE(check_pseudonym(*random_pseudonym()).ok());
  EXPECT_NE(*random_pseudonym(), *random_pseudonym());
}

TEST(Statement, FilesHaveALength) {
  for (const uint64_t bytes : {uint64_t{0}, (uint64_t{1} << 40) + 1})
    EXPECT_NE(
        refusal_after(testing::sample_window(), [&](auto& j) { j["predicate"]["bytes"] = bytes; }).find("no length"),
        std::string::npos);
}

TEST(Statement, AWindowEndsAfterItOpens) {
  WindowNotice window = testing::sample_window();
  window.deadline = window.opens;
  EXPECT_NE(refusal(WindowNotice::decode(window.encode())).find("after its opening"), std::string::npos);
}

TEST(Statement, ADeploymentNamesKeysAndOperators) {
  const auto sample = testing::sample_deployment();
  EXPECT_NE(refusal_after(sample,
                          [](auto& j) {
                            j["predicate"]["operators"] = {"group-obs", "group-obs"};
                          })
                .find("twice"),
            std::string::npos);
  EXPECT_NE(refusal_after(sample, [](auto& j) { j["predicate"]["operators"] = {5}; }).find("no list"),
            std::string::npos);
  EXPECT_NE(refusal_after(sample, [](auto& j) { j["predicate"]["operators"] = {"magic"}; }), "(accepted)");
  EXPECT_NE(refusal_after(sample, [](auto& j) { j["predicate"]["provider"]["algorithm"] = "ecdsa-p256-sha256"; })
                .find("not one of"),
            std::string::npos);
  EXPECT_NE(refusal_after(sample, [](auto& j) { j["predicate"]["provider"]["x"] = 1; }).find("unknown"),
            std::string::npos);
  const std::string witness = testing::witness_key("w", fixed_key(1)).vkey();
  EXPECT_NE(refusal_after(sample, [&](auto& j) { j["predicate"]["log"] = witness; }).find("key of a log"),
            std::string::npos);
}

TEST(Statement, ADeploymentSaysWhetherClientsCarryTheirState) {
  DeploymentNotice carried = testing::sample_deployment();
  carried.carried = true;
  EXPECT_EQ(*DeploymentNotice::decode(carried.encode()), carried);
  EXPECT_NE(refusal_after(carried, [](auto& j) { j["predicate"]["clientsCarryState"] = false; }).find("or not there"),
            std::string::npos);
  EXPECT_NE(refusal_after(carried, [](auto& j) { j["predicate"]["clientsCarryState"] = 1; }), "(accepted)");
}

TEST(Statement, ASeenTreeHasTwoFields) {
  EXPECT_NE(
      refusal_after(testing::sample_window(), [](auto& j) { j["predicate"]["checkpoint"]["x"] = 1; }).find("unknown"),
      std::string::npos);
}

TEST(ClientStatement, ProvesThatTheKeyIsItsOwn) {
  const ClientNotice notice = testing::sample_client(fixed_key(3));
  const Envelope good = *sign_envelope(notice.encode(), fixed_key(3));
  EXPECT_EQ(*open_client_statement(good, nullptr), notice);
  EXPECT_FALSE(open_client_statement(*sign_envelope(notice.encode(), fixed_key(4)), nullptr).ok());
  const PublicKey before = fixed_key(4).public_key();
  EXPECT_NE(refusal(open_client_statement(good, &before)).find("only a rotation"), std::string::npos);
  EXPECT_NE(refusal_after(notice, [](auto& j) { j["subject"][0]["digest"]["sha256"] = std::string(64, '0'); })
                .find("not the client's key"),
            std::string::npos);
}

TEST(ClientStatement, ARotationIsSignedByBothKeys) {
  ClientNotice notice = testing::sample_client(fixed_key(4));
  const PublicKey before = fixed_key(3).public_key(), other = fixed_key(5).public_key();
  notice.rotation = 1;
  notice.replaces = before.id();
  EXPECT_EQ(*ClientNotice::decode(notice.encode()), notice);
  Envelope envelope = *sign_envelope(notice.encode(), fixed_key(4));
  EXPECT_FALSE(open_client_statement(envelope, &before).ok()) << "the old key has not signed";
  ASSERT_TRUE(add_signature(envelope, fixed_key(3)).ok());
  EXPECT_TRUE(open_client_statement(envelope, &before).ok());
  EXPECT_NE(refusal(open_client_statement(envelope, nullptr)).find("only a rotation"), std::string::npos);
  ASSERT_TRUE(add_signature(envelope, fixed_key(5)).ok());
  EXPECT_NE(refusal(open_client_statement(envelope, &other)).find("another key"), std::string::npos);
  const Envelope old_only = *sign_envelope(notice.encode(), fixed_key(3));
  EXPECT_FALSE(open_client_statement(old_only, &before).ok()) << "the new key has not signed";
}

TEST(Statement, IsOpenedByTheKeyThatSignedIt) {
  const Envelope envelope = *sign_envelope(testing::sample_window().encode(), fixed_key(2));
  EXPECT_EQ(*open_statement<WindowNotice>(envelope, fixed_key(2).public_key()), testing::sample_window());
  EXPECT_FALSE(open_statement<WindowNotice>(envelope, fixed_key(3).public_key()).ok());
  EXPECT_FALSE(open_statement<UpdateNotice>(envelope, fixed_key(2).public_key()).ok());
}

TEST(Verdict, ComesBackInEachForm) {
  VerdictNotice registration = testing::sample_verdict(testing::sample_registration());
  VerdictNotice submission = testing::sample_verdict(testing::sample_submission());
  submission.submission = 7;
  submission.window_index = 4;
  submission.curvature_proved = true;
  VerdictNotice rejected = submission;
  rejected.leads_to.reset();
  rejected.rejection = Rejection{Reason::kZeroChallenge, "a detail with \"quotes\" and \xc3\xa9"};
  VerdictNotice update = registration;
  update.of = StatementKind::kUpdate;
  update.starts_from = made_up_digest("start");
  for (const VerdictNotice& verdict : {registration, submission, rejected, update}) {
    const auto again = VerdictNotice::decode(verdict.encode());
    ASSERT_TRUE(again.ok()) << refusal(again);
    EXPECT_EQ(again->encode(), verdict.encode());
    EXPECT_EQ(again->passed(), verdict.passed());
    EXPECT_EQ(again->submission, verdict.submission);
    EXPECT_EQ(again->window_index, verdict.window_index);
    EXPECT_EQ(again->curvature_proved, verdict.curvature_proved);
  }
  EXPECT_EQ(VerdictNotice::decode(rejected.encode())->rejection->reason, Reason::kZeroChallenge);
  const nlohmann::json json = nlohmann::json::parse(text_of(rejected.encode()));
  EXPECT_EQ(json["predicate"]["verificationResult"], "FAILED");
  EXPECT_EQ(json["subject"][0]["digest"]["sha256"], to_hex(rejected.file.sha256));
}

TEST(Verdict, DetailsAreCutBetweenCharacters) {
  VerdictNotice verdict = testing::sample_verdict(testing::sample_submission());
  verdict.leads_to.reset();
  std::string longer = "x";
  for (int k = 0; k < 600; ++k) longer += "\u00e9";
  verdict.rejection = Rejection{Reason::kFile, longer};
  const auto again = VerdictNotice::decode(verdict.encode());
  ASSERT_TRUE(again.ok()) << refusal(again);
  EXPECT_EQ(again->rejection->detail, longer.substr(0, 1023));
}

TEST(Verdict, IsStrict) {
  const VerdictNotice good = testing::sample_verdict(testing::sample_submission());
  const nlohmann::json json = nlohmann::json::parse(text_of(good.encode()));
  for (const auto& [key, value] : json["predicate"].items()) {
    EXPECT_NE(refusal_after(good, [&, k = key](auto& j) { j["predicate"].erase(k); }), "(accepted)") << key;
    EXPECT_NE(refusal_after(good, [&, k = key](auto& j) { j["predicate"][k] = "\n"; }), "(accepted)") << key;
  }
  const auto refused = [&](const char* why, const std::function<void(nlohmann::json&)>& change) {
    EXPECT_NE(refusal_after(good, change).find(why), std::string::npos) << why;
  };
  refused("unknown here", [](auto& j) { j["predicate"]["x"] = 1; });
  refused("unknown here", [](auto& j) { j["predicate"]["reason"] = "file"; });
  refused("unknown here", [](auto& j) { j["predicate"]["file"]["x"] = 1; });
  refused("unknown here", [](auto& j) { j["predicate"]["leadsTo"]["x"] = 1; });
  refused("unknown here", [](auto& j) { j["predicate"]["verifier"]["x"] = 1; });
  refused("unknown here", [](auto& j) { j["predicate"]["verifier"]["version"]["x"] = "1"; });
  refused("PASSED or FAILED", [](auto& j) { j["predicate"]["verificationResult"] = "MAYBE"; });
  refused("has no \"reason\"", [](auto& j) { j["predicate"]["verificationResult"] = "FAILED"; });
  refused("there is no reason", [](auto& j) {
    j["predicate"]["verificationResult"] = "FAILED";
    j["predicate"]["reason"] = "weather";
  });
  refused("nothing that a client hands in", [](auto& j) { j["predicate"]["of"] = "window"; });
  refused("the verifier is", [](auto& j) { j["predicate"]["verifier"]["id"] = "me"; });
  refused("not the client",
          [](auto& j) { j["predicate"]["resourceUri"] = "urn:zkapex:client:" + std::string(32, '0'); });
  refused("proved or assumed", [](auto& j) { j["predicate"]["curvature"] = "hoped"; });
  refused("not what the verdict is about", [](auto& j) { j["subject"][0]["digest"]["sha256"] = std::string(64, '0'); });
  refused("not what the verdict is about", [](auto& j) { j["subject"][0]["name"] = "handed-in.zka"; });
  VerdictNotice registration = testing::sample_verdict(testing::sample_registration());
  EXPECT_NE(refusal_after(registration, [](auto& j) { j["predicate"]["window"] = "w"; }).find("unknown here"),
            std::string::npos);
}

}  // namespace
}  // namespace zkapex
