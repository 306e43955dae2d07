#include "weights/checkpoint.h"

#include <algorithm>
#include <set>

#include "base/file_kind.h"
#include "base/json.h"

namespace zkapex {

namespace {

constexpr size_t kMaxIndexBytes = 100'000'000;
constexpr std::string_view kKind = "a checkpoint";

// A plain file name: nothing that could leave the folder of the index.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\:") == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// Reads "weight_map"; other keys of the index are skipped, whatever they hold, to a modest depth.
class IndexHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit IndexHandler(WeightMap& out) : out_(out) {}
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool has_map() const { return keys_.contains("weight_map"); }

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(int64_t) override { return other(); }
  bool number_unsigned(uint64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool binary(nlohmann::json::binary_t&) override { return other(); }
  bool string(std::string& v) override {
    if (depth_ != 2 || !in_map_) return other();
    if (!is_plain_name(v))
      return fail(fmt::format("tensor '{}': the shard name '{}' is not a plain file name", key_, v));
    out_[key_] = v;
    return true;
  }
  bool start_object(size_t) override {
    if (depth_ == 2 && in_map_) return other();
    return nest();
  }
  bool start_array(size_t) override {
    if (depth_ == 0 || in_map_) return other();
    return nest();
  }
  bool end_object() override { return unnest(); }
  bool end_array() override { return unnest(); }
  bool key(std::string& v) override {
    if (depth_ == 1) {
      if (!keys_.insert(v).second) return fail(fmt::format("the key '{}' appears twice", v));
      in_map_ = v == "weight_map";
    } else if (depth_ == 2 && in_map_) {
      if (!out_.try_emplace(v).second) return fail(fmt::format("tensor '{}' appears twice in weight_map", v));
      key_ = v;
    }
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail(fmt::format("not valid JSON near byte {}", position));
  }

 private:
  static constexpr int kMaxDepth = 32;
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  // A value that is not the shard of a tensor.
  bool other() {
    if (depth_ == 0) return fail("the index is not a JSON object");
    return !in_map_ || fail("weight_map must be an object from tensor names to file names");
  }
  bool nest() { return ++depth_ <= kMaxDepth || fail(fmt::format("nested deeper than {} levels", kMaxDepth)); }
  bool unnest() {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }

  WeightMap& out_;
  std::set<std::string> keys_;
  std::string key_, problem_;
  int depth_ = 0;
  bool in_map_ = false;  // inside the value of "weight_map"
};

}  // namespace

Result<WeightMap> parse_shard_index(ByteView json) {
  if (const auto nul = std::find(json.begin(), json.end(), uint8_t{0}); nul != json.end())
    return error("a NUL at byte {}", nul - json.begin());  // nlohmann would stop reading there
  WeightMap map;
  IndexHandler handler(map);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) return error("{}", handler.problem());
  if (!handler.has_map()) return error("the index has no weight_map");
  return map;
}

Result<Checkpoint> Checkpoint::open(const Path& path) {
  Path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    file = path / "model.safetensors";
    if (!std::filesystem::exists(file, ignored)) file = path / "model.safetensors.index.json";
    if (!std::filesystem::exists(file, ignored))
      return error("{} has neither model.safetensors nor model.safetensors.index.json", path.string());
  }
  Checkpoint out;
  ZKAPEX_CHECK(file.extension() == ".json" ? out.add_shards(file) : out.add_file(file));
  if (const Path branches = path / kBranchesFile; std::filesystem::exists(branches, ignored)) {
    const Metadata metadata = std::move(out.metadata_);
    ZKAPEX_CHECK(out.add_file(branches));
    out.metadata_ = metadata;
  }
  std::ranges::sort(out.tensors_, {}, &TensorView::name);
  const auto twice = std::ranges::adjacent_find(out.tensors_, {}, &TensorView::name);
  if (twice != out.tensors_.end()) return error("{}: tensor '{}' is in two files", path.string(), twice->name());
  return out;
}

Status Checkpoint::add_file(const Path& path) {
  ZKAPEX_TRY(MappedFile file, MappedFile::open(path));
  if (const std::string_view kind = kind_of_file(file.bytes()); !kind.empty() && kind != kKind)
    return wrong_kind(file.bytes(), kKind).within(path.string());
  auto header = parse_safetensors(file.bytes());
  if (!header.ok()) return header.error().within(path.string());
  for (SafetensorsHeader::Entry& t : header->tensors)
    tensors_.emplace_back(std::move(t.info), file.bytes().subspan(t.begin, t.end - t.begin), true);
  metadata_ = std::move(header->metadata);
  files_.push_back(std::move(file));
  return Done{};
}

Status Checkpoint::add_shards(const Path& index) {
  ZKAPEX_TRY(const Bytes text, read_file(index, kMaxIndexBytes));
  const auto map = parse_shard_index(text);
  if (!map.ok() && kind_of_file(text) == "a split file") return wrong_kind(text, kKind).within(index.string());
  if (!map.ok()) return map.error().within(index.string());
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *map) shards.insert(shard);
  for (const std::string& shard : shards) {
    const size_t first = tensors_.size();
    ZKAPEX_CHECK(add_file(index.parent_path() / shard));
    for (size_t k = first; k < tensors_.size(); ++k) {
      const auto said = map->find(tensors_[k].name());
      if (said == map->end() || said->second != shard)
        return error("{}: tensor '{}' is in {}, but the index puts it {}", index.string(), tensors_[k].name(), shard,
                     said == map->end() ? "nowhere" : "in " + said->second);
    }
  }
  // Every tensor found is where the index says, so none is found twice: equal counts mean that none is missing.
  if (tensors_.size() != map->size()) {
    std::set<std::string_view> found;
    for (const TensorView& tensor : tensors_) found.insert(tensor.name());
    for (const auto& [tensor, shard] : *map)
      if (!found.contains(tensor)) return error("{}: tensor '{}' is not in {}", index.string(), tensor, shard);
  }
  metadata_.clear();
  return Done{};
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const TensorView& tensor, std::string_view n) { return tensor.name() < n; });
  return at != tensors_.end() && at->name() == name ? &*at : nullptr;
}

Result<TensorView> Checkpoint::get(std::string_view name) const {
  const TensorView* tensor = find(name);
  if (tensor == nullptr) return error("the checkpoint has no tensor '{}'", name);
  return *tensor;
}

Status write_checkpoint(FileWriter& file, const std::vector<TensorSource>& tensors, const Metadata& metadata) {
  std::vector<TensorInfo> infos;
  infos.reserve(tensors.size());
  for (const TensorSource& tensor : tensors) infos.push_back(tensor.info);
  ZKAPEX_TRY(const SafetensorsPlan plan, plan_safetensors(infos, metadata));
  ZKAPEX_CHECK(file.write(plan.header));
  for (const size_t k : plan.order) {
    ZKAPEX_TRY(const uint64_t expected, byte_count(infos[k]));
    uint64_t written = 0;
    ZKAPEX_CHECK(tensors[k].write([&](ByteView bytes) {
      written += bytes.size();
      return file.write(bytes);
    }));
    if (written != expected)
      return error("tensor '{}': {} bytes were given, shape and type need {}", infos[k].name, written, expected);
  }
  return Done{};
}

Status write_checkpoint(const Path& path, const std::vector<TensorSource>& tensors, const Metadata& metadata,
                        WriteOptions options) {
  ZKAPEX_TRY(FileWriter file, FileWriter::create(path, options));
  ZKAPEX_CHECK(write_checkpoint(file, tensors, metadata));
  return file.commit();
}

}  // namespace zkapex
