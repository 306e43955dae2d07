#include "learning/dataset.h"

#include <algorithm>
#include <numeric>

#include "data/shuffle.h"
#include "learning/image_dataset.h"
#include "learning/text_dataset.h"

namespace zkapex {

Result<InputFormat> InputFormat::of_model(const std::filesystem::path& directory, const ModelConfig& config,
                                          int64_t window) {
  InputFormat out;
  if (const VitConfig* vit = config.vit()) {
    ZKAPEX_TRY(out.preprocessing, load_preprocessing(directory, vit->image_size, vit->channels));
    return out;
  }
  if (window < 2) return error("a window of {} tokens has nothing to predict", window);
  out.window = std::min(window, config.opt()->positions);
  ZKAPEX_TRY(Tokenizer tokenizer, Tokenizer::load(directory));
  if (static_cast<int64_t>(tokenizer.size()) > config.opt()->vocabulary) {
    return error("the tokenizer has {} tokens, the model only {}", tokenizer.size(), config.opt()->vocabulary);
  }
  out.tokenizer = std::make_shared<const Tokenizer>(std::move(tokenizer));
  return out;
}

Result<std::unique_ptr<Dataset>> open_dataset(const DataSource& source, const InputFormat& format) {
  auto data = [&]() -> Result<std::unique_ptr<Dataset>> {
    if (source.kind == DataSource::Kind::kText) {
      if (!format.tokenizer) return error("text needs a language model and its tokenizer");
      return open_text(source, format);
    }
    if (!format.preprocessing) return error("images need an image model");
    return source.kind == DataSource::Kind::kIdx ? open_idx_images(source, *format.preprocessing)
                                                 : open_image_folder(source, *format.preprocessing);
  }();
  if (!data.ok()) return data.error().within(source.text());
  return data;
}

Result<Catalog> read_catalog(const DataSource& source, const InputFormat& format) {
  ZKAPEX_TRY(const auto data, open_dataset(source, format));
  return data->catalog();
}

Result<Samples> Samples::open(const SampleSet& set, const InputFormat& format, const ModelConfig& config) {
  ZKAPEX_TRY(std::unique_ptr<Dataset> data, open_dataset(set.source, format));
  return over(std::move(data), set, config);
}

Result<Samples> Samples::over(std::shared_ptr<const Dataset> data, const SampleSet& set, const ModelConfig& config) {
  if (set.indices.empty()) return error("a set of {} is empty", set.source.text());
  const Catalog& catalog = data->catalog();
  for (const int64_t index : set.indices) {
    if (index < 0 || index >= catalog.samples) {
      return error("{} has no sample {}: it has {}", set.source.text(), index, catalog.samples);
    }
    if (!config.vit()) continue;
    const int64_t label = catalog.labels[static_cast<size_t>(index)];
    if (label >= config.vit()->classes) {
      return error("{} has the class {}, but the model has {} classes", set.source.text(), label,
                   config.vit()->classes);
    }
  }
  Samples out;
  out.data_ = std::move(data);
  out.indices_ = set.indices;
  return out;
}

Result<Batch> Samples::batch(std::span<const int64_t> positions) const {
  std::vector<int64_t> chosen;
  for (const int64_t p : positions) chosen.push_back(indices_[static_cast<size_t>(p)]);
  return data_->batch(chosen);
}

BatchSource Samples::batches(int64_t batch_size, int64_t limit, uint64_t seed) const {
  std::vector<int64_t> order(indices_.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  if (limit > 0 && limit < size()) {
    shuffle(order, seed);
    order.resize(static_cast<size_t>(limit));
    std::ranges::sort(order);
  }
  return [*this, order = std::move(order), batch_size](const BatchVisitor& visit) -> Status {
    const auto step = static_cast<size_t>(batch_size);
    for (size_t first = 0; first < order.size(); first += step) {
      const std::span<const int64_t> positions(&order[first], std::min(step, order.size() - first));
      ZKAPEX_TRY(const Batch one, batch(positions));
      ZKAPEX_CHECK(visit(one));
    }
    return Done{};
  };
}

}  // namespace zkapex
