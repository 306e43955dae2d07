#include "learning/image_dataset.h"

#include <algorithm>
#include <mutex>

#include "base/files.h"
#include "data/idx_file.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

class ImageDataset : public Dataset {
 public:
  ImageDataset(Preprocessing how, const DataSource& source) : how_(std::move(how)), source_(source) {}

  [[nodiscard]] const Catalog& catalog() const override { return catalog_; }

  [[nodiscard]] Result<Batch> batch(std::span<const int64_t> indices) const override {
    return catch_torch([&]() -> Result<Batch> {
      const auto n = static_cast<int64_t>(indices.size()), area = how_.channels * how_.size * how_.size;
      Batch out{at::empty({n, how_.channels, how_.size, how_.size}), at::empty({n}, at::kLong)};
      auto* pixels = out.inputs.data_ptr<float>();
      auto* labels = out.labels.data_ptr<int64_t>();
      std::mutex mutex;
      std::optional<Error> failure;
      at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t index = indices[static_cast<size_t>(k)];
          const Result<Image> read = image(index);
          if (!read.ok()) {
            const std::lock_guard lock(mutex);
            failure = read.error();
            return;
          }
          preprocess(styled(*read, source_.style, static_cast<uint64_t>(index)), how_, pixels + k * area);
          labels[k] = catalog_.labels[static_cast<size_t>(index)];
        }
      });
      if (failure) return *failure;
      return out;
    });
  }

 protected:
  [[nodiscard]] virtual Result<Image> image(int64_t index) const = 0;
  Catalog catalog_;

 private:
  Preprocessing how_;
  DataSource source_;
};

class IdxImages final : public ImageDataset {
 public:
  static Result<std::unique_ptr<Dataset>> open(const DataSource& source, const Preprocessing& how) {
    const auto find = [&](const std::string& name) {
      const fs::path plain = source.path / name;
      return fs::exists(plain) ? plain : source.path / (name + ".gz");
    };
    ZKAPEX_TRY(IdxArray images, read_idx(find(source.part + "-images-idx3-ubyte")));
    ZKAPEX_TRY(const IdxArray labels, read_idx(find(source.part + "-labels-idx1-ubyte")));
    if (images.shape.size() != 3 || images.shape[0] == 0 || images.shape[1] == 0 || images.shape[2] == 0) {
      return error("the images are not a list of grey images");
    }
    if (labels.shape != std::vector<int64_t>{images.shape[0]}) {
      return error("{} images have {} labels", images.shape[0], labels.values.size());
    }
    auto out = std::make_unique<IdxImages>(how, source);
    out->catalog_.samples = images.shape[0];
    out->catalog_.labels.assign(labels.values.begin(), labels.values.end());
    out->catalog_.classes = 1 + std::ranges::max(out->catalog_.labels);
    out->images_ = std::move(images);
    return std::unique_ptr<Dataset>(std::move(out));
  }
  using ImageDataset::ImageDataset;

 private:
  [[nodiscard]] Result<Image> image(int64_t index) const override {
    const int64_t height = images_.shape[1], width = images_.shape[2];
    const auto begin = images_.values.begin() + index * height * width;
    return Image{width, height, 1, {begin, begin + height * width}};
  }

  IdxArray images_;
};

Result<std::vector<fs::path>> sorted_entries(const fs::path& directory) {
  std::error_code code;
  std::vector<fs::path> out;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end; entry.increment(code)) {
    out.push_back(entry->path());
  }
  if (code) return error("{} cannot be read: {}", directory.string(), code.message());
  std::ranges::sort(out);
  return out;
}

bool is_image_file(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

class ImageFolder final : public ImageDataset {
 public:
  static Result<std::unique_ptr<Dataset>> open(const DataSource& source, const Preprocessing& how) {
    auto out = std::make_unique<ImageFolder>(how, source);
    Catalog& catalog = out->catalog_;
    ZKAPEX_TRY(const auto folders, sorted_entries(source.path));
    for (const fs::path& folder : folders) {
      if (!fs::is_directory(folder)) continue;
      ZKAPEX_TRY(const auto files, sorted_entries(folder));
      for (const fs::path& file : files) {
        if (!is_image_file(file)) continue;
        catalog.names.push_back((folder.filename() / file.filename()).string());
        catalog.labels.push_back(catalog.classes);
      }
      ++catalog.classes;
    }
    catalog.samples = static_cast<int64_t>(catalog.names.size());
    if (catalog.samples == 0) return error("no PNG or JPEG files in folders of classes");
    out->root_ = source.path;
    return std::unique_ptr<Dataset>(std::move(out));
  }
  using ImageDataset::ImageDataset;

 private:
  [[nodiscard]] Result<Image> image(int64_t index) const override {
    constexpr size_t kMaxFile = size_t{1} << 28;
    const fs::path path = root_ / catalog_.names[static_cast<size_t>(index)];
    ZKAPEX_TRY(const Bytes file, read_file(path, kMaxFile));
    auto decoded = decode_image(file);
    if (!decoded.ok()) return decoded.error().within(path.string());
    return decoded;
  }

  fs::path root_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_idx_images(const DataSource& source, const Preprocessing& how) {
  return IdxImages::open(source, how);
}

Result<std::unique_ptr<Dataset>> open_image_folder(const DataSource& source, const Preprocessing& how) {
  return ImageFolder::open(source, how);
}

}  // namespace zkapex
