// Signed notes, checkpoints, policies, and what witnesses answer.
#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "log/base64.h"
#include "log/log_testing.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::refusal;
using testing::TestWitness;
using testing::witness_key;

// The example of C2SP's specification.
constexpr std::string_view kExampleKey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
constexpr std::string_view kExampleNote =
    "This is an example message.\n\n\u2014 example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";

TEST(Note, TheExampleOfTheSpecification) {
  const NoteKey key = *NoteKey::parse(kExampleKey);
  EXPECT_EQ(key.vkey(), kExampleKey);
  const Note note = *Note::parse(kExampleNote);
  EXPECT_EQ(note.encode(), kExampleNote);
  EXPECT_EQ(note.text, "This is an example message.\n");
  const auto verified = verify_note(note, {&key, 1});
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->size(), 1U);
}

TEST(Note, OtherKeysAreIgnoredAndAFalseSignatureCondemns) {
  const NoteKey first = log_key("a.example", fixed_key(1)), second = log_key("b.example", fixed_key(2));
  Note note{.text = "text\n", .signatures = {*sign_note("text\n", "a.example", fixed_key(1))}};
  EXPECT_TRUE(verify_note(note, {&second, 1})->empty());
  const NoteKey same_name = log_key("a.example", fixed_key(3));
  const auto by_other_key = verify_note(note, {&same_name, 1});
  ASSERT_TRUE(by_other_key.ok()) << "one name, another key";
  EXPECT_TRUE(by_other_key->empty());
  note.signatures.push_back(*sign_note("text\n", "a.example", fixed_key(1)));
  EXPECT_EQ(verify_note(note, {&first, 1})->size(), 1U) << "each key once";
  note.signatures[1].signature[5] ^= 1;
  EXPECT_NE(refusal(verify_note(note, {&first, 1})).find("false signature"), std::string::npos);
  EXPECT_TRUE(verify_note(note, {&second, 1}).ok());
  note.signatures.pop_back();
  note.text = "other\n";
  EXPECT_FALSE(verify_note(note, {&first, 1}).ok());
}

TEST(Note, RefusesOtherForms) {
  const std::string line(kExampleNote.substr(kExampleNote.find("\u2014")));
  EXPECT_TRUE(Note::parse("a\n\nb\n\n" + line).ok()) << "empty lines in the text";
  EXPECT_NE(refusal(Note::parse("text\n" + line)).find("empty line"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n")).find("no signature"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n" + line.substr(0, line.size() - 1))).find("newline"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("te\txt\n\n" + line)).find("control"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("te\xfft\n\n" + line)).find("UTF-8"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n- example.com/foo AAAAAAA=\n")).find("has the form"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n\u2014 example.com/foo\n")).find("has the form"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n\u2014 example.com/foo AAAAAA==\n")).find("has the form"), std::string::npos)
      << "four bytes are a key id alone";
  EXPECT_NE(refusal(Note::parse("text\n\n\u2014 a+b AAAAAAA=\n")).find("plus sign"), std::string::npos);
  EXPECT_NE(refusal(Note::parse("text\n\n\u2014 a\u2003b AAAAAAA=\n")).find("spaces"), std::string::npos);
  std::string many = "text\n\n";
  for (int k = 0; k < 64; ++k) many += line;
  EXPECT_TRUE(Note::parse(many).ok());
  EXPECT_NE(refusal(Note::parse(many + line)).find("at most 64"), std::string::npos);
  EXPECT_NE(refusal(Note::parse(std::string(65'537, 'a'))).find("at most 65536"), std::string::npos);
}

TEST(NoteKey, RefusesOtherForms) {
  const std::string good(kExampleKey);
  EXPECT_NE(refusal(NoteKey::parse("example.com/foo+530d903b" + good.substr(24))).find("another key id"),
            std::string::npos);
  EXPECT_NE(refusal(NoteKey::parse("example.com/fop" + good.substr(15))).find("another key id"), std::string::npos);
  EXPECT_FALSE(NoteKey::parse("example.com/foo+530d903a").ok());
  EXPECT_FALSE(NoteKey::parse("example.com/foo").ok());
  EXPECT_FALSE(NoteKey::parse("").ok());
  Bytes other_type{0x02};
  other_type.insert(other_type.end(), 32, 1);
  EXPECT_NE(refusal(NoteKey::parse("a+00000000+" + to_base64(other_type))).find("has the form"), std::string::npos);
  EXPECT_NE(refusal(NoteKey::parse("a+00000000+" + to_base64(Bytes(20, 1)))).find("has the form"), std::string::npos);
  EXPECT_FALSE(NoteKey::make("a b", NoteKeyType::kLog, fixed_key(1).public_key()).ok());
  const SigningKey p256 = *SigningKey::generate(KeyAlgorithm::kP256);
  EXPECT_NE(refusal(NoteKey::make("a", NoteKeyType::kLog, p256.public_key())).find("Ed25519"), std::string::npos);
}

TEST(Cosignature, BindsTheTime) {
  const NoteKey key = witness_key("w.example", fixed_key(5));
  Note note{.text = "o\n", .signatures = {*cosign_note("o\n", "w.example", fixed_key(5), 1'679'315'147)}};
  EXPECT_EQ(verify_note(note, {&key, 1})->at(0).time, 1'679'315'147);
  note.signatures[0].signature[7] ^= 1;
  EXPECT_FALSE(verify_note(note, {&key, 1}).ok());
  note.signatures[0].signature.resize(7);
  EXPECT_FALSE(verify_note(note, {&key, 1}).ok());
  note.signatures = {*cosign_note("o\n", "w.example", fixed_key(5), -1)};
  EXPECT_FALSE(verify_note(note, {&key, 1}).ok()) << "beyond 2^63 - 1";
  // A log's signature with a witness's key id, and the other way round.
  note.signatures = {*sign_note("o\n", "w.example", fixed_key(5))};
  EXPECT_TRUE(verify_note(note, {&key, 1})->empty());
}

TEST(Checkpoint, HasOneForm) {
  const TreeHead head{.origin = "example.com/log", .size = 12, .root = leaf_hash(view("x"))};
  EXPECT_EQ(*TreeHead::parse(head.text()), head);
  EXPECT_EQ(*TreeHead::parse(head.text() + "more\n"), head);
  const std::string root = to_base64(head.root);
  for (const std::string& bad : {std::string("example.com/log\n12\n"), "example.com/log\n012\n" + root + "\n",
                                 "example.com/log\n-1\n" + root + "\n", "example.com/log\n+1\n" + root + "\n",
                                 "example.com/log\n9223372036854775808\n" + root + "\n", "\n12\n" + root + "\n",
                                 "example.com/log\n12\n" + root.substr(4) + "\n", "example.com/log\n12\n" + root})
    EXPECT_NE(refusal(TreeHead::parse(bad)).find("origin, size and root"), std::string::npos) << bad;
  EXPECT_NE(refusal(TreeHead::parse(head.text() + "\n")).find("empty lines"), std::string::npos);
  EXPECT_NE(refusal(TreeHead::parse("a\n0\n" + root + "\n")).find("empty log"), std::string::npos);
}

TEST(Checkpoint, IsOfTheLogThatSignedIt) {
  const TreeHead head{.origin = "example.com/log", .size = 12, .root = leaf_hash(view("x"))};
  const Note note = *sign_checkpoint(head, fixed_key(1));
  EXPECT_EQ(*open_checkpoint(note, log_key("example.com/log", fixed_key(1))), head);
  EXPECT_NE(refusal(open_checkpoint(note, log_key("example.com/log", fixed_key(2)))).find("not signed"),
            std::string::npos);
  // A key of that name signs for another origin.
  Note foreign{.text = TreeHead{"other.example", 12, head.root}.text(), .signatures = {}};
  foreign.signatures.push_back(*sign_note(foreign.text, "example.com/log", fixed_key(1)));
  EXPECT_NE(refusal(open_checkpoint(foreign, log_key("example.com/log", fixed_key(1)))).find("checkpoint of"),
            std::string::npos);
  // A witness is no log.
  Note cosigned{.text = head.text(), .signatures = {*cosign_note(head.text(), "example.com/log", fixed_key(1), 5)}};
  EXPECT_NE(refusal(open_checkpoint(cosigned, witness_key("example.com/log", fixed_key(1)))).find("not signed"),
            std::string::npos);
}

std::string vkey_of_log(uint8_t seed = 1) { return log_key("example.com/log", fixed_key(seed)).vkey(); }
std::string vkey_of_witness(int number) {
  return witness_key(fmt::format("w{}.example", number), fixed_key(static_cast<uint8_t>(10 + number))).vkey();
}

std::string two_levels() {
  std::string out = "# a policy\nlog " + vkey_of_log() + " https://log.example/\n\n";
  for (int k = 1; k <= 5; ++k) out += fmt::format(" witness\tW{} {}\n", k, vkey_of_witness(k));
  return out + "group X 2 W1 W2 W3\ngroup Y any W4 W5\ngroup Z all X Y\nquorum Z\n";
}

Note cosigned_by(const std::vector<int>& witnesses) {
  Note out = *sign_checkpoint({.origin = "example.com/log", .size = 1, .root = leaf_hash(view("x"))}, fixed_key(1));
  for (const int k : witnesses)
    out.signatures.push_back(
        *cosign_note(out.text, fmt::format("w{}.example", k), fixed_key(static_cast<uint8_t>(10 + k)), 9));
  return out;
}

TEST(Policy, AsksForItsQuorum) {
  const Policy policy = *Policy::parse(two_levels());
  EXPECT_EQ(policy.logs()[0].url, "https://log.example/");
  EXPECT_EQ(policy.witnesses().size(), 5U);
  EXPECT_EQ(Policy::parse(policy.text())->text(), policy.text());
  EXPECT_EQ(policy.open(cosigned_by({1, 3, 5}))->seen_by.size(), 3U);
  for (const std::vector<int>& few : {std::vector<int>{}, {1, 2}, {1, 4, 5}, {4, 5}})
    EXPECT_NE(refusal(policy.open(cosigned_by(few))).find("too few witnesses"), std::string::npos);
  Note twice = cosigned_by({1, 1, 4});
  EXPECT_FALSE(policy.open(twice).ok()) << "one witness counts once";
  Note bad = cosigned_by({1, 2, 4});
  bad.signatures.back().signature.back() ^= 1;
  EXPECT_NE(refusal(policy.open(bad)).find("false signature"), std::string::npos);
}

TEST(Policy, WithoutWitnessesTheLogIsEnough) {
  const Policy policy = *Policy::parse("log " + vkey_of_log() + "\nquorum none\n");
  EXPECT_EQ(policy.open(cosigned_by({}))->checkpoint.size, 1U);
  EXPECT_EQ(Policy::of_log(policy.logs()[0].key).text(), policy.text());
  const Policy other = *Policy::parse("log " + vkey_of_log(2) + "\nquorum none\n");
  EXPECT_NE(refusal(other.open(cosigned_by({}))).find("no log of the policy"), std::string::npos);
  const Policy one = *Policy::parse("log " + vkey_of_log() + "\nwitness a " + vkey_of_witness(1) + "\nquorum a\n");
  EXPECT_TRUE(one.open(cosigned_by({1})).ok());
  EXPECT_FALSE(one.open(cosigned_by({2})).ok());
}

TEST(Policy, RefusesOtherForms) {
  const std::string log = "log " + vkey_of_log() + "\n", one = "witness a " + vkey_of_witness(1) + "\n",
                    two = "witness b " + vkey_of_witness(2) + "\n", end = "quorum none\n";
  const std::pair<std::string, std::string> cases[] = {
      {log, "no quorum line"},
      {log + end + end, "two quorum lines"},
      {log + "quorum a\n" + one, "no witness and no group"},
      {log + log + end, "twice"},
      {one + "witness b " + vkey_of_witness(1) + "\n" + end, "twice"},
      {one + "witness a " + vkey_of_witness(2) + "\n" + end, "is taken"},
      {"witness none " + vkey_of_witness(2) + "\n" + end, "is taken"},
      {one + two + "group g 3 a b\n" + end, "from 1 to 2"},
      {one + two + "group g 0 a b\n" + end, "from 1 to 2"},
      {one + two + "group g 01 a b\n" + end, "from 1 to 2"},
      {one + "group g all\n" + end, "a group's line"},
      {one + two + "group g any a a\n" + end, "member twice"},
      {one + two + "group g any a b\ngroup h any a\n" + end, "member twice"},
      {one + "group g any g\n" + end, "no witness and no group"},
      {"log " + vkey_of_witness(1) + "\n" + end, "not one of a log"},
      {"witness a " + vkey_of_log() + "\n" + end, "not one of a witness"},
      {"log\n" + end, "a log's line"},
      {"witness a\n" + end, "a witness's line"},
      {"quorum\n", "the quorum's line"},
      {"hello\n" + end, "not with log"},
      {log + "quorum none", "does not end"},
      {log + "qu\rorum none\n", "control character"},
      {std::string(65'537, '\n'), "at most 65536"}};
  for (const auto& [text, why] : cases) EXPECT_NE(refusal(Policy::parse(text)).find(why), std::string::npos) << text;
  std::string many;
  for (int k = 1; k <= 65; ++k)
    many += "log " + log_key(fmt::format("l{}", k), fixed_key(static_cast<uint8_t>(k))).vkey() + "\n";
  EXPECT_NE(refusal(Policy::parse(many + end)).find("more than 64 logs"), std::string::npos);
  std::string groups = one;
  for (int k = 0; k < 128; ++k)
    groups += fmt::format("group g{} any {}\n", k, k == 0 ? "a" : fmt::format("g{}", k - 1));
  EXPECT_NE(refusal(Policy::parse(groups + end)).find("more than 128"), std::string::npos);
}

class NoTiles : public TileSource {
  Result<std::optional<Bytes>> read(const std::string&, size_t) override { return std::optional<Bytes>(); }
};

class WitnessTest : public ::testing::Test {
 protected:
  // What comes of a witness that answers so.
  WitnessAnswer with(const std::vector<HttpAnswer>& answers, uint64_t known = 1) {
    bodies_.clear();
    const HttpPost post = [&](const std::string&, const std::string& body) -> Result<HttpAnswer> {
      bodies_.push_back(body);
      if (bodies_.size() > answers.size()) return error("nobody answers");
      return answers[bodies_.size() - 1];
    };
    return *ask_witness(witness_.address(), known, checkpoint_, tiles_, post);
  }

  NoTiles tiles_;
  Note checkpoint_ = cosigned_by({});
  TestWitness witness_{"w1.example", 11, log_key("example.com/log", fixed_key(1))};
  std::vector<std::string> bodies_;
};

TEST_F(WitnessTest, GivesItsCosignature) {
  witness_.size = 1;
  witness_.root = leaf_hash(view("x"));
  const std::string good = witness_.answer("old 1\n\n" + checkpoint_.encode()).body;
  EXPECT_EQ(with({{200, good}}).cosignatures.size(), 1U);
  EXPECT_EQ(bodies_[0], "old 1\n\n" + checkpoint_.encode());
  const std::string other = TestWitness("w2.example", 12, log_key("example.com/log", fixed_key(1)))
                                .answer("old 0\n\n" + checkpoint_.encode())
                                .body;
  EXPECT_EQ(with({{200, other + good}}).cosignatures.size(), 1U) << "others in the answer are passed over";
  EXPECT_NE(with({{200, other}}).trouble.find("no cosignature"), std::string::npos);
  EXPECT_NE(with({{200, "hello"}}).trouble.find("newline"), std::string::npos);
  std::string bad = good;
  bad[bad.size() - 10] = bad[bad.size() - 10] == 'A' ? 'B' : 'A';
  const WitnessAnswer answer = with({{200, bad}});
  EXPECT_EQ(answer.trouble, "its cosignature is false");
  EXPECT_TRUE(answer.cosignatures.empty());
}

TEST_F(WitnessTest, SaysWhatItHasSeen) {
  const std::string good = witness_.answer("old 0\n\n" + checkpoint_.encode()).body;
  EXPECT_EQ(with({{409, "0\n"}, {200, good}}).cosignatures.size(), 1U);
  EXPECT_EQ(bodies_[1], "old 0\n\n" + checkpoint_.encode());
  EXPECT_EQ(with({{409, "7\n"}}).ahead, 7U);
  EXPECT_EQ(bodies_.size(), 1U);
  EXPECT_EQ(with({{409, "0\n"}, {409, "5\n"}}).ahead, 5U);
  EXPECT_EQ(with({}, 2).ahead, 2U);
  EXPECT_NE(with({{409, "many\n"}}).trouble.find("409"), std::string::npos);
  EXPECT_NE(with({{409, "1\n"}}).trouble.find("409"), std::string::npos);
  EXPECT_EQ(bodies_.size(), 1U) << "the same question is not asked again";
  EXPECT_TRUE(with({{422, ""}}).forked);
  EXPECT_FALSE(with({{404, ""}}).forked);
  EXPECT_NE(with({{404, ""}}).trouble.find("404"), std::string::npos);
  EXPECT_EQ(with({}).trouble, "nobody answers");
}

}  // namespace
}  // namespace zkapex
