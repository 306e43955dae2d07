#include "data/tokenizer.h"

#include <algorithm>
#include <queue>

#include "data/pretokenizer.h"
#include "data/unicode.h"

namespace zkapex {

namespace {

uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (character_class(point.code) != CharacterClass::kSpace) break;
    at += point.length;
  }
  return at;
}

std::string_view trim_right(std::string_view text) {
  size_t end = 0;  // after the last character that is not white space
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    if (character_class(point.code) != CharacterClass::kSpace) end = at;
  }
  return text.substr(0, end);
}

}  // namespace

Result<Tokenizer> Tokenizer::make(Vocabulary vocabulary) {
  Tokenizer out;
  out.vocabulary_ = std::move(vocabulary);
  const Vocabulary& v = out.vocabulary_;
  const auto id_of = [&](const std::string& piece) -> Result<TokenId> {
    const auto found = v.ids.find(piece);
    if (found == v.ids.end()) return error("the vocabulary has no token '{}'", piece);
    return found->second;
  };

  constexpr TokenId kLargestId = 1 << 24;
  const auto place = [&](const std::string& piece, TokenId id) -> Status {
    if (id < 0 || id >= kLargestId) return error("token '{}' has the id {}, outside of 0..{}", piece, id, kLargestId);
    if (static_cast<size_t>(id) >= out.pieces_.size()) out.pieces_.resize(static_cast<size_t>(id) + 1);
    out.pieces_[static_cast<size_t>(id)] = piece;
    return Done{};
  };
  for (const auto& [piece, id] : v.ids) ZKAPEX_CHECK(place(piece, id));
  for (const AddedToken& token : v.added) {
    if (token.content.empty()) return error("an added token is empty");
    ZKAPEX_CHECK(place(token.content, token.id));
  }
  for (const auto* around : {&v.prefix, &v.suffix}) {
    for (const TokenId id : *around) {
      if (id < 0 || static_cast<size_t>(id) >= out.pieces_.size())
        return error("the special token {} does not exist", id);
    }
  }
  out.special_.assign(out.pieces_.size(), false);
  for (const AddedToken& token : v.added) out.special_[static_cast<size_t>(token.id)] = token.special;

  for (size_t byte = 0; byte < 256; ++byte) {
    ZKAPEX_TRY(out.byte_ids_[byte], id_of(byte_symbols()[byte]));
  }
  int32_t rank = 0;
  for (const auto& [left, right] : v.merges) {
    ZKAPEX_TRY(const TokenId left_id, id_of(left));
    ZKAPEX_TRY(const TokenId right_id, id_of(right));
    ZKAPEX_TRY(const TokenId result, id_of(left + right));
    out.merges_.emplace(pair_key(left_id, right_id), Merge{rank++, result});
  }
  return out;
}

const Tokenizer::Merge* Tokenizer::merge_of(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Merges the pair of lowest rank, the leftmost of equals, until none is left: a heap of candidate pairs over a doubly
// linked list of pieces, O(n log n), so that a long word (a line of '=', text without spaces) costs no more per byte.
std::vector<TokenId> Tokenizer::encode_word(std::string_view word) const {
  struct Piece {
    TokenId id;
    int32_t previous, next;  // -1 at the ends
  };
  struct Candidate {
    int32_t rank, left;
    TokenId left_id, right_id;  // as they were when the pair was seen; stale once either has changed
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  std::vector<Piece> pieces(word.size());
  for (size_t k = 0; k < word.size(); ++k) {
    const auto index = static_cast<int32_t>(k);
    pieces[k] = {byte_ids_[static_cast<uint8_t>(word[k])], index - 1, k + 1 < word.size() ? index + 1 : -1};
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](int32_t left) {
    if (left < 0) return;
    const Piece& a = pieces[static_cast<size_t>(left)];
    if (a.next < 0) return;
    const TokenId right_id = pieces[static_cast<size_t>(a.next)].id;
    if (const Merge* merge = merge_of(a.id, right_id)) queue.push({merge->rank, left, a.id, right_id});
  };
  for (int32_t k = 0; k + 1 < static_cast<int32_t>(pieces.size()); ++k) consider(k);

  constexpr TokenId kMergedAway = -1;
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Piece& left = pieces[static_cast<size_t>(best.left)];
    if (left.id != best.left_id || left.next < 0) continue;
    Piece& right = pieces[static_cast<size_t>(left.next)];
    if (right.id != best.right_id) continue;
    left.id = merge_of(best.left_id, best.right_id)->result;
    left.next = right.next;
    right.id = kMergedAway;
    if (left.next >= 0) pieces[static_cast<size_t>(left.next)].previous = best.left;
    consider(left.previous);
    consider(best.left);
  }
  std::vector<TokenId> out;
  for (const Piece& piece : pieces) {
    if (piece.id != kMergedAway) out.push_back(piece.id);
  }
  return out;
}

void Tokenizer::encode_plain(std::string_view text, WordCache& cache, const Advance& advance,
                             std::vector<TokenId>& out) const {
  constexpr size_t kStep = size_t{1} << 16;  // bytes from one call of `advance` to the next
  size_t done = 0;
  for (const std::string_view word : split_words(text)) {
    auto found = cache.find(word);
    if (found == cache.end()) found = cache.emplace(word, encode_word(word)).first;
    out.insert(out.end(), found->second.begin(), found->second.end());
    done += word.size();
    if (advance && done >= kStep) {
      advance(done);
      done = 0;
    }
  }
  if (advance) advance(done);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, Special special, const Advance& advance) const {
  const Vocabulary& v = vocabulary_;
  std::string prefixed;
  if (v.add_prefix_space && !text.empty() && text.front() != ' ') {
    prefixed.assign(1, ' ').append(text);
    text = prefixed;
  }
  std::vector<TokenId> out;
  if (special == Special::kAdd) out = v.prefix;
  WordCache cache;  // of this text alone: its keys point into it
  size_t plain = 0;
  for (size_t at = 0; at < text.size() && !v.added.empty();) {
    const AddedToken* match = nullptr;  // the longest one here
    for (const AddedToken& token : v.added) {
      if (text.substr(at).starts_with(token.content) && (!match || token.content.size() > match->content.size())) {
        match = &token;
      }
    }
    if (!match) {
      ++at;
      continue;
    }
    std::string_view before = text.substr(plain, at - plain);
    if (match->strip_left) before = trim_right(before);
    encode_plain(before, cache, advance, out);
    out.push_back(match->id);
    at += match->content.size();
    if (match->strip_right) at = skip_space(text, at);
    plain = at;
  }
  encode_plain(text.substr(plain), cache, advance, out);
  if (special == Special::kAdd) out.insert(out.end(), v.suffix.begin(), v.suffix.end());
  return out;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string out;
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= pieces_.size() || pieces_[static_cast<size_t>(id)].empty()) {
      return error("no token has the id {}", id);
    }
    if (special_[static_cast<size_t>(id)]) continue;
    const std::string& piece = pieces_[static_cast<size_t>(id)];
    const bool added = std::ranges::any_of(vocabulary_.added, [&](const AddedToken& t) { return t.id == id; });
    if (added) {
      out += piece;
      continue;
    }
    ZKAPEX_TRY(const std::string bytes, from_symbols(piece));
    out += bytes;
  }
  return out;
}

}  // namespace zkapex
