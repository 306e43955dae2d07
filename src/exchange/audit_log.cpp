#include "exchange/audit_log.h"

namespace zkapex {

Result<Note> read_checkpoint(TileSource& source) {
  ZKAPEX_TRY(const std::optional<Bytes> bytes, source.read("checkpoint", kMaxNoteBytes));
  if (!bytes) return error("there is no checkpoint: this is no log");
  return Note::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

namespace {

// The path of the first tile that does not have the hashes of its entries; empty where all do. Tiles above the entries
// repeat what follows from them; other people read them, so they have to be right.
Result<std::string> wrong_tile(TileSource& source, const std::vector<TreeHash>& leaves) {
  std::vector<TreeHash> level_hashes = leaves;
  for (unsigned level = 0; !level_hashes.empty(); ++level) {
    std::vector<TreeHash> above;
    for (uint64_t begin = 0; begin < level_hashes.size(); begin += kTileWidth) {
      const uint64_t width = std::min<uint64_t>(kTileWidth, level_hashes.size() - begin);
      const std::span<const TreeHash> expected = std::span<const TreeHash>(level_hashes).subspan(begin, width);
      const TileName name{.level = level, .index = begin / kTileWidth, .width = width};
      ZKAPEX_TRY(const std::vector<TreeHash> tile, read_hashes(source, name));
      if (!std::equal(tile.begin(), tile.end(), expected.begin(), expected.end())) return name.path();
      if (width == kTileWidth) above.push_back(tree_hash(expected));
    }
    level_hashes = std::move(above);
  }
  return std::string();
}

// Why the log does not continue the one that was known before; empty where it does.
Result<std::string> not_continued(TileSource& source, const Policy& policy, const Note& known, const TreeHead& now) {
  ZKAPEX_TRY(const Policy::Opened opened, policy.open(known));
  const TreeHead& before = opened.checkpoint;
  if (before.origin != now.origin) return error("the earlier checkpoint is of another log");
  if (before.size > now.size) return error("the earlier checkpoint has {} entries, the log {}", before.size, now.size);
  ZKAPEX_TRY(const std::vector<TreeHash> proof, consistency_proof(source, before.size, now.size));
  const Status same = check_consistency(before.size, before.root, now.size, now.root, proof);
  return same ? std::string() : same.error().message;
}

}  // namespace

Result<LogReading> read_log(TileSource& source, const Policy& policy, const Note* known, const EntryCheck& check) {
  ZKAPEX_TRY(const Note note, read_checkpoint(source));
  LogReading out;
  Result<Policy::Opened> opened = policy.open(note);
  if (!opened) {
    out.broken = opened.error().message;
    return out;
  }
  const TreeHead head = opened->checkpoint;
  if (known != nullptr) {
    ZKAPEX_TRY(out.broken, not_continued(source, policy, *known, head));
    if (!out.broken.empty()) return out;
  }
  LogAudit audit(policy.logs()[opened->log].key);
  std::vector<TreeHash> leaves;
  for (uint64_t begin = 0; begin < head.size; begin += kTileWidth) {
    ZKAPEX_TRY(const std::vector<Bytes> entries, read_entries(source, entries_of(begin, head.size)));
    for (const Bytes& entry : entries) {
      leaves.push_back(leaf_hash(entry));
      const std::optional<Statement> statement = audit.add(entry);
      if (!statement || !check) continue;
      ZKAPEX_CHECK(check(leaves.size() - 1, entry, *statement));
    }
  }
  if (audit.tree().root(head.size) != head.root) {
    out.broken = "the entries do not lead to the root that was signed";
    return out;
  }
  ZKAPEX_TRY(const std::string tile, wrong_tile(source, leaves));
  if (!tile.empty()) out.broken = fmt::format("{} does not have the hashes of its entries", tile);
  out.opened = *std::move(opened);
  out.audit = std::move(audit);
  return out;
}

}  // namespace zkapex
