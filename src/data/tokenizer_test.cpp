#include "data/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "data/pretokenizer.h"
#include "data/unicode.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;
using testing::refusal;
const fs::path kGolden = kTestData / "bpe";

std::vector<std::string> words(std::string_view text) {
  const auto views = split_words(text);
  return {views.begin(), views.end()};
}

void expect_golden(const Tokenizer& tokenizer) {
  const auto cases = read_json(kGolden / "cases.json");
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 9U);
  for (const auto& one : *cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), one["ids"].get<std::vector<TokenId>>()) << text;
    const auto plain = tokenizer.encode(text, Tokenizer::Special::kOmit);
    EXPECT_EQ(plain, one["ids_no_special"].get<std::vector<TokenId>>()) << text;
    EXPECT_EQ(*tokenizer.decode(plain), text);
  }
}

TEST(Unicode, ClassesOfCodePoints) {
  EXPECT_EQ(character_class(U'z'), CharacterClass::kLetter);
  EXPECT_EQ(character_class(U'é'), CharacterClass::kLetter);
  EXPECT_EQ(character_class(U'語'), CharacterClass::kLetter);
  EXPECT_EQ(character_class(U'²'), CharacterClass::kNumber);
  EXPECT_EQ(character_class(U'Ⅳ'), CharacterClass::kNumber);
  EXPECT_EQ(character_class(U'\u3000'), CharacterClass::kSpace);
  EXPECT_EQ(character_class(U'\u200b'), CharacterClass::kOther);  // zero width: not white space
  EXPECT_EQ(character_class(U'🙂'), CharacterClass::kOther);
  EXPECT_EQ(character_class(U'_'), CharacterClass::kOther);
}

TEST(Unicode, MalformedBytesAreTakenOneByOne) {
  const std::string_view overlong("\xC0\xAF", 2), longer("\xE0\x80\xAF", 3), surrogate("\xED\xA0\x80", 3),
      cut = std::string_view("\xE2\x82\xAC", 3).substr(0, 2), broken("\xE2(\xAC", 3), high("\xF5\x80\x80\x80", 4),
      beyond("\xF4\x90\x80\x80", 4);
  for (const std::string_view text : {overlong, longer, surrogate, cut, broken, high, beyond}) {
    EXPECT_EQ(code_point_at(text, 0).code, 0xFFFDU) << text;
    EXPECT_EQ(code_point_at(text, 0).length, 1);
  }
}

TEST(Pretokenizer, CutsAsThePatternDoes) {
  using List = std::vector<std::string>;
  EXPECT_EQ(words("it's I'D"), (List{"it", "'s", " I", "'", "D"}));
  EXPECT_EQ(words("a  b"), (List{"a", " ", " b"}));
  EXPECT_EQ(words("a\n\n b"), (List{"a", "\n\n", " b"}));
  EXPECT_EQ(words("a \tb"), (List{"a", " ", "\t", "b"}));
  EXPECT_EQ(words("x=1;  "), (List{"x", "=", "1", ";", "  "}));
  EXPECT_EQ(words(" \u00a0é²"), (List{" ", "\u00a0", "é", "²"}));
  EXPECT_EQ(words(" "), (List{" "}));
  EXPECT_EQ(words(""), List{});
}

TEST(Pretokenizer, WordsCoverAnyBytes) {
  std::mt19937 random(1);
  const std::string_view alphabet(" \n\tab1'sé\xFF\x80\xE2", 14);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t k = random() % 12; k > 0; --k) text.push_back(alphabet[random() % alphabet.size()]);
    std::string joined;
    for (const auto& word : words(text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    EXPECT_EQ(joined, text);
    EXPECT_EQ(*from_symbols(to_symbols(text)), text);
  }
}

TEST(Pretokenizer, OnlyByteSymbolsStandForBytes) {
  EXPECT_EQ(*from_symbols("Ġa"), " a");
  for (const char* text : {" ", "\n", "語"})
    EXPECT_NE(refusal(from_symbols(text)).find("not written in byte symbols"), std::string::npos) << text;
}

TEST(Tokenizer, MatchesHuggingFaceFromTokenizerJson) {
  const auto tokenizer = Tokenizer::load(kGolden);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_golden(*tokenizer);
}

TEST(Tokenizer, MatchesHuggingFaceFromVocabAndMerges) {
  const TemporaryDirectory directory("vocab_and_merges");
  for (const char* name : {"vocab.json", "merges.txt"}) fs::copy_file(kGolden / name, directory.path() / name);
  const auto tokenizer = Tokenizer::load(directory.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_golden(*tokenizer);
}

TEST(Tokenizer, SavedFilesGiveTheSameTokenizer) {
  const TemporaryDirectory directory("saved_tokenizer");
  ASSERT_TRUE(Tokenizer::load(kGolden)->save(directory.path()).ok());
  expect_golden(*Tokenizer::load(directory.path()));
  fs::remove(directory.path() / "tokenizer.json");
  expect_golden(*Tokenizer::load(directory.path()));
}

TEST(Tokenizer, SpecialTokensInTheText) {
  const auto tokenizer = Tokenizer::load(kGolden);
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = tokenizer->encode("a</s>b<pad>", Tokenizer::Special::kOmit);
  EXPECT_EQ(ids, (std::vector<TokenId>{68, 2, 69, 1}));
  EXPECT_EQ(*tokenizer->decode(ids), "ab");
  EXPECT_FALSE(tokenizer->decode(std::vector<TokenId>{1 << 20}).ok());
}

// The plain rule, as GPT-2's authors wrote it: the best-ranked pair of neighbours, until there is none.
std::vector<std::string> merge_plainly(const Vocabulary& v, std::string_view word) {
  std::vector<std::string> pieces;
  for (const char c : word) pieces.push_back(byte_symbols()[static_cast<uint8_t>(c)]);
  while (true) {
    size_t best = v.merges.size(), where = 0;
    for (size_t k = 0; k + 1 < pieces.size(); ++k) {
      const auto rule = std::ranges::find(v.merges, std::pair{pieces[k], pieces[k + 1]});
      const auto rank = static_cast<size_t>(rule - v.merges.begin());
      if (rank < best) best = rank, where = k;
    }
    if (best == v.merges.size()) return pieces;
    pieces[where] += pieces[where + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

TEST(Tokenizer, HeapMergesAsThePlainRule) {
  const auto tokenizer = Tokenizer::load(kGolden);
  ASSERT_TRUE(tokenizer.ok());
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    std::string word;
    for (size_t k = 1 + random() % 20; k > 0; --k) word.push_back("aeinorst"[random() % 8]);
    std::vector<TokenId> expected;
    for (const auto& piece : merge_plainly(tokenizer->vocabulary(), word)) {
      expected.push_back(tokenizer->vocabulary().ids.at(piece));
    }
    EXPECT_EQ(tokenizer->encode(word, Tokenizer::Special::kOmit), expected) << word;
  }
}

TEST(BpeTrainer, LearnsTheMostFrequentPairFirst) {
  BpeTrainer trainer;
  trainer.add("abab abab abab ab cd");
  BpeTraining options;
  options.size = 4 + 256 + 3;
  const auto tokenizer = trainer.train(options);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  // "ab" is found 7 times; then "Ġ"+"ab" and "ab"+"ab" 3 times each, and "Ġ" has the smaller id; then "Ġab"+"ab" twice.
  using Rule = std::pair<std::string, std::string>;
  const std::vector<Rule> expected = {{"a", "b"}, {"Ġ", "ab"}, {"Ġab", "ab"}};
  EXPECT_EQ(tokenizer->vocabulary().merges, expected);
  EXPECT_EQ(tokenizer->encode("abab abab"), (std::vector<TokenId>{2, 260, 260, 262}));
  EXPECT_EQ(*tokenizer->decode(tokenizer->encode("any bytes \xFF")), "any bytes \xFF");
}

TEST(BpeTrainer, RefusesWhatCannotBe) {
  BpeTrainer empty;
  EXPECT_FALSE(empty.train({}).ok());
  BpeTrainer trainer;
  trainer.add("text");
  BpeTraining options;
  options.size = 100;
  EXPECT_NE(refusal(trainer.train(options)).find("256 bytes"), std::string::npos);
}

TEST(Tokenizer, RefusesFilesOfAnotherKind) {
  const auto good = *read_json(kGolden / "tokenizer.json");
  ASSERT_TRUE(Tokenizer::parse(good).ok());
  const auto message = [&](const char* pointer, const nlohmann::json& value) {
    auto changed = good;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    const auto tokenizer = Tokenizer::parse(changed);
    return tokenizer.ok() ? std::string() : tokenizer.error().message;
  };
  for (const auto& [pointer, value, part] : std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"/normalizer", {{"type", "NFC"}}, "normalizer"},
           {"/pre_tokenizer", {{"type", "Whitespace"}}, "ByteLevel"},
           {"/pre_tokenizer", nullptr, "ByteLevel"},
           {"/pre_tokenizer/use_regex", false, "another pattern"},
           {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix"},
           {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
           {"/model/byte_fallback", true, "byte_fallback"},
           {"/model/ignore_merges", true, "ignore_merges"},
           {"/model/merges/0", "a b c", "merge of two pieces"},
           {"/model/merges/0", {"a", "qqqq"}, "no token 'qqqq'"},
           {"/model/merges/0", {"!", "!"}, "no token '!!'"},
           {"/added_tokens/0/content", "", "an added token is empty"},
           {"/post_processor/special_tokens", nlohmann::json::object(), "unknown special token '</s>'"},
           {"/model/type", "Unigram", "Unigram"},
           {"/model/vocab/!", "one", "not a tokenizer"},
           {"/model/merges/0", "no_space", "merge of two pieces"},
           {"/post_processor", {{"type", "BertProcessing"}}, "BertProcessing"},
           {"/post_processor", {{"type", "RobertaProcessing"}, {"cls", {"a", 99999}}, {"sep", {"a", 0}}}, "99999"}}) {
    EXPECT_NE(message(pointer, value).find(part), std::string::npos) << pointer << ": " << message(pointer, value);
  }
  auto without = good;
  without["model"]["vocab"].erase("!");
  EXPECT_NE(refusal(Tokenizer::parse(without)).find("no token '!'"), std::string::npos);
  VocabularyFiles files{*read_json(kGolden / "vocab.json"), *read_text(kGolden / "merges.txt")};
  ASSERT_TRUE(Tokenizer::parse(files).ok());
  for (auto* file : {&files.config, &files.vocab}) {
    const auto before = std::exchange(*file, nlohmann::json::array({1, 2}));
    EXPECT_FALSE(Tokenizer::parse(files).ok());
    *file = before;
  }
  files.config = {{"added_tokens_decoder", {{"2x", {{"content", "</s>"}}}}}};
  EXPECT_NE(refusal(Tokenizer::parse(files)).find("'2x' is not the id of a token"), std::string::npos);
  files.config = {{"add_bos_token", true}, {"bos_token", "<first>"}};
  EXPECT_NE(refusal(Tokenizer::parse(files)).find("leading token '<first>'"), std::string::npos);
}

TEST(Tokenizer, ErrorsNameTheFile) {
  EXPECT_NE(refusal(Tokenizer::load("no/such/directory")).find("no/such/directory: neither tokenizer.json"),
            std::string::npos);
}

TEST(Tokenizer, TellsOfLongTextsByteByByte) {
  const auto tokenizer = Tokenizer::load(kGolden);
  ASSERT_TRUE(tokenizer.ok());
  std::string text;
  while (text.size() < 500'000) text += "fn main() { println!(\"{}\", 42); }\n";
  size_t done = 0, calls = 0;
  const auto ids = tokenizer->encode(text, Tokenizer::Special::kAdd, [&](size_t bytes) { done += bytes, ++calls; });
  EXPECT_EQ(ids, tokenizer->encode(text));
  EXPECT_EQ(done, text.size());
  EXPECT_GE(calls, text.size() / 100'000);
}

}  // namespace
}  // namespace zkapex
