#include "log/log_testing.h"

#include <unistd.h>

#include "log/lines.h"

namespace zkapex::testing {

SigningKey fixed_key(uint8_t seed) { return *SigningKey::from_seed(Bytes(32, seed)); }

NoteKey log_key(const std::string& origin, const SigningKey& key) {
  return *NoteKey::make(origin, NoteKeyType::kLog, key.public_key());
}

NoteKey witness_key(const std::string& name, const SigningKey& key) {
  return *NoteKey::make(name, NoteKeyType::kWitness, key.public_key());
}

Result<std::vector<QueuedEntry>> MemoryLogStore::queued(size_t most) {
  return std::vector<QueuedEntry>(queue_.begin(),
                                  queue_.begin() + static_cast<ptrdiff_t>(std::min(most, queue_.size())));
}

Result<bool> MemoryLogStore::place(uint64_t expected, std::span<const PlacedEntry> entries) {
  if (before_place) std::exchange(before_place, nullptr)();
  if (expected != placed_.size()) return false;
  for (const PlacedEntry& entry : entries) {
    const auto at = std::find_if(queue_.begin(), queue_.end(), [&](const auto& q) { return q.id == entry.id; });
    if (at == queue_.end()) return false;
    placed_.push_back(at->entry);
    queue_.erase(at);
  }
  return true;
}

Result<std::vector<Bytes>> MemoryLogStore::entries(uint64_t begin, uint64_t end) {
  return std::vector<Bytes>(placed_.begin() + static_cast<ptrdiff_t>(begin),
                            placed_.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(end, placed_.size())));
}

Result<std::optional<std::string>> MemoryLogStore::last_checkpoint() {
  return checkpoints.empty() ? std::nullopt : std::optional(checkpoints.rbegin()->second);
}

Result<std::string> MemoryLogStore::insert_checkpoint(uint64_t size, const std::string& note) {
  return checkpoints.emplace(size, note).first->second;
}

HttpAnswer TestWitness::answer(std::string_view body) {
  const auto old = take_line(body);
  std::vector<TreeHash> proof;
  auto line = take_line(body);
  for (; line && !line->empty(); line = take_line(body)) proof.push_back(*hash_in_base64(*line));
  const auto old_size = old && old->starts_with("old ") ? plain_decimal(old->substr(4)) : std::nullopt;
  const Result<Note> note = Note::parse(body);
  if (!old_size || !line || !note) return {400, "malformed"};
  const uint64_t before = *old_size;
  const Result<TreeHead> head = open_checkpoint(*note, log_);
  if (!head) return {403, head.error().message};
  if (before > head->size) return {400, "old size"};
  if (before != size) return {409, fmt::format("{}\n", size)};
  if (!check_consistency(size, root, head->size, head->root, proof)) return {422, "fork"};
  size = head->size;
  root = head->root;
  return {200, cosign_note(note->text, name_, key_, now)->line()};
}

HttpPost post_to(std::vector<TestWitness*> witnesses) {
  return [witnesses](const std::string& url, const std::string& body) -> Result<HttpAnswer> {
    for (TestWitness* witness : witnesses) {
      if (url == witness->address().url + "/add-checkpoint") return witness->answer(body);
    }
    return error("nobody answers at {}", url);
  };
}

TestFolder::TestFolder(const std::string& name)
    : path_(std::filesystem::temp_directory_path() / fmt::format("zkapex-{}-{}", name, ::getpid())) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace zkapex::testing
