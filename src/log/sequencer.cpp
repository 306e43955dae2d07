#include "log/sequencer.h"

#include "base/names.h"
#include "log/lines.h"

namespace zkapex {

namespace {

constexpr std::string_view kCheckpointFile = "checkpoint";

// With its name on disk, and those of the folders above it.
Status make_flushed_folder(const Path& folder) {
  std::error_code failed;
  if (folder.empty() || std::filesystem::is_directory(folder, failed)) return Done{};
  ZKAPEX_CHECK(make_flushed_folder(folder.parent_path()));
  std::filesystem::create_directory(folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder.string(), failed.message());
  return flush_folder_of(folder);
}

Result<Note> parse_stored(const std::optional<Bytes>& bytes) {
  return Note::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

}  // namespace

Result<Sequencer> Sequencer::open(LogStore& store, SigningKey key, SequencerSettings settings) {
  ZKAPEX_TRY(NoteKey verifier, NoteKey::make(settings.origin, NoteKeyType::kLog, key.public_key()));
  if (settings.cosignatures > settings.witnesses.size())
    return error("{} cosignatures are asked for, of {} witnesses", settings.cosignatures, settings.witnesses.size());
  ZKAPEX_CHECK(make_flushed_folder(settings.folder));
  ZKAPEX_TRY(FolderLock lock, FolderLock::take(settings.folder));
  Sequencer out(store, std::move(key), std::move(verifier), std::move(settings), std::move(lock));
  ZKAPEX_CHECK(out.load());
  ZKAPEX_CHECK(out.check_right_edge());
  SequencerRound ignored;
  ZKAPEX_CHECK(out.ask_witnesses(Asked::kAll, ignored));
  return out;
}

Status Sequencer::load() {
  ZKAPEX_TRY(const std::optional<Bytes> file, tiles_.read(std::string(kCheckpointFile), kMaxNoteBytes));
  if (file) {
    ZKAPEX_TRY(published_, parse_stored(file));
  }
  ZKAPEX_TRY(const std::optional<std::string> last, store_->last_checkpoint());
  witness_size_.assign(settings_.witnesses.size(), 0);
  if (!last) {
    if (published_)
      return error("{} has a checkpoint, and the database has none: it is another log's, or was restored",
                   settings_.folder.string());
    return sign(0);
  }
  ZKAPEX_TRY(note_, Note::parse(*last));
  ZKAPEX_TRY(signed_, open_checkpoint(note_, verifier_));
  std::fill(witness_size_.begin(), witness_size_.end(), signed_.size);
  return Done{};
}

Status Sequencer::check_right_edge() {
  ZKAPEX_TRY(const uint64_t size, store_->size());
  if (size < signed_.size)
    return error("the database has {} entries of a log that was signed with {}: something older was restored", size,
                 signed_.size);
  const Result<TreeHash> root = tree_root(tiles_, signed_.size);
  if (!root) return root.error().within("the tiles are not those of the last checkpoint");
  if (*root != signed_.root)
    return error("the tiles in {} do not lead to the root that was signed at size {}: they were damaged or restored",
                 settings_.folder.string(), signed_.size);
  if (!published_) return Done{};
  ZKAPEX_TRY(const TreeHead seen, open_checkpoint(*published_, verifier_));
  if (seen.size > signed_.size)
    return error("a checkpoint of {} entries was published, and the database knows of {}: something older was restored",
                 seen.size, signed_.size);
  ZKAPEX_TRY(const std::vector<TreeHash> proof, consistency_proof(tiles_, seen.size, signed_.size));
  if (const Status same = check_consistency(seen.size, seen.root, signed_.size, signed_.root, proof); !same)
    return same.error().within("the published checkpoint is not one of this log");
  if (seen.size == signed_.size) note_ = *published_;  // with its cosignatures
  return Done{};
}

Result<SequencerRound> Sequencer::run() {
  SequencerRound round;
  ZKAPEX_TRY(round.placed, place_queued());
  ZKAPEX_TRY(const uint64_t size, store_->size());
  if (size > signed_.size) {
    ZKAPEX_CHECK(write_tiles(signed_.size, size));
    ZKAPEX_CHECK(sign(size));
  }
  ZKAPEX_TRY(const TreeHead seen, published_ ? TreeHead::parse(published_->text) : Result<TreeHead>(TreeHead()));
  if (!published_ || seen.size < signed_.size) {
    ZKAPEX_CHECK(ask_witnesses(Asked::kMissing, round));
    if (cosignatures(note_) >= settings_.cosignatures) {
      ZKAPEX_CHECK(publish());
    } else {
      round.troubles.push_back(
          fmt::format("the checkpoint of {} entries has {} of {} cosignatures and is not published", signed_.size,
                      cosignatures(note_), settings_.cosignatures));
    }
  }
  round.size = signed_.size;
  ZKAPEX_TRY(const TreeHead now, published_ ? TreeHead::parse(published_->text) : Result<TreeHead>(TreeHead()));
  round.published = now.size;
  return round;
}

Result<size_t> Sequencer::place_queued() {
  ZKAPEX_TRY(const uint64_t size, store_->size());
  ZKAPEX_TRY(const std::vector<QueuedEntry> queued, store_->queued(settings_.most));
  if (queued.empty()) return size_t{0};
  std::vector<PlacedEntry> placed;
  for (const QueuedEntry& entry : queued) {
    if (entry.entry.size() > kMaxEntryBytes) return error("an entry of {} bytes is queued", entry.entry.size());
    placed.push_back({.id = entry.id, .leaf = leaf_hash(entry.entry)});
  }
  ZKAPEX_TRY(const bool done, store_->place(size, placed));
  changed();
  return done ? placed.size() : size_t{0};  // otherwise another sequencer was faster: its places hold
}

// Only tiles that reach beyond the old size are written: a full one never again.
Status Sequencer::write_tiles(uint64_t old_size, uint64_t new_size) {
  for (uint64_t begin = old_size / kTileWidth * kTileWidth; begin < new_size; begin += kTileWidth) {
    const uint64_t end = std::min(begin + kTileWidth, new_size);
    ZKAPEX_TRY(const std::vector<Bytes> entries, store_->entries(begin, end));
    if (entries.size() != end - begin)
      return error("the database has {} of the entries from {} to {}", entries.size(), begin, end);
    std::vector<TreeHash> leaves;
    for (const Bytes& entry : entries) leaves.push_back(leaf_hash(entry));
    ZKAPEX_TRY(const Bytes bundle, encode_entries(entries));
    ZKAPEX_CHECK(write_tile(entries_of(begin, new_size), bundle));
    ZKAPEX_CHECK(write_tile(tile_of(0, begin, new_size), encode_hashes(leaves)));
  }
  for (unsigned level = 1; level <= kMaxTileLevel; ++level) {
    ZKAPEX_CHECK(write_upper_tiles(level, old_size >> (8 * level), new_size >> (8 * level)));
  }
  return Done{};
}

// Hashes [old_count, new_count) of the level are new: each is that of a full tile below.
Status Sequencer::write_upper_tiles(unsigned level, uint64_t old_count, uint64_t new_count) {
  for (uint64_t begin = old_count / kTileWidth * kTileWidth; begin < new_count && old_count < new_count;
       begin += kTileWidth) {
    const uint64_t end = std::min(begin + kTileWidth, new_count);
    std::vector<TreeHash> hashes;
    if (begin < old_count) {
      ZKAPEX_TRY(hashes,
                 read_hashes(tiles_, {.level = level, .index = begin / kTileWidth, .width = old_count - begin}));
    }
    for (uint64_t k = begin + hashes.size(); k < end; ++k) {
      ZKAPEX_TRY(const std::vector<TreeHash> below, read_hashes(tiles_, {.level = level - 1, .index = k}));
      hashes.push_back(tree_hash(below));
    }
    ZKAPEX_CHECK(
        write_tile({.level = level, .index = begin / kTileWidth, .width = end - begin}, encode_hashes(hashes)));
  }
  return Done{};
}

// What a killed sequencer left beyond the last checkpoint is replaced.
Status Sequencer::write_tile(const TileName& tile, ByteView bytes) {
  const Path file = settings_.folder / tile.path();
  ZKAPEX_CHECK(make_flushed_folder(file.parent_path()));
  ZKAPEX_CHECK(write_file(file, bytes, {.overwrite = true}));
  changed();
  return Done{};
}

Status Sequencer::sign(uint64_t size) {
  TreeHead head{.origin = settings_.origin, .size = size, .root = {}};
  ZKAPEX_TRY(head.root, tree_root(tiles_, size));
  // The old tree is in the new one, whatever wrote the tiles between.
  if (signed_.size > 0) {
    ZKAPEX_TRY(const std::vector<TreeHash> proof, consistency_proof(tiles_, signed_.size, size));
    ZKAPEX_CHECK(check_consistency(signed_.size, signed_.root, size, head.root, proof));
  }
  ZKAPEX_TRY(const Note note, sign_checkpoint(head, key_));
  ZKAPEX_TRY(const std::string kept, store_->insert_checkpoint(size, note.encode()));
  ZKAPEX_TRY(Note stored, Note::parse(kept));
  ZKAPEX_TRY(const TreeHead stored_head, open_checkpoint(stored, verifier_));
  if (stored_head != head)
    return error("another checkpoint of size {} was signed before: this sequencer would fork the log", size);
  signed_ = head;
  note_ = std::move(stored);
  changed();
  return Done{};
}

Status Sequencer::ask_witnesses(Asked asked, SequencerRound& round) {
  for (size_t k = 0; k < settings_.witnesses.size(); ++k) {
    const WitnessAddress& witness = settings_.witnesses[k];
    const auto verified = verify_note(note_, {&witness.key, 1});
    const bool cosigned = verified && !verified->empty();
    if (cosigned && asked == Asked::kMissing) continue;
    ZKAPEX_TRY(WitnessAnswer answer, ask_witness(witness, witness_size_[k], note_, tiles_, settings_.post));
    if (answer.ahead || answer.forked)
      return error("the witness {} contradicts this log: {}; something older was restored, and going on would fork it",
                   in_quotes(witness.key.name), answer.trouble);
    if (answer.cosignatures.empty()) {
      round.troubles.push_back(fmt::format("the witness {}: {}", in_quotes(witness.key.name), answer.trouble));
      continue;
    }
    witness_size_[k] = signed_.size;
    if (cosigned) continue;
    for (NoteSignature& signature : answer.cosignatures) note_.signatures.push_back(std::move(signature));
  }
  return Done{};
}

size_t Sequencer::cosignatures(const Note& note) const {
  size_t out = 0;
  for (const WitnessAddress& witness : settings_.witnesses) {
    const auto verified = verify_note(note, {&witness.key, 1});
    out += verified && !verified->empty() ? 1 : 0;
  }
  return out;
}

Status Sequencer::publish() {
  const std::string text = note_.encode();
  ZKAPEX_CHECK(write_file(settings_.folder / kCheckpointFile, view(text), {.overwrite = true}));
  published_ = note_;
  changed();
  return Done{};
}

}  // namespace zkapex
