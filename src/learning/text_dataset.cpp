#include "learning/text_dataset.h"

#include <algorithm>

#include "data/documents.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

class TextDataset final : public Dataset {
 public:
  explicit TextDataset(int64_t window) : window_(window) {}

  Status add(const std::string& name, std::string_view text, const Tokenizer& tokenizer,
             const Tokenizer::Advance& advance) {
    constexpr size_t kFewest = 8;
    const std::vector<TokenId>& lead = tokenizer.vocabulary().prefix;
    const size_t room = static_cast<size_t>(window_) - std::min(lead.size(), static_cast<size_t>(window_) - 1);
    const std::vector<TokenId> ids = tokenizer.encode(text, Tokenizer::Special::kOmit, advance);
    const auto group = static_cast<int64_t>(catalog_.names.size());
    for (size_t first = 0; first < ids.size(); first += room) {
      const size_t count = std::min(room, ids.size() - first);
      if (count < std::min(kFewest, room)) break;
      lengths_.push_back(static_cast<int64_t>(lead.size() + count));
      tokens_.insert(tokens_.end(), lead.begin(), lead.end());
      tokens_.insert(tokens_.end(), ids.begin() + static_cast<std::ptrdiff_t>(first),
                     ids.begin() + static_cast<std::ptrdiff_t>(first + count));
      tokens_.resize(lengths_.size() * static_cast<size_t>(window_), 0);
      catalog_.groups.push_back(group);
      ++catalog_.samples;
    }
    if (!catalog_.groups.empty() && catalog_.groups.back() == group) catalog_.names.push_back(name);
    return Done{};
  }

  [[nodiscard]] const Catalog& catalog() const override { return catalog_; }

  [[nodiscard]] Result<Batch> batch(std::span<const int64_t> indices) const override {
    return catch_torch([&]() -> Result<Batch> {
      const auto n = static_cast<int64_t>(indices.size());
      Batch out{at::empty({n, window_}, at::kLong), at::empty({n, window_}, at::kLong)};
      auto* inputs = out.inputs.data_ptr<int64_t>();
      auto* labels = out.labels.data_ptr<int64_t>();
      for (const int64_t index : indices) {
        const TokenId* tokens = &tokens_[static_cast<size_t>(index * window_)];
        const int64_t length = lengths_[static_cast<size_t>(index)];
        for (int64_t k = 0; k < window_; ++k) {
          *inputs++ = tokens[k];
          *labels++ = k < length ? tokens[k] : Batch::kIgnored;
        }
      }
      return out;
    });
  }

 private:
  int64_t window_;
  std::vector<TokenId> tokens_;  // window after window
  std::vector<int64_t> lengths_;
  Catalog catalog_;
};

}  // namespace

Result<std::vector<fs::path>> text_files(const fs::path& directory) {
  std::error_code code;
  std::vector<fs::path> out;
  for (fs::recursive_directory_iterator entry(directory, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->is_regular_file()) out.push_back(entry->path());
  }
  if (code) return error("{} cannot be read: {}", directory.string(), code.message());
  std::ranges::sort(out);
  return out;
}

Result<std::unique_ptr<Dataset>> open_text(const DataSource& source, const InputFormat& format) {
  auto out = std::make_unique<TextDataset>(format.window);
  ZKAPEX_TRY(const auto files, text_files(source.path));
  uint64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code unknown;
    const uint64_t size = fs::file_size(file, unknown);
    if (!unknown) bytes += size;
  }
  Progress progress(format.progress, "tokenize", "bytes", bytes);
  for (const fs::path& file : files) {
    ZKAPEX_TRY(const std::string text, read_text(file));
    ZKAPEX_CHECK(out->add(fs::relative(file, source.path).string(), text, *format.tokenizer,
                          [&](size_t done) { progress.advance(done); }));
  }
  if (out->catalog().samples == 0) return error("no text of eight tokens or more");
  return std::unique_ptr<Dataset>(std::move(out));
}

}  // namespace zkapex
