// The tree as files (C2SP tlog-tiles): up to 256 hashes, or 256 entries, each. Tiles are not trusted by themselves:
// what is computed from them is held against a signed root.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "log/merkle.h"

namespace zkapex {

inline constexpr uint64_t kTileWidth = 256;
inline constexpr unsigned kMaxTileLevel = 7;  // 256^8 entries
inline constexpr size_t kMaxEntryBytes = 65'535;
inline constexpr size_t kMaxEntriesTileBytes = kTileWidth * (2 + kMaxEntryBytes);

struct TileName {
  std::optional<unsigned> level;  // none: a bundle of entries
  uint64_t index = 0;
  uint64_t width = kTileWidth;  // 1 to 256

  // Relative to the log: "tile/0/x001/x234/067", "tile/1/000.p/2", "tile/entries/002.p/88".
  [[nodiscard]] std::string path() const;
  // Exactly what path() writes; nothing else is a tile, so a server may join it to its folder.
  [[nodiscard]] static Result<TileName> parse(std::string_view path);
  bool operator==(const TileName&) const = default;
};

// The tile of level `level` with hash `index` of that level in a tree of `size` entries: as wide as it is there.
[[nodiscard]] TileName tile_of(unsigned level, uint64_t index, uint64_t size);
[[nodiscard]] TileName entries_of(uint64_t entry, uint64_t size);
// All tiles of a tree, with those of entries.
[[nodiscard]] std::vector<TileName> tiles_of_tree(uint64_t size);

[[nodiscard]] Bytes encode_hashes(std::span<const TreeHash> hashes);
[[nodiscard]] Result<std::vector<TreeHash>> decode_hashes(ByteView tile, uint64_t width);
// A big-endian u16 length and the bytes of each; at most kMaxEntryBytes in one.
[[nodiscard]] Result<Bytes> encode_entries(std::span<const Bytes> entries);
[[nodiscard]] Result<std::vector<Bytes>> decode_entries(ByteView tile, uint64_t width);

// Where tiles come from: a folder, or a server (agent). A partial tile that is not there any more may be answered by
// the full one; callers ask through read_hashes and read_entries, which see to that.
class TileSource {
 public:
  virtual ~TileSource() = default;
  // The bytes at a path of the log ("tile/…", "checkpoint"), at most `max_bytes` of them; none where nothing is there.
  [[nodiscard]] virtual Result<std::optional<Bytes>> read(const std::string& path, size_t max_bytes) = 0;
};

class TileFolder : public TileSource {
 public:
  explicit TileFolder(Path folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<std::optional<Bytes>> read(const std::string& path, size_t max_bytes) override;

 private:
  Path folder_;
};

[[nodiscard]] Result<std::vector<TreeHash>> read_hashes(TileSource& source, const TileName& tile);
[[nodiscard]] Result<std::vector<Bytes>> read_entries(TileSource& source, const TileName& tile);

// Of the tree of `size` entries, computed from its tiles.
[[nodiscard]] Result<TreeHash> tree_root(TileSource& source, uint64_t size);
[[nodiscard]] Result<std::vector<TreeHash>> inclusion_proof(TileSource& source, uint64_t index, uint64_t size);
[[nodiscard]] Result<std::vector<TreeHash>> consistency_proof(TileSource& source, uint64_t old_size, uint64_t new_size);
// One entry, checked to be entry `index` of the tree with that root.
[[nodiscard]] Result<Bytes> read_entry(TileSource& source, uint64_t index, uint64_t size, const TreeHash& root);

}  // namespace zkapex
