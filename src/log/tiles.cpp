#include "log/tiles.h"

#include <algorithm>
#include <bit>

#include "log/lines.h"

namespace zkapex {

namespace {

constexpr uint64_t kMaxTileIndex = uint64_t{1} << 56;

// 1234067 is "x001/x234/067".
std::string grouped(uint64_t index) {
  std::string out = fmt::format("{:03}", index % 1000);
  for (index /= 1000; index > 0; index /= 1000) out = fmt::format("x{:03}/", index % 1000) + out;
  return out;
}

// How wide tile `index` of a level with so many hashes is.
uint64_t width_of(uint64_t index, uint64_t hashes) { return std::min(kTileWidth, hashes - kTileWidth * index); }

}  // namespace

std::string TileName::path() const {
  std::string out = level ? fmt::format("tile/{}/", *level) : "tile/entries/";
  out += grouped(index);
  if (width < kTileWidth) out += fmt::format(".p/{}", width);
  return out;
}

Result<TileName> TileName::parse(std::string_view path) {
  const Error bad = error("this is no tile of a log");
  constexpr std::string_view kPrefix = "tile/";
  constexpr size_t kLongest = 64;
  if (path.size() > kLongest || !path.starts_with(kPrefix)) return bad;
  std::string_view rest = path.substr(kPrefix.size());
  TileName out;
  const size_t slash = rest.find('/');
  if (slash == rest.npos) return bad;
  if (const std::string_view first = rest.substr(0, slash); first != "entries") {
    const std::optional<uint64_t> level = plain_decimal(first);
    if (!level || *level > kMaxTileLevel) return bad;
    out.level = static_cast<unsigned>(*level);
  }
  rest = rest.substr(slash + 1);
  if (const size_t mark = rest.find(".p/"); mark != rest.npos) {
    const std::optional<uint64_t> width = plain_decimal(rest.substr(mark + 3));
    if (!width || *width == 0 || *width >= kTileWidth) return bad;
    out.width = *width;
    rest = rest.substr(0, mark);
  }
  for (const char c : rest) {
    if (c >= '0' && c <= '9') out.index = 10 * out.index + static_cast<uint64_t>(c - '0');
    if (out.index >= kMaxTileIndex) return bad;
  }
  if (out.path() != path) return bad;
  return out;
}

TileName tile_of(unsigned level, uint64_t index, uint64_t size) {
  const uint64_t tile = index / kTileWidth;
  return {.level = level, .index = tile, .width = width_of(tile, size >> (8 * level))};
}

TileName entries_of(uint64_t entry, uint64_t size) {
  const uint64_t tile = entry / kTileWidth;
  return {.level = std::nullopt, .index = tile, .width = width_of(tile, size)};
}

std::vector<TileName> tiles_of_tree(uint64_t size) {
  std::vector<TileName> out;
  for (unsigned level = 0; level <= kMaxTileLevel && size >> (8 * level) > 0; ++level) {
    for (uint64_t at = 0; at < size >> (8 * level); at += kTileWidth) out.push_back(tile_of(level, at, size));
  }
  for (uint64_t at = 0; at < size; at += kTileWidth) out.push_back(entries_of(at, size));
  return out;
}

Bytes encode_hashes(std::span<const TreeHash> hashes) {
  ByteWriter out;
  for (const TreeHash& hash : hashes) out.raw(hash);
  return out.take();
}

Result<std::vector<TreeHash>> decode_hashes(ByteView tile, uint64_t width) {
  constexpr size_t kHashBytes = std::tuple_size_v<TreeHash>;
  if (tile.size() != width * kHashBytes)
    return error("a tile of {} hashes has {} bytes, not {}", width, width * kHashBytes, tile.size());
  ByteReader in(tile);
  std::vector<TreeHash> out(width);
  for (TreeHash& hash : out) {
    ZKAPEX_TRY(hash, in.array<kHashBytes>());
  }
  return out;
}

Result<Bytes> encode_entries(std::span<const Bytes> entries) {
  ByteWriter out;
  for (const Bytes& entry : entries) {
    if (entry.size() > kMaxEntryBytes)
      return error("an entry of a log has at most {} bytes, not {}", kMaxEntryBytes, entry.size());
    out.u8(static_cast<uint8_t>(entry.size() >> 8));
    out.u8(static_cast<uint8_t>(entry.size()));
    out.raw(entry);
  }
  return out.take();
}

Result<std::vector<Bytes>> decode_entries(ByteView tile, uint64_t width) {
  ByteReader in(tile);
  std::vector<Bytes> out;
  for (uint64_t k = 0; k < width; ++k) {
    ZKAPEX_TRY(const auto length, in.array<2>());
    ZKAPEX_TRY(const ByteView entry, in.raw(size_t{length[0]} << 8 | length[1]));
    out.emplace_back(entry.begin(), entry.end());
  }
  ZKAPEX_CHECK(in.finish());
  return out;
}

Result<std::optional<Bytes>> TileFolder::read(const std::string& path, size_t max_bytes) {
  const Path file = folder_ / path;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::optional<Bytes>();
  ZKAPEX_TRY(Bytes out, read_file(file, max_bytes));
  return std::optional(std::move(out));
}

namespace {

// A partial tile may be gone once the full one is there.
template <class Decode>
auto read_tile(TileSource& source, const TileName& tile, size_t max_bytes, Decode decode)
    -> decltype(decode(ByteView(), uint64_t{})) {
  TileName found = tile;
  ZKAPEX_TRY(std::optional<Bytes> bytes, source.read(found.path(), max_bytes));
  if (!bytes && found.width < kTileWidth) {
    found.width = kTileWidth;
    ZKAPEX_TRY(bytes, source.read(found.path(), max_bytes));
  }
  if (!bytes) return error("the log has no {}", tile.path());
  auto out = decode(*bytes, found.width);
  if (!out) return out.error().within(found.path());
  out->resize(tile.width);
  return out;
}

// Hashes of subtrees, out of tiles that are read once.
class TileTree {
 public:
  TileTree(TileSource& source, uint64_t size) : source_(source), size_(size) {}

  // MTH of entries [begin, end), a range as RFC 6962 splits trees into.
  Result<TreeHash> hash(uint64_t begin, uint64_t end) {
    const uint64_t count = end - begin;
    if (count == 0) return empty_tree_hash();
    if (std::has_single_bit(count)) return complete(begin, static_cast<unsigned>(std::countr_zero(count)));
    const uint64_t split = begin + std::bit_floor(count);
    ZKAPEX_TRY(const TreeHash left, hash(begin, split));
    ZKAPEX_TRY(const TreeHash right, hash(split, end));
    return node_hash(left, right);
  }

 private:
  // The complete subtree of that height that begins there: some consecutive hashes of one tile.
  Result<TreeHash> complete(uint64_t begin, unsigned height) {
    const unsigned level = height / 8;
    const uint64_t first = begin >> (8 * level), count = uint64_t{1} << (height % 8);
    const TileName name = tile_of(level, first, size_);
    if (name != name_) {
      ZKAPEX_TRY(tile_, read_hashes(source_, name));
      name_ = name;
    }
    const uint64_t at = first % kTileWidth;
    return tree_hash(std::span<const TreeHash>(tile_).subspan(at, count));
  }

  TileSource& source_;
  uint64_t size_;
  std::optional<TileName> name_;  // of the tile at hand
  std::vector<TreeHash> tile_;
};

}  // namespace

Result<std::vector<TreeHash>> read_hashes(TileSource& source, const TileName& tile) {
  return read_tile(source, tile, kTileWidth * sizeof(TreeHash), decode_hashes);
}

Result<std::vector<Bytes>> read_entries(TileSource& source, const TileName& tile) {
  return read_tile(source, tile, kMaxEntriesTileBytes, decode_entries);
}

Result<TreeHash> tree_root(TileSource& source, uint64_t size) { return TileTree(source, size).hash(0, size); }

// PATH of RFC 6962, section 2.1.1, from the root down.
Result<std::vector<TreeHash>> inclusion_proof(TileSource& source, uint64_t index, uint64_t size) {
  if (index >= size) return error("there is no entry {} in a log of {}", index, size);
  TileTree tree(source, size);
  std::vector<TreeHash> out;
  for (uint64_t begin = 0, end = size; end - begin > 1;) {
    const uint64_t split = begin + std::bit_floor(end - begin - 1);
    const bool left = index < split;
    ZKAPEX_TRY(const TreeHash sibling, left ? tree.hash(split, end) : tree.hash(begin, split));
    out.push_back(sibling);
    (left ? end : begin) = split;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// SUBPROOF of RFC 6962, section 2.1.2, from the root down.
Result<std::vector<TreeHash>> consistency_proof(TileSource& source, uint64_t old_size, uint64_t new_size) {
  if (old_size > new_size) return error("a log of {} entries does not continue one of {}", new_size, old_size);
  std::vector<TreeHash> out;
  if (old_size == 0 || old_size == new_size) return out;
  TileTree tree(source, new_size);
  uint64_t begin = 0, end = new_size;
  while (end != old_size) {
    const uint64_t split = begin + std::bit_floor(end - begin - 1);
    const bool left = old_size <= split;
    ZKAPEX_TRY(const TreeHash sibling, left ? tree.hash(split, end) : tree.hash(begin, split));
    out.push_back(sibling);
    (left ? end : begin) = split;
  }
  // The verifier has the root of the old tree itself.
  if (begin > 0) {
    ZKAPEX_TRY(const TreeHash rest, tree.hash(begin, end));
    out.push_back(rest);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Result<Bytes> read_entry(TileSource& source, uint64_t index, uint64_t size, const TreeHash& root) {
  ZKAPEX_TRY(const std::vector<TreeHash> proof, inclusion_proof(source, index, size));
  ZKAPEX_TRY(std::vector<Bytes> entries, read_entries(source, entries_of(index, size)));
  Bytes entry = std::move(entries[index % kTileWidth]);
  ZKAPEX_CHECK(check_inclusion(leaf_hash(entry), index, size, root, proof));
  return entry;
}

}  // namespace zkapex
