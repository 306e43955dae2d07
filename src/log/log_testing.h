// What tests of logs share: a store in memory, a witness, and keys that are the same each time.
#pragma once

#include <map>

#include "log/policy.h"
#include "log/sequencer.h"

namespace zkapex::testing {

// The Ed25519 key whose seed is 32 times that byte.
[[nodiscard]] SigningKey fixed_key(uint8_t seed);
[[nodiscard]] NoteKey log_key(const std::string& origin, const SigningKey& key);
[[nodiscard]] NoteKey witness_key(const std::string& name, const SigningKey& key);

class MemoryLogStore : public LogStore {
 public:
  void queue(Bytes entry) { queue_.push_back({.id = next_++, .entry = std::move(entry)}); }
  void queue(std::string_view entry) { queue(Bytes(entry.begin(), entry.end())); }

  Result<uint64_t> size() override { return placed_.size(); }
  Result<std::vector<QueuedEntry>> queued(size_t most) override;
  Result<bool> place(uint64_t expected, std::span<const PlacedEntry> entries) override;
  Result<std::vector<Bytes>> entries(uint64_t begin, uint64_t end) override;
  Result<std::optional<std::string>> last_checkpoint() override;
  Result<std::string> insert_checkpoint(uint64_t size, const std::string& note) override;

  std::function<void()> before_place;  // somebody else comes first
  std::map<uint64_t, std::string> checkpoints;

 private:
  std::vector<QueuedEntry> queue_;
  std::vector<Bytes> placed_;
  uint64_t next_ = 1;
};

// A witness as the protocol has it, in memory.
class TestWitness {
 public:
  TestWitness(std::string name, uint8_t seed, NoteKey log)
      : name_(std::move(name)), key_(fixed_key(seed)), log_(std::move(log)) {}

  [[nodiscard]] WitnessAddress address() const { return {witness_key(name_, key_), "http://" + name_}; }
  [[nodiscard]] HttpAnswer answer(std::string_view body);

  uint64_t size = 0;
  TreeHash root = empty_tree_hash();
  UnixTime now = 1'700'000'000;

 private:
  std::string name_;
  SigningKey key_;
  NoteKey log_;
};

// Asks the one that has the URL.
[[nodiscard]] HttpPost post_to(std::vector<TestWitness*> witnesses);

// A folder of its own, gone with this.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name);
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  Path path_;
};

}  // namespace zkapex::testing
