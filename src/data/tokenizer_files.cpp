// The three ways a GPT-2 tokenizer lies on disk: tokenizer.json; vocab.json with merges.txt; and the configuration
// beside them that says which special tokens lead or end a text.
#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <utility>

#include "data/documents.h"
#include "data/tokenizer.h"

namespace zkapex {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A token is written as its text, or as an object with "content".
std::string token_text(const json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object()) return token.value("content", "");
  return "";
}

Result<AddedToken> added_token(const json& entry, TokenId id) {
  AddedToken out;
  out.id = id;
  ZKAPEX_TRY(out.content, json_value<std::string>(entry, "content"));
  ZKAPEX_TRY(out.special, json_value_or<bool>(entry, "special", true));
  ZKAPEX_TRY(out.strip_left, json_value_or<bool>(entry, "lstrip", false));
  ZKAPEX_TRY(out.strip_right, json_value_or<bool>(entry, "rstrip", false));
  return out;
}

Result<std::pair<std::string, std::string>> merge_rule(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    return error("'{}' is not a merge of two pieces", line);
  }
  return std::pair{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

Status read_byte_level(const json& pre_tokenizer, Vocabulary& v) {
  if (pre_tokenizer.is_null() || pre_tokenizer.value("type", "") != "ByteLevel") {
    return error("only the ByteLevel pre-tokenizer of GPT-2 is supported");
  }
  ZKAPEX_TRY(v.add_prefix_space, json_value_or<bool>(pre_tokenizer, "add_prefix_space", true));
  ZKAPEX_TRY(const bool use_regex, json_value_or<bool>(pre_tokenizer, "use_regex", true));
  if (!use_regex) return error("a ByteLevel pre-tokenizer with another pattern than GPT-2's is not supported");
  return Done{};
}

// TemplateProcessing: special tokens before and after "$A".
Status read_template(const json& processor, Vocabulary& v) {
  bool before = true;
  for (const json& item : processor.value("single", json::array())) {
    if (item.contains("Sequence")) {
      before = false;
      continue;
    }
    const std::string name = item.value("/SpecialToken/id"_json_pointer, "");
    const json& tokens = processor.value("special_tokens", json::object());
    if (!tokens.contains(name)) return error("the template names an unknown special token '{}'", name);
    for (const json& id : tokens[name].value("ids", json::array())) {
      (before ? v.prefix : v.suffix).push_back(id.get<TokenId>());
    }
  }
  return Done{};
}

Status read_one_processor(const json& processor, Vocabulary& v) {
  const std::string type = processor.value("type", "");
  if (type == "ByteLevel") return Done{};  // concerns offsets only
  if (type == "TemplateProcessing") return read_template(processor, v);
  if (type == "RobertaProcessing") {
    v.prefix = {processor.at("cls").at(1).get<TokenId>()};
    v.suffix = {processor.at("sep").at(1).get<TokenId>()};
    return Done{};
  }
  return error("the post-processor '{}' is not supported", type);
}

Status read_post_processor(const json& processor, Vocabulary& v) {
  if (processor.is_null()) return Done{};
  if (processor.value("type", "") != "Sequence") return read_one_processor(processor, v);
  for (const json& part : processor.value("processors", json::array())) ZKAPEX_CHECK(read_one_processor(part, v));
  return Done{};
}

Status read_model(const json& model, Vocabulary& v) {
  if (model.value("type", "BPE") != "BPE") return error("the model is not a BPE but '{}'", model.value("type", ""));
  for (const char* option : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!token_text(model.value(option, json())).empty()) return error("the option '{}' is not supported", option);
  }
  ZKAPEX_TRY(const bool byte_fallback, json_value_or<bool>(model, "byte_fallback", false));
  ZKAPEX_TRY(const bool ignore_merges, json_value_or<bool>(model, "ignore_merges", false));
  if (byte_fallback || ignore_merges) return error("'byte_fallback' and 'ignore_merges' are not supported");
  for (const auto& [piece, id] : model.at("vocab").items()) v.ids.emplace(piece, id.get<TokenId>());
  for (const json& merge : model.at("merges")) {
    if (merge.is_array()) {
      v.merges.emplace_back(merge.at(0).get<std::string>(), merge.at(1).get<std::string>());
    } else {
      ZKAPEX_TRY(auto rule, merge_rule(merge.get<std::string>()));
      v.merges.push_back(std::move(rule));
    }
  }
  return Done{};
}

Result<Vocabulary> read_tokenizer_json(const json& document) {
  Vocabulary v;
  if (!document.value("normalizer", json()).is_null()) return error("a normalizer is not supported");
  ZKAPEX_CHECK(read_model(document.at("model"), v));
  ZKAPEX_CHECK(read_byte_level(document.value("pre_tokenizer", json()), v));
  for (const json& entry : document.value("added_tokens", json::array())) {
    ZKAPEX_TRY(AddedToken token, added_token(entry, entry.at("id").get<TokenId>()));
    v.added.push_back(std::move(token));
  }
  ZKAPEX_CHECK(read_post_processor(document.value("post_processor", json()), v));
  return v;
}

// A vocabulary of OPT's kind ("</s>" with the id 2) leads every text by "</s>" unless the configuration says otherwise.
Status read_special_tokens(const json& config, const json& names, Vocabulary& v) {
  ZKAPEX_TRY(v.add_prefix_space, json_value_or<bool>(config, "add_prefix_space", false));
  std::set<TokenId> known;
  const auto add = [&](AddedToken token) {
    if (!token.content.empty() && known.insert(token.id).second) v.added.push_back(std::move(token));
  };
  const json decoder = config.value("added_tokens_decoder", json::object());
  for (const auto& [id, entry] : decoder.items()) {
    TokenId number = 0;
    const auto [end, code] = std::from_chars(id.data(), id.data() + id.size(), number);
    if (code != std::errc() || end != id.data() + id.size()) return error("'{}' is not the id of a token", id);
    ZKAPEX_TRY(AddedToken token, added_token(entry, number));
    add(std::move(token));
  }
  const bool opt_kind = v.ids.contains("</s>") && v.ids.at("</s>") == 2;
  std::string first = opt_kind ? "</s>" : "";
  for (const json* source : {&names, &config}) {
    for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
      if (!source->contains(role)) continue;
      const std::string text = token_text((*source)[role]);
      if (std::string_view(role) == "bos_token" && !text.empty()) first = text;
      if (v.ids.contains(text)) add({text, v.ids.at(text)});
    }
  }
  if (opt_kind) {
    for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) {
      if (v.ids.contains(token)) add({token, v.ids.at(token)});
    }
  }
  ZKAPEX_TRY(const bool lead, json_value_or<bool>(config, "add_bos_token", opt_kind));
  if (!lead) return Done{};
  if (!v.ids.contains(first)) return error("the leading token '{}' is not in the vocabulary", first);
  v.prefix = {v.ids.at(first)};
  return Done{};
}

Result<Vocabulary> read_vocab_and_merges(const VocabularyFiles& files) {
  Vocabulary v;
  for (const auto& [piece, id] : files.vocab.items()) v.ids.emplace(piece, id.get<TokenId>());
  const std::string_view merges = files.merges;
  bool first = true;
  for (size_t begin = 0; begin < merges.size();) {
    const size_t end = std::min(merges.find('\n', begin), merges.size());
    std::string_view line = merges.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool version = std::exchange(first, false) && line.starts_with("#version");
    if (version || line.empty()) continue;
    auto rule = merge_rule(line);
    if (!rule.ok()) return rule.error().within("merges.txt");
    v.merges.push_back(std::move(*rule));
  }
  ZKAPEX_CHECK(read_special_tokens(files.config, files.special_tokens, v));
  return v;
}

// Members of an unexpected type end the reading by an exception of the JSON library.
Result<Tokenizer> tokenizer_from(const std::function<Result<Vocabulary>()>& read) {
  try {
    ZKAPEX_TRY(Vocabulary vocabulary, read());
    return Tokenizer::make(std::move(vocabulary));
  } catch (const json::exception& e) {
    return error("not a tokenizer: {}", e.what());
  }
}

Result<Tokenizer> load_tokenizer(const fs::path& directory) {
  if (fs::exists(directory / "tokenizer.json")) {
    ZKAPEX_TRY(const json document, read_json(directory / "tokenizer.json"));
    return Tokenizer::parse(document);
  }
  if (!fs::exists(directory / "vocab.json")) return error("neither tokenizer.json nor vocab.json and merges.txt");
  VocabularyFiles files;
  ZKAPEX_TRY(files.vocab, read_json(directory / "vocab.json"));
  ZKAPEX_TRY(files.merges, read_text(directory / "merges.txt"));
  if (fs::exists(directory / "tokenizer_config.json")) {
    ZKAPEX_TRY(files.config, read_json(directory / "tokenizer_config.json"));
  }
  if (fs::exists(directory / "special_tokens_map.json")) {
    ZKAPEX_TRY(files.special_tokens, read_json(directory / "special_tokens_map.json"));
  }
  return Tokenizer::parse(files);
}

json template_processor(const Vocabulary& v) {
  json single = json::array(), tokens = json::object();
  const auto add = [&](TokenId id) {
    const auto token = std::ranges::find(v.added, id, &AddedToken::id);
    const std::string name = token == v.added.end() ? std::to_string(id) : token->content;
    single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
    tokens[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  for (const TokenId id : v.prefix) add(id);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  for (const TokenId id : v.suffix) add(id);
  json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

}  // namespace

Result<Tokenizer> Tokenizer::parse(const json& tokenizer_json) {
  return tokenizer_from([&] { return read_tokenizer_json(tokenizer_json); });
}

Result<Tokenizer> Tokenizer::parse(const VocabularyFiles& files) {
  return tokenizer_from([&] { return read_vocab_and_merges(files); });
}

Result<Tokenizer> Tokenizer::load(const fs::path& directory) {
  auto tokenizer = load_tokenizer(directory);
  if (!tokenizer.ok()) return tokenizer.error().within(directory.string());
  return tokenizer;
}

Status Tokenizer::save(const fs::path& directory) const {
  const Vocabulary& v = vocabulary_;
  json ids = json::object(), merges = json::array(), added = json::array();
  std::string merge_lines = "#version: 0.2\n";
  for (const auto& [piece, id] : v.ids) ids[piece] = id;
  for (const auto& [left, right] : v.merges) {
    merges.push_back({left, right});
    merge_lines += left + " " + right + "\n";
  }
  for (const AddedToken& token : v.added) {
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", token.strip_left},
                     {"rstrip", token.strip_right},
                     {"normalized", false},
                     {"special", token.special}});
  }
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", v.add_prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
  const json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", ids},
                      {"merges", merges}};
  const json document = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added},
                         {"normalizer", nullptr},
                         {"pre_tokenizer", byte_level},
                         {"post_processor", v.prefix.empty() && v.suffix.empty() ? json() : template_processor(v)},
                         {"decoder", byte_level},
                         {"model", model}};
  ZKAPEX_CHECK(write_json(directory / "tokenizer.json", document));
  ZKAPEX_CHECK(write_json(directory / "vocab.json", ids));
  return write_text(directory / "merges.txt", merge_lines);
}

}  // namespace zkapex
