#include "cli/demo_data.h"

#include <algorithm>

#include "learning/shuffle.h"

namespace zkapex::cli {

namespace {

enum class Keep { kClass, kOthers };

std::vector<int64_t> filtered(const std::vector<int64_t>& from, const Catalog& catalog, int64_t label, Keep keep) {
  std::vector<int64_t> out;
  std::ranges::copy_if(from, std::back_inserter(out), [&](int64_t k) {
    return (catalog.labels[static_cast<size_t>(k)] == label) == (keep == Keep::kClass);
  });
  return out;
}

// Takes `count` of what is left of a shuffled list.
std::vector<int64_t> take(std::vector<int64_t>& items, int64_t count) {
  std::vector<int64_t> out(items.end() - count, items.end());
  items.resize(items.size() - out.size());
  std::ranges::sort(out);
  return out;
}

}  // namespace

InputFormat demo_format() {
  InputFormat out;
  out.preprocessing = Preprocessing::for_model(kDemoImageSize, 1);
  return out;
}

Result<std::vector<Splits>> demo_splits(const DemoSettings& s) {
  SplitOptions options;
  options.data = {DataSource::Kind::kIdx, s.data, "train", false};
  options.test_data = DataSource{DataSource::Kind::kIdx, s.data, "t10k", false};
  std::map<std::string, Catalog> catalogs;
  for (const DataSource& source : {options.data, *options.test_data}) {
    Result<Catalog> catalog = read_catalog(source, demo_format());
    if (!catalog) {
      return error(
          "{}; the demo needs the files of Fashion-MNIST: install Debian's dataset-fashion-mnist, or give --data",
          catalog.error().message);
    }
    catalogs.emplace(source.text(), *std::move(catalog));
  }
  const Catalog &photos = catalogs.at(options.data.text()), &tests = catalogs.at(options.test_data->text());
  const auto clients = static_cast<int64_t>(s.clients.size());
  const int64_t drawings = s.personal + s.personal_validation + s.personal_test;
  options.train = s.train, options.validation = s.validation, options.test = s.test;
  options.personal_data = options.data;
  options.personal_data->sketched = options.personal_data->chalk = true;
  options.personal = clients * drawings * 5 / 4;  // about a tenth is of the forgotten class and falls out
  options.forget = fmt::format("class:{}", s.forgotten_class);
  options.seed = s.seed;
  ZKAPEX_TRY(const Splits dealt, make_splits(options, catalogs));

  const SampleSet& personal = dealt.sets.at("personal");
  std::vector<int64_t> pool = filtered(personal.indices, photos, s.forgotten_class, Keep::kOthers);
  if (static_cast<int64_t>(pool.size()) < clients * drawings)
    return error("there are not enough images for the clients");
  shuffle(pool, derived_seed(s.seed, 200));
  std::vector<Splits> out;
  for (int64_t k = 0; k < clients; ++k) {
    Splits own = dealt;
    for (const auto& [name, count] : {std::pair("personal", s.personal),
                                      {"personal-validation", s.personal_validation},
                                      {"personal-test", s.personal_test}}) {
      own.sets[name] = {personal.source, take(pool, count)};
    }
    const SampleSet& validation = own.sets.at("validation");
    own.sets["forget-validation"] = {validation.source,
                                     filtered(validation.indices, tests, s.forgotten_class, Keep::kClass)};
    ZKAPEX_CHECK(own.check());
    out.push_back(std::move(own));
  }
  return out;
}

nlohmann::json demo_model_config(const DemoSettings& s) {
  nlohmann::json names = nlohmann::json::object(), labels = nlohmann::json::object();
  for (size_t k = 0; k < DemoSettings::class_names().size(); ++k) {
    names[std::to_string(k)] = DemoSettings::class_names()[k];
    labels[DemoSettings::class_names()[k]] = k;
  }
  return {{"model_type", "vit"},
          {"architectures", {"ViTForImageClassification"}},
          {"hidden_size", s.hidden},
          {"num_hidden_layers", s.layers},
          {"num_attention_heads", s.heads},
          {"intermediate_size", s.intermediate},
          {"image_size", kDemoImageSize},
          {"patch_size", s.patch},
          {"num_channels", 1},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", 1e-12},
          {"initializer_range", 0.02},
          {"id2label", names},
          {"label2id", labels}};
}

}  // namespace zkapex::cli
