// GPT-2's byte-level BPE, as OPT uses it, from the files that Hugging Face writes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace zkapex {

using TokenId = int32_t;

// A token that is looked for in the text itself, before words are cut.
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = true;
  bool strip_left = false, strip_right = false;  // white space beside it belongs to it
};

// What a tokenizer is made of. Pieces are in byte symbols (pretokenizer.h).
struct Vocabulary {
  std::unordered_map<std::string, TokenId> ids;
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
  std::vector<AddedToken> added;
  std::vector<TokenId> prefix, suffix;  // special tokens around an encoded text
  bool add_prefix_space = false;
};

// The older files: vocab.json and merges.txt, and beside them tokenizer_config.json and special_tokens_map.json, which
// may be missing (empty objects).
struct VocabularyFiles {
  nlohmann::json vocab;
  std::string merges;
  nlohmann::json config = nlohmann::json::object(), special_tokens = nlohmann::json::object();
};

class Tokenizer {
 public:
  // Refuses a vocabulary without all 256 byte symbols, or merges or special tokens that it does not hold.
  static Result<Tokenizer> make(Vocabulary vocabulary);
  static Result<Tokenizer> parse(const nlohmann::json& tokenizer_json);
  static Result<Tokenizer> parse(const VocabularyFiles& files);
  // A directory with tokenizer.json, or with vocab.json and merges.txt (and, if there, tokenizer_config.json).
  static Result<Tokenizer> load(const std::filesystem::path& directory);
  // Writes tokenizer.json, vocab.json and merges.txt.
  [[nodiscard]] Status save(const std::filesystem::path& directory) const;

  enum class Special { kAdd, kOmit };
  // `advance` is told now and then how many more bytes of the text are done.
  using Advance = std::function<void(size_t bytes)>;
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, Special special = Special::kAdd,
                                            const Advance& advance = {}) const;
  // The bytes of the ids; special tokens are left out. An id that does not exist is an error.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  // One more than the largest id.
  [[nodiscard]] size_t size() const { return pieces_.size(); }

 private:
  struct Merge {
    int32_t rank;
    TokenId result;
  };
  struct PairHash {
    size_t operator()(uint64_t pair) const { return static_cast<size_t>((pair * 0x9E3779B97F4A7C15ULL) >> 17); }
  };
  using WordCache = std::unordered_map<std::string_view, std::vector<TokenId>>;

  void encode_plain(std::string_view text, WordCache& cache, const Advance& advance, std::vector<TokenId>& out) const;
  [[nodiscard]] std::vector<TokenId> encode_word(std::string_view word) const;
  [[nodiscard]] const Merge* merge_of(TokenId left, TokenId right) const;

  Vocabulary vocabulary_;
  std::array<TokenId, 256> byte_ids_{};
  std::unordered_map<uint64_t, Merge, PairHash> merges_;
  std::vector<std::string> pieces_;  // by id; empty where no token has the id
  std::vector<bool> special_;        // by id
};

// Learns a vocabulary of `size` tokens: the special tokens first, then the 256 bytes, then merges of the most frequent
// neighbours (of equally frequent ones, the pair of smaller ids), none less frequent than `min_frequency`.
// OPT's way to encode: the first special token named "</s>" leads every text.
struct BpeTraining {
  size_t size = 8192;
  int64_t min_frequency = 2;
  std::vector<std::string> special_tokens = {"<s>", "<pad>", "</s>", "<unk>"};
  std::function<void()> advance = {};  // told after each merge
};

class BpeTrainer {
 public:
  void add(std::string_view text);  // may be called for any number of texts
  [[nodiscard]] Result<Tokenizer> train(const BpeTraining& options) const;

 private:
  std::map<std::string, int64_t, std::less<>> words_;  // ordered, so that training does not depend on hashing
};

}  // namespace zkapex
