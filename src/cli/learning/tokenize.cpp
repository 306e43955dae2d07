// zkapex tokenize
#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "cli/learning/common.h"
#include "data/tokenizer.h"

namespace zkapex::cli {

namespace {

struct TokenizeFlags {
  path tokenizer;
  bool no_special = false;
  CommonFlags common;
};

Result<Outcome> run_tokenize(const TokenizeFlags& flags) {
  ZKAPEX_TRY(const Tokenizer tokenizer, Tokenizer::load(flags.tokenizer));
  const std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const auto special = flags.no_special ? Tokenizer::Special::kOmit : Tokenizer::Special::kAdd;
  std::vector<TokenId> ids;
  {
    Progress progress(flags.common.progress_style(), "tokenize", "bytes", text.size());
    ids = tokenizer.encode(text, special, [&](size_t bytes) { progress.advance(bytes); });
  }
  fmt::print("{}\n", flags.common.json ? nlohmann::json{{"ids", ids}}.dump() : nlohmann::json(ids).dump());
  return Outcome::kDone;
}

}  // namespace

void add_tokenize(Command parent, Action& action) {
  const auto flags = std::make_shared<TokenizeFlags>();
  const Command command = parent.add_command(kTokenize.name, kTokenize.about);
  command.add_option("--tokenizer", flags->tokenizer, "Directory with tokenizer.json, or vocab.json and merges.txt")
      .required()
      .type_name("DIR");
  command.add_flag("--no-special", flags->no_special, "Without special tokens around the text");
  flags->common.offer_json(command);
  flags->common.offer_quiet(command);
  command.footer(
      "Reads text from standard input and prints the ids as a JSON array, with --json as {\"ids\": [...]}.\n\n"
      "Examples:\n  printf 'A photo of a cat' | zkapex tokenize --tokenizer opt-125m");
  command.runs(action, [flags] { return run_tokenize(*flags); });
}

}  // namespace zkapex::cli
