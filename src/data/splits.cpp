#include "data/splits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

#include "base/file_kind.h"
#include "data/documents.h"
#include "data/shuffle.h"

namespace zkapex {

namespace {

using nlohmann::json;

constexpr uint64_t kForEverySeed = 0;  // the order that validation sets are dealt in

std::string catalog_key(DataSource source) {
  source.style = Style::kPhoto;
  return source.text();
}

// Hands out the samples of one source in a shuffled order, whole groups at a time.
class Dealer {
 public:
  explicit Dealer(const Catalog& catalog) {
    const bool grouped = !catalog.groups.empty();
    const int64_t groups = grouped ? catalog.groups.back() + 1 : catalog.samples;
    members_.resize(static_cast<size_t>(groups));
    for (int64_t k = 0; k < catalog.samples; ++k) {
      members_[static_cast<size_t>(grouped ? catalog.groups[static_cast<size_t>(k)] : k)].push_back(k);
    }
    order_.resize(members_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  // What is left.
  void reorder(uint64_t seed) {
    order_.erase(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
    shuffle(order_, seed);
  }

  // At least `count` samples (groups are not cut); all that is left for a negative count.
  Result<std::vector<int64_t>> take(int64_t count, std::string_view set) {
    std::vector<int64_t> out;
    while (next_ < order_.size() && (count < 0 || static_cast<int64_t>(out.size()) < count)) {
      const auto& group = members_[order_[next_++]];
      out.insert(out.end(), group.begin(), group.end());
    }
    if (static_cast<int64_t>(out.size()) < count) {
      return error("there are not enough samples for '{}': {} of {} are left", set, out.size(), count);
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  std::vector<std::vector<int64_t>> members_;
  std::vector<size_t> order_;
  size_t next_ = 0;
};

Result<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return error("'{}' is not a whole number", text);
  return value;
}

Result<std::set<int64_t>> class_list(std::string_view text, int64_t classes) {
  std::set<int64_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    ZKAPEX_TRY(const int64_t label, integer(text.substr(begin, end - begin)));
    if (label < 0 || label >= classes)
      return error("class {} does not exist: the data has the classes 0 to {}", label, classes - 1);
    out.insert(label);
    begin = end + 1;
  }
  return out;
}

Result<std::vector<int64_t>> choose_files(const std::string& list, const Catalog& catalog,
                                          const std::vector<int64_t>& from) {
  if (catalog.names.empty()) return error("a forget set by files needs data that lies in files");
  ZKAPEX_TRY(const std::string text, read_text(list));
  std::map<std::string, int64_t> group_of;
  for (size_t k = 0; k < catalog.names.size(); ++k) group_of.emplace(catalog.names[k], static_cast<int64_t>(k));
  std::set<int64_t> wanted;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const auto found = group_of.find(line);
    if (found == group_of.end()) return error("{}: the data has no file '{}'", list, line);
    wanted.insert(found->second);
  }
  std::vector<int64_t> out;
  for (const int64_t k : from) {
    if (wanted.contains(catalog.groups.empty() ? k : catalog.groups[static_cast<size_t>(k)])) out.push_back(k);
  }
  return out;
}

Result<std::vector<int64_t>> choose_random(std::string_view text, const std::vector<int64_t>& from, uint64_t seed) {
  double fraction = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  if (code != std::errc() || end != text.data() + text.size() || !(fraction > 0 && fraction < 1)) {
    return error("'{}' is not a fraction between 0 and 1", text);
  }
  std::vector<int64_t> out = from;
  shuffle(out, seed);
  out.resize(static_cast<size_t>(std::llround(fraction * static_cast<double>(from.size()))));
  std::ranges::sort(out);
  return out;
}

Result<std::vector<int64_t>> of_classes(std::string_view list, const Catalog& catalog,
                                        const std::vector<int64_t>& from) {
  if (catalog.labels.empty()) return error("a forget set by class needs data with classes");
  ZKAPEX_TRY(const std::set<int64_t> labels, class_list(list, catalog.classes));
  std::vector<int64_t> out;
  for (const int64_t k : from) {
    if (labels.contains(catalog.labels[static_cast<size_t>(k)])) out.push_back(k);
  }
  return out;
}

struct ForgetRule {
  std::string kind, argument;
  [[nodiscard]] bool by_class() const { return kind == "class" || kind == "classes"; }
};

Result<ForgetRule> forget_rule(const std::string& text) {
  const size_t colon = text.find(':');
  const ForgetRule rule{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  const bool known = rule.by_class() || rule.kind == "random" || rule.kind == "files";
  if (!known || rule.argument.empty()) {
    return error("'{}' is not a forget set: random:FRACTION, class:K, classes:K,L,… or files:LIST", text);
  }
  return rule;
}

Result<std::vector<int64_t>> choose(const ForgetRule& rule, const Catalog& catalog, const std::vector<int64_t>& from,
                                    uint64_t seed) {
  if (rule.by_class()) return of_classes(rule.argument, catalog, from);
  if (rule.kind == "random") return choose_random(rule.argument, from, seed);
  return choose_files(rule.argument, catalog, from);
}

bool overlap(const SampleSet& a, const SampleSet& b) {
  if (!a.source.same_data(b.source)) return false;
  std::vector<int64_t> both;
  std::ranges::set_intersection(a.indices, b.indices, std::back_inserter(both));
  return !both.empty();
}

}  // namespace

Result<SampleSet> Splits::get(std::string_view name) const {
  const auto found = sets.find(std::string(name));
  if (found == sets.end()) {
    std::vector<std::string> names;
    for (const auto& [other, set] : sets) names.push_back(other);
    return error("there is no set '{}' (there are {})", name, fmt::join(names, ", "));
  }
  if (found->second.indices.empty()) return error("the set '{}' is empty", name);
  return found->second;
}

Status Splits::check() const {
  for (const auto& [name, set] : sets) {
    if (!std::ranges::is_sorted(set.indices, std::ranges::less_equal()) ||
        (!set.indices.empty() && set.indices[0] < 0)) {
      return error("the samples of '{}' are not in increasing order", name);
    }
  }
  ZKAPEX_TRY(const SampleSet train, get("train"));
  ZKAPEX_TRY(const SampleSet forget_set, get("forget"));
  ZKAPEX_TRY(const SampleSet retain, get("retain"));
  std::vector<int64_t> whole;
  std::ranges::merge(forget_set.indices, retain.indices, std::back_inserter(whole));
  if (whole != train.indices || !forget_set.source.same_data(train.source) || !retain.source.same_data(train.source)) {
    return error("'forget' and 'retain' do not make up 'train'");
  }
  const std::vector<std::string> apart = {"train",         "personal",   "personal-validation",
                                          "personal-test", "validation", "test"};
  for (size_t a = 0; a < apart.size(); ++a) {
    for (size_t b = a + 1; b < apart.size(); ++b) {
      if (!sets.contains(apart[a]) || !sets.contains(apart[b])) continue;
      if (overlap(sets.at(apart[a]), sets.at(apart[b])))
        return error("'{}' and '{}' share samples", apart[a], apart[b]);
    }
  }
  return Done{};
}

Status Splits::save(const std::filesystem::path& path) const {
  json document = {
      {"format", "zkapex-splits"}, {"version", 1}, {"seed", seed}, {"forget", forget}, {"sets", json::object()}};
  for (const auto& [name, set] : sets) {
    document["sets"][name] = {{"source", set.source.text()}, {"indices", set.indices}};
  }
  return write_text(path, document.dump() + "\n");
}

Result<Splits> Splits::parse(const json& document) {
  Splits out;
  ZKAPEX_TRY(const auto format, json_value<std::string>(document, "format"));
  ZKAPEX_TRY(const auto version, json_value<int64_t>(document, "version"));
  if (format != "zkapex-splits" || version != 1) return error("not a split file of version 1");
  ZKAPEX_TRY(out.seed, json_value<uint64_t>(document, "seed"));
  ZKAPEX_TRY(out.forget, json_value<std::string>(document, "forget"));
  ZKAPEX_TRY(const json sets, json_value<json>(document, "sets"));
  for (const auto& [name, entry] : sets.items()) {
    ZKAPEX_TRY(const auto source, json_value<std::string>(entry, "source"));
    SampleSet set;
    ZKAPEX_TRY(set.source, DataSource::parse(source));
    ZKAPEX_TRY(set.indices, json_value<std::vector<int64_t>>(entry, "indices"));
    out.sets.emplace(name, std::move(set));
  }
  ZKAPEX_CHECK(out.check());
  return out;
}

Result<Splits> Splits::load(const std::filesystem::path& path) {
  ZKAPEX_TRY(const std::string text, read_text(path));
  if (!text.starts_with('{')) return wrong_kind(view(text), "a split file").within(path.string());
  const Result<json> document = parse_json(text);
  if (!document.ok()) return document.error().within(path.string());
  auto out = parse(*document);
  if (!out.ok()) return out.error().within(path.string());
  return out;
}

Result<Splits> make_splits(const SplitOptions& options, const std::map<std::string, Catalog>& catalogs) {
  ZKAPEX_TRY(const ForgetRule rule, forget_rule(options.forget));
  const DataSource personal_source = options.personal_data.value_or([&] {
    DataSource sketches = options.data;
    if (sketches.kind != DataSource::Kind::kText) sketches.style = Style::kSketch;
    return sketches;
  }());
  const DataSource test_source = options.test_data.value_or(options.data);

  // One dealer per source of data, so that no sample goes to two sets.
  std::map<std::string, Dealer> dealers;
  std::vector<Dealer*> in_order;  // so that the names of sources do not matter
  for (const DataSource& source : {options.data, personal_source, test_source}) {
    const auto catalog = catalogs.find(catalog_key(source));
    if (catalog == catalogs.end()) return error("no catalog of {} was given", source.text());
    const auto [dealer, added] = dealers.try_emplace(catalog->first, catalog->second);
    if (added) in_order.push_back(&dealer->second);
  }
  const auto reorder = [&](uint64_t seed) {
    for (size_t k = 0; k < in_order.size(); ++k) in_order[k]->reorder(derived_seed(seed, k));
  };
  Splits out;
  out.seed = options.seed;
  out.forget = options.forget;
  const auto deal = [&](const std::string& name, const DataSource& source, int64_t count) -> Status {
    ZKAPEX_TRY(auto indices, dealers.at(catalog_key(source)).take(count, name));
    out.sets[name] = {source, std::move(indices)};
    return Done{};
  };
  reorder(kForEverySeed);
  ZKAPEX_CHECK(deal("validation", test_source, options.validation));
  ZKAPEX_CHECK(deal("personal-validation", personal_source, options.personal_validation));
  reorder(options.seed);
  ZKAPEX_CHECK(deal("test", test_source, options.test));
  ZKAPEX_CHECK(deal("personal", personal_source, options.personal));
  ZKAPEX_CHECK(deal("personal-test", personal_source, options.personal_test));
  ZKAPEX_CHECK(deal("train", options.data, options.train > 0 ? options.train : -1));

  const Catalog& catalog = catalogs.at(catalog_key(options.data));
  const std::vector<int64_t>& train = out.sets.at("train").indices;
  ZKAPEX_TRY(auto forgotten, choose(rule, catalog, train, derived_seed(options.seed, 100)));
  if (forgotten.empty()) return error("the forget set '{}' is empty", options.forget);
  if (forgotten.size() == train.size()) return error("the forget set '{}' is all of the data", options.forget);
  std::vector<int64_t> rest;
  std::ranges::set_difference(train, forgotten, std::back_inserter(rest));
  if (rule.by_class()) {
    const Catalog& tests = catalogs.at(catalog_key(test_source));
    ZKAPEX_TRY(auto held_out, of_classes(rule.argument, tests, out.sets.at("test").indices));
    out.sets["forget-test"] = {test_source, std::move(held_out)};
  }
  out.sets["forget"] = {options.data, std::move(forgotten)};
  out.sets["retain"] = {options.data, std::move(rest)};
  ZKAPEX_CHECK(out.check());
  return out;
}

}  // namespace zkapex
