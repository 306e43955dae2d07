#include <algorithm>
#include <queue>
#include <set>

#include "data/pretokenizer.h"
#include "data/tokenizer.h"
#include "data/unicode.h"

namespace zkapex {

namespace {

using Pair = std::pair<TokenId, TokenId>;

struct Word {
  std::vector<TokenId> pieces;
  int64_t count;
};

// Neighbour counts, and for each pair the words it may be in.
struct PairTable {
  std::map<Pair, int64_t> counts;
  std::map<Pair, std::set<size_t>> places;
};

struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

void count_pairs(const Word& word, size_t index, int64_t sign, PairTable& table, std::set<Pair>* touched) {
  for (size_t k = 0; k + 1 < word.pieces.size(); ++k) {
    const Pair pair{word.pieces[k], word.pieces[k + 1]};
    table.counts[pair] += sign * word.count;
    if (sign > 0) table.places[pair].insert(index);
    if (touched) touched->insert(pair);
  }
}

void merge_in(Word& word, Pair pair, TokenId result) {
  std::vector<TokenId> merged;
  for (size_t k = 0; k < word.pieces.size(); ++k) {
    const bool here = k + 1 < word.pieces.size() && word.pieces[k] == pair.first && word.pieces[k + 1] == pair.second;
    merged.push_back(here ? result : word.pieces[k]);
    if (here) ++k;
  }
  word.pieces = std::move(merged);
}

}  // namespace

void BpeTrainer::add(std::string_view text) {
  for (const std::string_view word : split_words(text)) {
    const auto found = words_.find(word);
    if (found != words_.end()) {
      ++found->second;
    } else {
      words_.emplace(word, 1);
    }
  }
}

Result<Tokenizer> BpeTrainer::train(const BpeTraining& options) const {
  if (words_.empty()) return error("there is no text to learn a vocabulary from");
  if (options.size < options.special_tokens.size() + 256) {
    return error("a vocabulary of {} tokens does not hold the 256 bytes and {} special tokens", options.size,
                 options.special_tokens.size());
  }
  Vocabulary v;
  std::vector<std::string> pieces;
  const auto new_piece = [&](const std::string& piece) {
    const auto id = static_cast<TokenId>(pieces.size());
    pieces.push_back(piece);
    v.ids.emplace(piece, id);
    return id;
  };
  for (const std::string& token : options.special_tokens) {
    const TokenId id = new_piece(token);
    v.added.push_back({token, id});
    if (token == "</s>") v.prefix = {id};
  }
  // The bytes in the order of their symbols' code points.
  std::vector<size_t> bytes(256);
  for (size_t k = 0; k < 256; ++k) bytes[k] = k;
  std::ranges::sort(bytes, {}, [](size_t b) { return code_point_at(byte_symbols()[b], 0).code; });
  std::array<TokenId, 256> byte_ids{};
  for (const size_t b : bytes) byte_ids[b] = new_piece(byte_symbols()[b]);

  std::vector<Word> words;
  PairTable table;
  for (const auto& [text, count] : words_) {
    Word word{{}, count};
    for (const char c : text) word.pieces.push_back(byte_ids[static_cast<uint8_t>(c)]);
    count_pairs(word, words.size(), 1, table, nullptr);
    words.push_back(std::move(word));
  }
  std::priority_queue<Candidate> queue;
  for (const auto& [pair, count] : table.counts) queue.push({count, pair});

  while (pieces.size() < options.size && !queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (best.count != table.counts[best.pair]) continue;  // out of date: a fresh entry was pushed when it changed
    if (best.count < options.min_frequency || best.count <= 0) break;
    const std::string& left = pieces[static_cast<size_t>(best.pair.first)];
    const std::string& right = pieces[static_cast<size_t>(best.pair.second)];
    v.merges.emplace_back(left, right);
    // Two merges may spell the same token; it keeps its first id.
    const std::string spelled = left + right;
    const auto known = v.ids.find(spelled);
    const TokenId result = known != v.ids.end() ? known->second : new_piece(spelled);

    std::set<Pair> touched;
    const std::set<size_t> places = std::move(table.places[best.pair]);
    for (const size_t index : places) {
      count_pairs(words[index], index, -1, table, &touched);
      merge_in(words[index], best.pair, result);
      count_pairs(words[index], index, 1, table, &touched);
    }
    for (const Pair& pair : touched) {
      if (const int64_t count = table.counts[pair]; count > 0) queue.push({count, pair});
    }
    if (options.advance) options.advance();
  }
  return Tokenizer::make(std::move(v));
}

}  // namespace zkapex
