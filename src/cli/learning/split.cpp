// zkapex split
#include <fmt/format.h>

#include "cli/learning/common.h"

namespace zkapex::cli {

namespace {

struct SplitFlags {
  std::string data, personal_data, test_data;
  path model, output;
  int64_t context = 128;
  SplitOptions options;
  CommonFlags common;
};

// Catalogs need the model only to cut text into windows; images are listed without being decoded.
Result<InputFormat> catalog_format(const SplitFlags& flags, const DataSource& data) {
  if (data.kind == DataSource::Kind::kText) {
    if (flags.model.empty()) return error("text needs --model, whose tokenizer cuts it into samples");
    ZKAPEX_TRY(const ModelConfig config, load_model_config(flags.model));
    ZKAPEX_TRY(InputFormat out, InputFormat::of_model(flags.model, config, flags.context));
    out.progress = flags.common.progress_style();
    return out;
  }
  InputFormat out;
  out.preprocessing = Preprocessing::for_model(1, 1);
  return out;
}

Result<Outcome> run_split(const SplitFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.common.force));
  SplitOptions options = flags.options;
  ZKAPEX_TRY(options.data, DataSource::parse(flags.data));
  std::vector<DataSource> sources = {options.data};
  if (!flags.personal_data.empty()) {
    ZKAPEX_TRY(options.personal_data, DataSource::parse(flags.personal_data));
    sources.push_back(*options.personal_data);
  }
  if (!flags.test_data.empty()) {
    ZKAPEX_TRY(options.test_data, DataSource::parse(flags.test_data));
    sources.push_back(*options.test_data);
  }
  std::map<std::string, Catalog> catalogs;
  for (DataSource source : sources) {
    source.style = Style::kPhoto;
    if (catalogs.contains(source.text())) continue;
    ZKAPEX_TRY(const InputFormat format, catalog_format(flags, source));
    ZKAPEX_TRY(Catalog catalog, read_catalog(source, format));
    catalogs.emplace(source.text(), std::move(catalog));
  }
  ZKAPEX_TRY(const Splits splits, make_splits(options, catalogs));
  ZKAPEX_CHECK(splits.save(flags.output));
  auto told = nlohmann::ordered_json::object();
  for (const auto& [name, set] : splits.sets) {
    if (!flags.common.json) fmt::print("{:<14} {:>8} samples of {}\n", name, set.indices.size(), set.source.text());
    told[name] = {{"samples", set.indices.size()}, {"source", set.source.text()}};
  }
  if (flags.common.json) fmt::print("{}\n", told.dump(2));
  return Outcome::kDone;
}

}  // namespace

void add_split(Command parent, Action& action) {
  const auto flags = std::make_shared<SplitFlags>();
  const Command command = parent.add_command(kSplit.name, kSplit.about);
  command.add_option("--data", flags->data, "Data of the provider").required().type_name("SOURCE");
  command
      .add_option("--personal-data", flags->personal_data, "Data of the client; otherwise sketches of images left over")
      .type_name("SOURCE");
  command.add_option("--test-data", flags->test_data, "Data for validation and test; otherwise from --data")
      .type_name("SOURCE");
  command.add_option("--train", flags->options.train, "Samples to train on; 0 for all that are left").shows_default();
  command.add_option("--personal", flags->options.personal, "Personal samples").shows_default();
  command.add_option("--personal-test", flags->options.personal_test, "Personal samples held out").shows_default();
  command.add_option("--validation", flags->options.validation, "Samples to tune on, the same for every seed")
      .shows_default();
  command.add_option("--personal-validation", flags->options.personal_validation, "Personal samples to tune on")
      .shows_default();
  command.add_option("--test", flags->options.test, "Samples to report on").shows_default();
  command.add_option("--forget", flags->options.forget, "What is to be forgotten").shows_default().type_name("RULE");
  command.add_option("--seed", flags->options.seed, "Seed of the choice").shows_default();
  command.add_option("--model", flags->model, "Language model whose tokenizer cuts text").type_name("DIR");
  command.add_option("--context", flags->context, "Tokens of a sample of text").positive().shows_default();
  command.add_option("-o,--output", flags->output, "Split file").required().type_name("FILE");
  flags->common.offer_json(command);
  flags->common.offer_force(command);
  flags->common.offer_quiet(command);
  command.footer(
      "SOURCE is idx:DIR#train, idx:DIR#t10k, images:DIR (a folder per class) or text:DIR; +sketch draws.\n"
      "RULE is random:FRACTION, class:K, classes:K,L,... or files:LIST.\n\n"
      "Examples:\n"
      "  zkapex split --data idx:/usr/share/datasets/fashion-mnist#train --test-data \\\n"
      "    idx:/usr/share/datasets/fashion-mnist#t10k --train 40000 --personal 10000 --personal-test 2000 \\\n"
      "    --validation 2000 --test 5000 --forget class:3 -o splits.json\n"
      "  zkapex split --model opt --data text:rust --personal-data text:java --test 500 --personal 2000 \\\n"
      "    --personal-test 500 --forget random:0.05 -o splits.json");
  command.runs(action, [flags] { return run_split(*flags); });
}

}  // namespace zkapex::cli
