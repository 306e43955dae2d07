// Base64, times, JSON from strangers, keys and envelopes.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/result_testing.h"
#include "log/base64.h"
#include "log/dsse.h"
#include "log/log_testing.h"
#include "log/strict_json.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::refusal;
using testing::TestFolder;

TEST(Base64, GivesBackWhatWasWrittenAndAcceptsNothingElse) {
  EXPECT_EQ(to_base64(view("")), "");
  EXPECT_EQ(to_base64(view("f")), "Zg==");
  EXPECT_EQ(to_base64(view("foob")), "Zm9vYg==");
  EXPECT_EQ(*from_base64("Zm9vYmE="), Bytes({'f', 'o', 'o', 'b', 'a'}));
  EXPECT_EQ(from_base64("")->size(), 0U);
  for (const char* bad : {"Zg", "Zg=", "Zh==", "Zg==\n", " Zg==", "Zm9v-_==", "====", "Z===", "Zg==Zg==", "//\xaf/"})
    EXPECT_FALSE(from_base64(bad).ok()) << bad;
}

TEST(Time, HasOneForm) {
  EXPECT_EQ(to_rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(1'795'048'112), "2026-11-19T00:28:32Z");
  EXPECT_EQ(*from_rfc3339("2026-11-19T00:28:32Z"), 1'795'048'112);
  EXPECT_EQ(*from_rfc3339("2024-02-29T23:59:59Z"), 1'709'251'199);
  EXPECT_EQ(to_rfc3339(-5), to_rfc3339(0));
  EXPECT_EQ(to_rfc3339(int64_t{1} << 60), "9999-12-31T23:59:59Z");
  for (const char* bad :
       {"", "2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01 00:00:00Z", "2026-01-01T00:00:00z", "1969-12-31T23:59:59Z", "2026-01-01T00:00:0-Z",
        "2026-01-01T00:00:00Z ", "2026-1-01T00:00:000Z"})
    EXPECT_FALSE(from_rfc3339(bad).ok()) << bad;
}

TEST(StrictJson, RefusesWhatReadersDisagreeAbout) {
  EXPECT_TRUE(parse_strict_json(R"({"a": {"b": 1}, "b": [1, {"a": 2}]})").ok());
  EXPECT_NE(refusal(parse_strict_json(R"({"a": 1, "a": 2})")).find("twice"), std::string::npos);
  EXPECT_NE(refusal(parse_strict_json(R"({"x": {"a": 1, "b": 2, "a": 3}})")).find("twice"), std::string::npos);
  EXPECT_TRUE(parse_strict_json(std::string(16, '[') + std::string(16, ']')).ok());
  EXPECT_NE(refusal(parse_strict_json(std::string(17, '[') + std::string(17, ']'))).find("levels"), std::string::npos);
  for (const char* bad : {"", "{", "{} x", "{'a': 1}", "{\"a\": \"\xff\"}", "nul"})
    EXPECT_EQ(refusal(parse_strict_json(bad)), "this is no valid JSON") << bad;
}

TEST(StrictJson, FieldsHaveTypesAndNoneIsLeft) {
  const nlohmann::json json = *parse_strict_json(
      R"({"t": "text", "n": 7, "f": 1.5, "neg": -1, "big": 9007199254740993, "b": true, "d": "00", "ctl": "a\nb",
          "time": "2026-01-01T00:00:00Z"})");
  JsonObject object = *JsonObject::open(json, "it");
  EXPECT_EQ(*object.text("t", 4), "text");
  EXPECT_NE(refusal(object.text("t", 3)).find("more than 3 bytes"), std::string::npos);
  EXPECT_NE(refusal(object.text("n", 9)).find("is no text"), std::string::npos);
  EXPECT_EQ(*object.number("n"), 7U);
  for (const char* key : {"t", "f", "neg", "big"})
    EXPECT_NE(refusal(object.number(key)).find("no integer"), std::string::npos);
  EXPECT_TRUE(*object.truth("b"));
  EXPECT_NE(refusal(object.truth("n")).find("neither"), std::string::npos);
  EXPECT_NE(refusal(object.digest("d")).find("hexadecimal"), std::string::npos);
  EXPECT_NE(refusal(object.name("ctl")).find("control"), std::string::npos);
  EXPECT_EQ(*object.time("time"), 1'767'225'600);
  EXPECT_NE(refusal(object.time("t")).find("form"), std::string::npos);
  EXPECT_EQ(refusal(object.value("absent")), "it has no \"absent\"");
  EXPECT_TRUE(object.finish().ok());
  JsonObject again = *JsonObject::open(json, "it");
  EXPECT_NE(refusal(again.finish()).find("unknown here"), std::string::npos);
  EXPECT_EQ(refusal(JsonObject::open(json["t"], "it")), "it is no JSON object");
}

TEST(StrictJson, DigestsAreLowerCase) {
  const std::string hex(64, 'a');
  EXPECT_TRUE(digest_from_hex(hex).ok());
  EXPECT_FALSE(digest_from_hex(std::string(64, 'A')).ok());
  EXPECT_FALSE(digest_from_hex(hex.substr(2)).ok());
  EXPECT_FALSE(digest_from_hex(hex.substr(1) + "g").ok());
}

TEST(Keys, SignAndVerify) {
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::kEd25519, KeyAlgorithm::kP256}) {
    const SigningKey key = *SigningKey::generate(algorithm), other = *SigningKey::generate(algorithm);
    const Bytes signature = *key.sign(view("message"));
    EXPECT_TRUE(key.public_key().verifies(view("message"), signature));
    EXPECT_FALSE(key.public_key().verifies(view("Message"), signature));
    EXPECT_FALSE(other.public_key().verifies(view("message"), signature));
    EXPECT_FALSE(key.public_key().verifies(view("message"), {}));
    EXPECT_FALSE(key.public_key().verifies(view("message"), ByteView(signature).first(signature.size() - 1)));
    Bytes longer = signature;
    longer.push_back(0);
    EXPECT_FALSE(key.public_key().verifies(view("message"), longer));
    EXPECT_EQ(*PublicKey::from_spki(key.public_key().spki()), key.public_key());
    EXPECT_EQ(key.public_key().algorithm(), algorithm);
    EXPECT_NE(key.public_key().pem().find("BEGIN PUBLIC KEY"), std::string::npos);
  }
}

TEST(Keys, Ed25519OfRfc8032) {
  const Bytes seed = *from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const SigningKey key = *SigningKey::from_seed(seed);
  EXPECT_EQ(to_hex(key.public_key().raw()), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(to_hex(*key.sign({})).substr(0, 32), "e5564300c360ac729086e2cc806e828a");
  EXPECT_FALSE(SigningKey::from_seed(ByteView(seed).first(31)).ok());
}

TEST(Keys, KeysOfSmallOrderVerifyNothing) {
  Bytes identity(32, 0);
  identity[0] = 1;
  const PublicKey key = *PublicKey::from_ed25519(identity);
  Bytes signature(64, 0);  // R = identity, S = 0: holds for every message where nobody looks
  signature[0] = 1;
  EXPECT_FALSE(key.verifies(view("anything"), signature));
}

TEST(Keys, OnlyTheOneEncoding) {
  const SigningKey key = *SigningKey::generate(KeyAlgorithm::kP256);
  Bytes spki = key.public_key().spki();
  spki.back() ^= 1;
  EXPECT_EQ(refusal(PublicKey::from_spki(spki)), "this public key is no point of P-256");
  spki.push_back(0);
  EXPECT_NE(refusal(PublicKey::from_spki(spki)).find("no public key of"), std::string::npos);
  EXPECT_FALSE(PublicKey::from_spki({}).ok());
  Bytes short_key = fixed_key(1).public_key().spki();
  short_key.pop_back();
  EXPECT_NE(refusal(PublicKey::from_spki(short_key)).find("32 bytes"), std::string::npos);
}

TEST(Keys, FilesAreForTheirOwner) {
  const TestFolder folder("keys");
  const Path file = folder.path() / "key.pem";
  for (const KeyAlgorithm algorithm : {KeyAlgorithm::kEd25519, KeyAlgorithm::kP256}) {
    const SigningKey key = *SigningKey::generate(algorithm);
    ASSERT_TRUE(key.write(file).ok());
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_FALSE(key.write(file).ok()) << "a key is never replaced";
    const Result<SigningKey> again = SigningKey::read(file);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->public_key(), key.public_key());
    ::chmod(file.c_str(), 0640);
    EXPECT_NE(refusal(SigningKey::read(file)).find("chmod 600"), std::string::npos);
    std::filesystem::remove(file);
  }
  ASSERT_TRUE(write_file(file, view("no key"), {.secret = true}).ok());
  EXPECT_NE(refusal(SigningKey::read(file)).find("no secret key"), std::string::npos);
  EXPECT_FALSE(SigningKey::read(folder.path() / "none").ok());
}

Envelope sample_envelope() { return *sign_envelope(Bytes({'{', '}'}), fixed_key(1)); }

TEST(Envelope, OneLineThatComesBack) {
  const Envelope envelope = sample_envelope();
  const std::string text = envelope.encode();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(*Envelope::decode(text), envelope);
  EXPECT_EQ(*Envelope::decode("\n" + nlohmann::json::parse(text).dump(2) + "\n"), envelope) << "any JSON of it";
}

TEST(Envelope, SignedBytesAreDssePae) {
  const Bytes message = pre_authentication_encoding(view("hello"));
  EXPECT_EQ(std::string(message.begin(), message.end()), "DSSEv1 28 application/vnd.in-toto+json 5 hello");
}

TEST(Envelope, IsOfWhoSignedIt) {
  Envelope envelope = sample_envelope();
  EXPECT_TRUE(verify_envelope(envelope, fixed_key(1).public_key()).ok());
  EXPECT_NE(refusal(verify_envelope(envelope, fixed_key(2).public_key())).find("not signed by"), std::string::npos);
  ASSERT_TRUE(add_signature(envelope, fixed_key(2)).ok());
  EXPECT_TRUE(verify_envelope(envelope, fixed_key(2).public_key()).ok());
  envelope.signatures[0].keyid = "whatever";
  EXPECT_TRUE(verify_envelope(envelope, fixed_key(1).public_key()).ok()) << "the keyid decides nothing";
  envelope.payload.push_back(' ');
  EXPECT_FALSE(verify_envelope(envelope, fixed_key(1).public_key()).ok());
}

TEST(Envelope, RefusesOtherForms) {
  const nlohmann::json good = nlohmann::json::parse(sample_envelope().encode());
  const auto refused = [&](auto change, const std::string& why) {
    nlohmann::json json = good;
    change(json);
    EXPECT_NE(refusal(Envelope::decode(json.dump())).find(why), std::string::npos) << json;
  };
  refused([](auto& j) { j["payloadType"] = "text/plain"; }, "payload is \"text/plain\"");
  refused([](auto& j) { j["payload"] = "e30"; }, "no base64");
  refused([](auto& j) { j["extra"] = 1; }, "unknown here");
  refused([](auto& j) { j["signatures"] = nlohmann::json::array(); }, "1 to 4 signatures");
  refused([](auto& j) { j["signatures"] = 5; }, "1 to 4 signatures");
  refused(
      [](auto& j) {
        for (int k = 0; k < 4; ++k) j["signatures"].push_back(j["signatures"][0]);
      },
      "1 to 4 signatures");
  refused([](auto& j) { j["signatures"][0]["more"] = 1; }, "unknown here");
  refused([](auto& j) { j["signatures"][0]["sig"] = "?"; }, "no base64");
  refused([](auto& j) { j.erase("payload"); }, "has no \"payload\"");
  EXPECT_NE(refusal(Envelope::decode(std::string(65'536, ' '))).find("at most 65535 bytes"), std::string::npos);
  nlohmann::json without = good;
  without["signatures"][0].erase("keyid");
  EXPECT_TRUE(Envelope::decode(without.dump()).ok()) << "keyid is optional";
}

}  // namespace
}  // namespace zkapex
