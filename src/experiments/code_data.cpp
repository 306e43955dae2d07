#include "experiments/code_data.h"

#include <algorithm>

#include "data/shuffle.h"
#include "learning/text_dataset.h"

namespace zkapex {

namespace {

constexpr uint64_t kForEverySeed = 0;

// The files of one language, dealt from the front: at first in an order that is the same for every seed.
class Files {
 public:
  Files(const Catalog& catalog, const std::string& language) : language_(language) {
    std::vector<std::vector<int64_t>> all(catalog.names.size());
    for (int64_t k = 0; k < catalog.samples; ++k)
      all[static_cast<size_t>(catalog.groups[static_cast<size_t>(k)])].push_back(k);
    for (size_t g = 0; g < all.size(); ++g) {
      if (catalog.names[g].starts_with(language + "/")) files_.push_back(std::move(all[g]));
    }
    reorder(kForEverySeed);
  }

  // What is left.
  void reorder(uint64_t seed) {
    files_.erase(files_.begin(), files_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
    shuffle(files_, seed);
  }

  // Whole files until there are `count` windows.
  Result<std::vector<int64_t>> take(int64_t count, std::string_view what) {
    std::vector<int64_t> out = take_up_to(count);
    if (static_cast<int64_t>(out.size()) < count)
      return error("{} has only {} windows left for '{}', not {}", language_, out.size(), what, count);
    return out;
  }
  std::vector<int64_t> take_up_to(int64_t count) {
    std::vector<int64_t> out;
    while (next_ < files_.size() && static_cast<int64_t>(out.size()) < count) {
      out.insert(out.end(), files_[next_].begin(), files_[next_].end());
      ++next_;
    }
    return out;
  }

 private:
  std::string language_;
  std::vector<std::vector<int64_t>> files_;
  size_t next_ = 0;
};

}  // namespace

Result<Splits> deal_code(const CodeDeal& deal, const DataSource& source, const Catalog& catalog, uint64_t seed) {
  Splits out;
  out.seed = seed;
  out.forget = fmt::format("{} of the files in {}", deal.forget_part, deal.forget_language);
  const auto add = [&](const std::string& set, const std::vector<int64_t>& indices) {
    SampleSet& to = out.sets[set];
    to.source = source;
    to.indices.insert(to.indices.end(), indices.begin(), indices.end());
  };
  for (size_t k = 0; k < deal.languages.size(); ++k) {
    const std::string& language = deal.languages[k];
    const bool forgotten = language == deal.forget_language;
    Files files(catalog, language);
    for (const auto& [set, count] : {std::pair("validation", deal.validation), {"test", deal.test}}) {
      ZKAPEX_TRY(const std::vector<int64_t> taken, files.take(count, set));
      add(set, taken);
      if (forgotten) add(std::string("forget-") + set, taken);
      if (set == std::string_view("validation")) files.reorder(derived_seed(seed, 700 + k));
    }
    int64_t left = deal.train;
    if (forgotten) {
      const auto part = static_cast<int64_t>(deal.forget_part * static_cast<double>(deal.train));
      ZKAPEX_TRY(const std::vector<int64_t> forget, files.take(part, "forget"));
      add("forget", forget);
      add("train", forget);
      left -= static_cast<int64_t>(forget.size());
    }
    const std::vector<int64_t> retain = files.take_up_to(left);
    if (retain.empty()) return error("{} has no windows left to train on", language);
    add("retain", retain);
    add("train", retain);
  }
  Files files(catalog, deal.personal_language);
  ZKAPEX_TRY(const std::vector<int64_t> tuned_on, files.take(deal.personal_validation, "personal-validation"));
  add("personal-validation", tuned_on);
  files.reorder(derived_seed(seed, 700 + deal.languages.size()));
  for (const auto& [set, count] : {std::pair("personal-test", deal.personal_test), {"personal", deal.personal}}) {
    ZKAPEX_TRY(const std::vector<int64_t> taken, files.take(count, set));
    add(set, taken);
  }
  for (auto& [name, set] : out.sets) std::ranges::sort(set.indices);
  ZKAPEX_CHECK(out.check());
  return out;
}

Result<std::vector<Path>> code_files(const Path& data, const std::vector<std::string>& languages) {
  std::vector<Path> out;
  for (const std::string& language : languages) {
    ZKAPEX_TRY(const std::vector<Path> files, text_files(data / language));
    out.insert(out.end(), files.begin(), files.end());
  }
  return out;
}

}  // namespace zkapex
