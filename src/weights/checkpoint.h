// Checkpoints on disk: one safetensors file, or shards named by an index (`model.safetensors.index.json`).
#pragma once

#include <functional>
#include <vector>

#include "base/files.h"
#include "weights/safetensors.h"

namespace zkapex {

// Branches that a client trained beside a frozen model, in its folder: a part of the model.
inline constexpr const char* kBranchesFile = "adaptformer.safetensors";

// Every tensor of an open checkpoint, memory-mapped.
class Checkpoint {
 public:
  // `path` is a .safetensors file, an index (*.json), or a folder with `model.safetensors` or
  // `model.safetensors.index.json` in it, and perhaps branches.
  static Result<Checkpoint> open(const Path& path);

  // By name, byte-wise increasing.
  [[nodiscard]] const std::vector<TensorView>& tensors() const { return tensors_; }
  [[nodiscard]] const TensorView* find(std::string_view name) const;  // null when there is none
  Result<TensorView> get(std::string_view name) const;
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }  // of a single file

 private:
  Status add_file(const Path& path);
  Status add_shards(const Path& index);

  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  Metadata metadata_;
};

// Which shard holds each tensor: {"metadata": ..., "weight_map": {tensor: file}}. Shard names are plain file names
// beside the index; anything that leads elsewhere is refused, and so is a tensor named twice.
using WeightMap = std::map<std::string, std::string>;
[[nodiscard]] Result<WeightMap> parse_shard_index(ByteView json);

// One tensor to be written. `write` sends exactly byte_count(info) bytes, in pieces of any size: a tensor need not be
// in memory as a whole.
using ByteSink = std::function<Status(ByteView)>;
struct TensorSource {
  TensorInfo info;
  std::function<Status(const ByteSink&)> write;

  static TensorSource of(TensorInfo info, ByteView data) {
    return {std::move(info), [data](const ByteSink& sink) { return sink(data); }};
  }
};

// Into a file that is still to be committed.
Status write_checkpoint(FileWriter& file, const std::vector<TensorSource>& tensors, const Metadata& metadata);
// Atomic: the file appears whole under its name, or not at all.
Status write_checkpoint(const Path& path, const std::vector<TensorSource>& tensors, const Metadata& metadata,
                        WriteOptions options = {});

}  // namespace zkapex
