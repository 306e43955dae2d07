// Arbitrary bytes as the files of a tokenizer and as text: never a crash, and text comes back from its tokens.
// A file that is cut by zero bytes is vocab.json, merges.txt, tokenizer_config.json and special_tokens_map.json; one
// that is not is tokenizer.json.
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "data/documents.h"
#include "data/tokenizer.h"

namespace {

using namespace zkapex;

// All bytes and two merges, as learned from a text: what any text can be encoded by.
const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer = [] {
    BpeTrainer trainer;
    trainer.add("the theme of the thesis");
    auto made = trainer.train({.size = 270});
    if (!made.ok()) std::abort();
    return std::move(*made);
  }();
  return tokenizer;
}

std::optional<Tokenizer> read_files(std::string_view files) {
  const size_t cut = files.find('\0');
  if (cut == std::string_view::npos) {
    const auto document = parse_json(files);
    if (!document.ok()) return {};
    auto tokenizer = Tokenizer::parse(*document);
    return tokenizer.ok() ? std::optional(std::move(*tokenizer)) : std::nullopt;
  }
  std::array<std::string_view, 4> parts;
  for (std::string_view& part : parts) {
    const size_t end = std::min(files.find('\0'), files.size());
    part = files.substr(0, end);
    files.remove_prefix(std::min(end + 1, files.size()));
  }
  const auto vocab = parse_json(parts[0]), config = parse_json(parts[2]), special = parse_json(parts[3]);
  if (!vocab.ok() || !config.ok() || !special.ok()) return {};
  auto tokenizer = Tokenizer::parse(VocabularyFiles{*vocab, std::string(parts[1]), *config, *special});
  return tokenizer.ok() ? std::optional(std::move(*tokenizer)) : std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto ids = small_tokenizer().encode(bytes, Tokenizer::Special::kOmit);
  if (!small_tokenizer().decode(ids).ok()) std::abort();
  if (const auto tokenizer = read_files(bytes)) (void)tokenizer->encode("the quick brown fox");
  return 0;
}
