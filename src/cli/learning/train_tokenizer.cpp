// zkapex train-tokenizer
#include <fmt/format.h>

#include "cli/learning/common.h"
#include "data/documents.h"
#include "learning/text_dataset.h"

namespace zkapex::cli {

namespace {

struct TrainTokenizerFlags {
  path data, output;
  BpeTraining options;
  CommonFlags common;
};

Result<Tokenizer> merge(BpeTrainer& trainer, const TrainTokenizerFlags& flags) {
  Progress progress(flags.common.progress_style(), "merge", "tokens", flags.options.size);
  BpeTraining options = flags.options;
  options.advance = [&] { progress.advance(); };
  return trainer.train(options);
}

Result<Outcome> run_train_tokenizer(const TrainTokenizerFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output / "tokenizer.json", flags.common.force));
  BpeTrainer trainer;
  ZKAPEX_TRY(const std::vector<path> files, text_files(flags.data));
  {
    Progress progress(flags.common.progress_style(), "read", "files", files.size());
    for (const path& file : files) {
      ZKAPEX_TRY(const std::string text, read_text(file));
      trainer.add(text);
      progress.advance();
    }
  }
  ZKAPEX_TRY(const Tokenizer tokenizer, merge(trainer, flags));
  std::error_code code;
  std::filesystem::create_directories(flags.output, code);
  if (code) return error("{} cannot be made: {}", flags.output.string(), code.message());
  ZKAPEX_CHECK(tokenizer.save(flags.output));
  if (flags.common.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"tokens", tokenizer.size()}, {"files", files.size()}}.dump(2));
  } else {
    fmt::print("{}: {} tokens from {} files\n", flags.output.string(), tokenizer.size(), files.size());
  }
  return Outcome::kDone;
}

}  // namespace

void add_train_tokenizer(Command parent, Action& action) {
  const auto flags = std::make_shared<TrainTokenizerFlags>();
  const Command command = parent.add_command(kTrainTokenizer.name, kTrainTokenizer.about);
  command.add_option("--data", flags->data, "Directory of text files").required().type_name("DIR");
  command.add_option("--size", flags->options.size, "Tokens of the vocabulary").shows_default();
  command.add_option("--min-frequency", flags->options.min_frequency, "Least count of a pair to be merged")
      .shows_default();
  command.add_option("-o,--output", flags->output, "Directory for tokenizer.json, vocab.json and merges.txt")
      .required()
      .type_name("DIR");
  flags->common.offer_json(command);
  flags->common.offer_force(command);
  flags->common.offer_quiet(command);
  command.footer("Examples:\n  zkapex train-tokenizer --data rust --size 8192 -o small-opt");
  command.runs(action, [flags] { return run_train_tokenizer(*flags); });
}

}  // namespace zkapex::cli
