// Samples by number, as batches that a model takes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.h"
#include "data/image.h"
#include "data/splits.h"
#include "data/tokenizer.h"
#include "learning/fisher.h"
#include "learning/model.h"

namespace zkapex {

class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const Catalog& catalog() const = 0;
  // Indices must be below catalog().samples.
  [[nodiscard]] virtual Result<Batch> batch(std::span<const int64_t> indices) const = 0;
};

// How samples become a model's input: images by `preprocessing`, text by `tokenizer` in windows of `window` tokens.
struct InputFormat {
  std::optional<Preprocessing> preprocessing;
  std::shared_ptr<const Tokenizer> tokenizer;
  int64_t window = 128;
  ProgressStyle progress = ProgressStyle::kSilent;  // while text is cut into tokens

  // As the files of a model's directory say. `window` is cut to what the model takes.
  [[nodiscard]] static Result<InputFormat> of_model(const std::filesystem::path& directory, const ModelConfig& config,
                                                    int64_t window = 128);
};

[[nodiscard]] Result<std::unique_ptr<Dataset>> open_dataset(const DataSource& source, const InputFormat& format);
// Labels, files and groups only. Text must be read and cut for it all the same.
[[nodiscard]] Result<Catalog> read_catalog(const DataSource& source, const InputFormat& format);

// A set of a split over its open source. Checks that every sample exists and that labels fit the model.
class Samples {
 public:
  [[nodiscard]] static Result<Samples> open(const SampleSet& set, const InputFormat& format, const ModelConfig& config);
  // The same over a source that is open already.
  [[nodiscard]] static Result<Samples> over(std::shared_ptr<const Dataset> data, const SampleSet& set,
                                            const ModelConfig& config);

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  // By position in the set.
  [[nodiscard]] Result<Batch> batch(std::span<const int64_t> positions) const;
  // In order, `batch_size` at a time; at most `limit` samples, chosen by `seed`, when it is not zero.
  [[nodiscard]] BatchSource batches(int64_t batch_size, int64_t limit = 0, uint64_t seed = 0) const;

 private:
  std::shared_ptr<const Dataset> data_;
  std::vector<int64_t> indices_;
};

}  // namespace zkapex
