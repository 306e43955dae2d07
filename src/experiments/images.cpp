#include "experiments/images.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "data/shuffle.h"

namespace zkapex {

namespace {

// The classes of "class:3" or "classes:1,4,7", which make_splits has checked; none of other rules.
std::set<int64_t> forgotten_classes(std::string_view rule) {
  std::set<int64_t> out;
  const size_t colon = rule.find(':');
  if (colon == std::string_view::npos || !rule.starts_with("class")) return out;
  rule.remove_prefix(colon + 1);
  while (!rule.empty()) {
    int64_t label = 0;
    const auto [end, code] = std::from_chars(rule.data(), rule.data() + rule.size(), label);
    if (code != std::errc()) break;
    out.insert(label);
    const auto used = static_cast<size_t>(end - rule.data());
    rule.remove_prefix(std::min(rule.size(), used + 1));
  }
  return out;
}

enum class Keep { kThese, kOthers };

std::vector<int64_t> filtered(const std::vector<int64_t>& from, const Catalog& catalog, const std::set<int64_t>& labels,
                              Keep keep) {
  std::vector<int64_t> out;
  std::ranges::copy_if(from, std::back_inserter(out), [&](int64_t k) {
    return labels.contains(catalog.labels[static_cast<size_t>(k)]) == (keep == Keep::kThese);
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

Path default_images() { return "/usr/share/datasets/fashion-mnist"; }

const std::vector<std::string>& class_names() {
  static const std::vector<std::string> names = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                                 "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
  return names;
}

InputFormat image_format() {
  InputFormat out;
  out.preprocessing = Preprocessing::for_model(kImageSize, 1);
  return out;
}

Result<std::vector<Splits>> deal_images(const ImageDeal& deal) {
  SplitOptions options;
  options.data = {DataSource::Kind::kIdx, deal.data, "train", Style::kPhoto};
  options.test_data = DataSource{DataSource::Kind::kIdx, deal.data, "t10k", Style::kPhoto};
  std::map<std::string, Catalog> catalogs;
  for (const DataSource& source : {options.data, *options.test_data}) {
    Result<Catalog> catalog = read_catalog(source, image_format());
    if (!catalog) {
      return error("{}; the files of Fashion-MNIST are needed: install Debian's dataset-fashion-mnist, or give --data",
                   catalog.error().message);
    }
    catalogs.emplace(source.text(), *std::move(catalog));
  }
  const Catalog &photos = catalogs.at(options.data.text()), &tests = catalogs.at(options.test_data->text());
  const auto with_spares = [&](int64_t each) { return deal.clients * each * (100 + deal.spare_percent) / 100; };
  const std::set<int64_t> classes = forgotten_classes(deal.forget);
  options.train = deal.train, options.validation = deal.validation, options.test = deal.test;
  options.personal_data = options.data;
  options.personal_data->style = Style::kSketch;
  options.personal = with_spares(deal.personal + deal.personal_test);
  options.personal_validation = with_spares(deal.personal_validation);
  options.forget = deal.forget;
  options.seed = deal.seed;
  ZKAPEX_TRY(const Splits dealt, make_splits(options, catalogs));

  const auto pool_of = [&](const char* set, int64_t each) -> Result<std::vector<int64_t>> {
    const std::vector<int64_t>& all = dealt.sets.at(set).indices;
    std::vector<int64_t> pool = deal.overlap ? all : filtered(all, photos, classes, Keep::kOthers);
    if (static_cast<int64_t>(pool.size()) < deal.clients * each)
      return error("there are not enough images for the clients");
    shuffle(pool, derived_seed(deal.seed, 200));
    return pool;
  };
  ZKAPEX_TRY(std::vector<int64_t> own_pool, pool_of("personal", deal.personal + deal.personal_test));
  ZKAPEX_TRY(std::vector<int64_t> validation_pool, pool_of("personal-validation", deal.personal_validation));
  const DataSource& sketches = dealt.sets.at("personal").source;
  std::vector<Splits> out;
  for (int64_t k = 0; k < deal.clients; ++k) {
    Splits own = dealt;
    own.sets["personal"] = {sketches, take(own_pool, deal.personal)};
    own.sets["personal-validation"] = {sketches, take(validation_pool, deal.personal_validation)};
    own.sets["personal-test"] = {sketches, take(own_pool, deal.personal_test)};
    for (const std::string set : {"validation", "test"}) {
      const SampleSet& all = own.sets.at(set);
      const bool by_class = !classes.empty();
      own.sets["forget-" + set] = {all.source,
                                   by_class ? filtered(all.indices, tests, classes, Keep::kThese) : all.indices};
      own.sets["retain-" + set] = {all.source,
                                   by_class ? filtered(all.indices, tests, classes, Keep::kOthers) : all.indices};
    }
    ZKAPEX_CHECK(own.check());
    out.push_back(std::move(own));
  }
  return out;
}

nlohmann::json vit_config(const VitShape& shape) {
  nlohmann::json names = nlohmann::json::object(), labels = nlohmann::json::object();
  for (size_t k = 0; k < class_names().size(); ++k) {
    names[std::to_string(k)] = class_names()[k];
    labels[class_names()[k]] = k;
  }
  return {{"model_type", "vit"},
          {"architectures", {"ViTForImageClassification"}},
          {"hidden_size", shape.hidden},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"intermediate_size", shape.intermediate},
          {"image_size", kImageSize},
          {"patch_size", shape.patch},
          {"num_channels", 1},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", 1e-12},
          {"initializer_range", 0.02},
          {"id2label", names},
          {"label2id", labels}};
}

}  // namespace zkapex
