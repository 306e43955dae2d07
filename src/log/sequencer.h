// The one that puts entries into the log: gives them their places, writes tiles, signs checkpoints, asks witnesses,
// publishes. Killed anywhere, the next one goes on where it was; two at a time cannot fork the log.
#pragma once

#include "log/witness.h"

namespace zkapex {

struct QueuedEntry {
  uint64_t id = 0;  // of the queue's row
  Bytes entry;
};
struct PlacedEntry {
  uint64_t id = 0;
  TreeHash leaf{};
};

// What the sequencer keeps in the provider's database.
class LogStore {
 public:
  virtual ~LogStore() = default;

  // How many entries have a place.
  [[nodiscard]] virtual Result<uint64_t> size() = 0;
  // Entries without a place, oldest first.
  [[nodiscard]] virtual Result<std::vector<QueuedEntry>> queued(size_t most) = 0;
  // In one transaction: where size() is still `expected`, entry k of these gets place expected + k, and its leaf hash
  // is stored. False, and nothing is changed, where size() is another one by now or an entry has a place already.
  [[nodiscard]] virtual Result<bool> place(uint64_t expected, std::span<const PlacedEntry> entries) = 0;
  // Entries at places [begin, end), as they were queued.
  [[nodiscard]] virtual Result<std::vector<Bytes>> entries(uint64_t begin, uint64_t end) = 0;

  // The note of the largest size that was inserted; none in a new log.
  [[nodiscard]] virtual Result<std::optional<std::string>> last_checkpoint() = 0;
  // The size is the primary key: gives back the note that the table has for it afterwards, this one or an earlier.
  [[nodiscard]] virtual Result<std::string> insert_checkpoint(uint64_t size, const std::string& note) = 0;
};

struct SequencerSettings {
  Path folder;  // of the log: tiles and `checkpoint`
  std::string origin;
  std::vector<WitnessAddress> witnesses = {};
  size_t cosignatures = 0;                     // a checkpoint is published once it has so many
  HttpPost post = {};                          // only with witnesses
  size_t most = 4096;                          // entries of one round
  std::function<void()> between_changes = {};  // for tests: called between any two changes on disk
};

struct SequencerRound {
  uint64_t size = 0;                  // of the tree now
  uint64_t published = 0;             // of the checkpoint that everybody sees
  size_t placed = 0;                  // entries that got their place in this round
  std::vector<std::string> troubles;  // of witnesses, a sentence each
};

class Sequencer {
 public:
  // Holds the folder. Recomputes the right edge from the tiles and refuses to go on where it is not what was signed,
  // where the published checkpoint is ahead of the database, or where a witness has seen more: each means that
  // something older was restored, and going on would fork the log.
  [[nodiscard]] static Result<Sequencer> open(LogStore& store, SigningKey key, SequencerSettings settings);

  // Places what is queued, and publishes. Run again and again; an error leaves everything so that the next run may go
  // on. A log without entries has a checkpoint too.
  [[nodiscard]] Result<SequencerRound> run();

 private:
  Sequencer(LogStore& store, SigningKey key, NoteKey verifier, SequencerSettings settings, FolderLock lock)
      : store_(&store),
        key_(std::move(key)),
        verifier_(std::move(verifier)),
        settings_(std::move(settings)),
        lock_(std::move(lock)),
        tiles_(settings_.folder) {}

  [[nodiscard]] Status load();
  [[nodiscard]] Status check_right_edge();
  [[nodiscard]] Result<size_t> place_queued();
  [[nodiscard]] Status write_tiles(uint64_t old_size, uint64_t new_size);
  [[nodiscard]] Status write_upper_tiles(unsigned level, uint64_t old_size, uint64_t new_size);
  [[nodiscard]] Status write_tile(const TileName& tile, ByteView bytes);
  [[nodiscard]] Status sign(uint64_t size);
  enum class Asked { kAll, kMissing };  // which witnesses: on start all of them
  [[nodiscard]] Status ask_witnesses(Asked asked, SequencerRound& round);
  [[nodiscard]] Status publish();
  [[nodiscard]] size_t cosignatures(const Note& note) const;
  void changed() const {
    if (settings_.between_changes) settings_.between_changes();
  }

  LogStore* store_;
  SigningKey key_;
  NoteKey verifier_;
  SequencerSettings settings_;
  FolderLock lock_;
  TileFolder tiles_;
  TreeHead signed_;                     // the last one; its tiles are there
  Note note_;                           // the same with signatures; of witnesses too, once they gave some
  std::optional<Note> published_;       // what everybody sees
  std::vector<uint64_t> witness_size_;  // what each witness is known to have seen
};

}  // namespace zkapex
