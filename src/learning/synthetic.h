// Small models and data for tests: images whose class can be seen, in IDX files.
#pragma once

#include <filesystem>
#include <fstream>

#include "data/shuffle.h"
#include "learning/dataset.h"

namespace zkapex {

inline ModelConfig tiny_vit_config(int64_t classes = 3) {
  return *parse_model_config({{"model_type", "vit"},
                              {"hidden_size", 16},
                              {"num_hidden_layers", 2},
                              {"num_attention_heads", 2},
                              {"image_size", 8},
                              {"patch_size", 4},
                              {"intermediate_size", 24},
                              {"num_channels", 1},
                              {"num_labels", classes},
                              {"initializer_range", 0.2},
                              {"hidden_dropout_prob", 0.1},
                              {"layer_norm_eps", 1e-6}});
}

inline std::unique_ptr<Model> tiny_vit(uint64_t seed, at::ScalarType dtype = at::kFloat) {
  auto model = make_model(tiny_vit_config(), {.dtype = dtype});
  initialize(*model, seed);
  return model;
}

// An IDX file of unsigned bytes.
inline void write_idx(const std::filesystem::path& path, const std::vector<int>& shape, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.put(0).put(0).put(8).put(static_cast<char>(shape.size()));
  for (const int size : shape) out.put(0).put(0).put(static_cast<char>(size >> 8)).put(static_cast<char>(size & 255));
  out << bytes;
}

// DIR/PART-images-idx3-ubyte and labels: 8×8 images with a bright row that tells the class (of three), and noise.
inline void write_synthetic_idx(const std::filesystem::path& directory, const std::string& part, int count,
                                uint64_t seed) {
  std::string images, labels;
  SampleRandom random(seed);
  for (int k = 0; k < count; ++k) {
    const int label = static_cast<int>(random.below(3));
    labels.push_back(static_cast<char>(label));
    for (int p = 0; p < 64; ++p) images.push_back(static_cast<char>(p / 8 == 2 * label + 1 ? 255 : random.below(120)));
  }
  write_idx(directory / (part + "-images-idx3-ubyte"), {count, 8, 8}, images);
  write_idx(directory / (part + "-labels-idx1-ubyte"), {count}, labels);
}

inline Samples open_samples(const std::filesystem::path& directory, const std::string& part,
                            std::vector<int64_t> indices) {
  const InputFormat format{.preprocessing = Preprocessing::for_model(8, 1), .tokenizer = {}};
  const SampleSet set{{DataSource::Kind::kIdx, directory, part, Style::kPhoto}, std::move(indices)};
  return *Samples::open(set, format, tiny_vit_config());
}

inline std::vector<int64_t> range(int64_t first, int64_t last) {
  std::vector<int64_t> out;
  for (int64_t k = first; k < last; ++k) out.push_back(k);
  return out;
}

}  // namespace zkapex
