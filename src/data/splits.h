// Which samples are what: a file that names every sample of every set, disjoint where they must be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "data/styles.h"

namespace zkapex {

// Where samples come from, in one word of a command line:
//   idx:DIR#train, idx:DIR#t10k   IDX images and labels (Fashion-MNIST)
//   images:DIR                    PNG and JPEG files in one directory per class
//   text:DIR                      text files; each gives windows of a fixed number of tokens
// "+sketch" behind an image source draws its images with dark lines on white paper; kStyles has more of that kind.
struct DataSource {
  enum class Kind { kIdx, kImages, kText };
  Kind kind = Kind::kIdx;
  std::filesystem::path path;
  std::string part;  // of kIdx
  Style style = Style::kPhoto;

  [[nodiscard]] static Result<DataSource> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool same_data(const DataSource& other) const;  // in whatever style
};

// What a source has, without the samples themselves.
struct Catalog {
  std::vector<int64_t> labels;     // per sample; empty for text
  std::vector<int64_t> groups;     // samples that stay together (windows of one file); empty: each on its own
  std::vector<std::string> names;  // per group, or per sample where there are no groups: files, relative to the source
  int64_t samples = 0, classes = 0;
};

struct SampleSet {
  DataSource source;
  std::vector<int64_t> indices;  // increasing
};

struct Splits {
  // "train" (D), "forget" (D_f) and "retain" (D_r, the rest of D), "personal" (D_p), "personal-validation",
  // "personal-test", "validation", "test", and for forget sets by class "forget-test": samples of these classes that no
  // model was trained on.
  std::map<std::string, SampleSet> sets;
  uint64_t seed = 0;
  std::string forget;  // how the forget set was chosen

  [[nodiscard]] Result<SampleSet> get(std::string_view name) const;  // an unknown or empty set is an error
  // forget and retain make up train; no sample of train is in personal, personal-validation, personal-test, validation
  // or test; and so on for each pair of the latter.
  [[nodiscard]] Status check() const;

  [[nodiscard]] Status save(const std::filesystem::path& path) const;
  [[nodiscard]] static Result<Splits> load(const std::filesystem::path& path);
  [[nodiscard]] static Result<Splits> parse(const nlohmann::json& document);  // checked
};

struct SplitOptions {
  DataSource data;                          // D
  std::optional<DataSource> personal_data;  // D_p; otherwise sketches of samples of `data` that are not in D
  std::optional<DataSource> test_data;      // validation and test; otherwise from `data`
  // Numbers of samples; a zero for `train` takes what the others leave.
  int64_t train = 0, personal = 0, personal_validation = 0, personal_test = 0, validation = 0, test = 0;
  // "random:0.05", "class:3", "classes:1,4,7", or "files:LIST" with one file name per line.
  std::string forget = "random:0.05";
  uint64_t seed = 1;
};

// `catalogs` by the text of the source without a style. Validation sets are the same for every seed: settings that
// were chosen on those of one seed have not seen what is tested with another.
[[nodiscard]] Result<Splits> make_splits(const SplitOptions& options, const std::map<std::string, Catalog>& catalogs);

}  // namespace zkapex
