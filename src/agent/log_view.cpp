#include "agent/log_view.h"

#include "base/names.h"
#include "base/temporaries.h"

namespace zkapex {

namespace {

constexpr int kFound = 200, kNotFound = 404;

Result<LogSight> open_sight(std::string_view bytes, const Policy& policy) {
  ZKAPEX_TRY(Note note, Note::parse(bytes));
  ZKAPEX_TRY(Policy::Opened opened, policy.open(note));
  return LogSight{std::move(opened.checkpoint), std::move(note)};
}

// One folder with both notes, complete or not at all.
Status keep_evidence(const AgentFolder& folder, const LogSight& seen, const LogSight& offered) {
  std::error_code failed;
  if (std::filesystem::exists(folder.split_view(), failed)) return Done{};
  ZKAPEX_TRY(TemporaryFolder evidence, TemporaryFolder::create(folder.split_view()));
  ZKAPEX_CHECK(write_file(evidence.file("seen"), view(seen.note.encode()), {.secret = true}));
  ZKAPEX_CHECK(write_file(evidence.file("offered"), view(offered.note.encode()), {.secret = true}));
  return evidence.commit();
}

// Whether the tree that the log shows now begins with the one that was seen. An error where that cannot be told: tiles
// prove nothing by themselves, only against the root that was signed.
Result<bool> continues(const TreeHead& seen, const TreeHead& now, TileSource& log) {
  if (now.size == seen.size) return now.root == seen.root;
  if (now.size < seen.size)
    return error("the log answers with {} entries, and it had {} before: an old copy", now.size, seen.size);
  ZKAPEX_TRY(const std::vector<TreeHash> proof, consistency_proof(log, seen.size, now.size));
  if (check_consistency(seen.size, seen.root, now.size, now.root, proof)) return true;
  ZKAPEX_TRY(const TreeHash root, tree_root(log, now.size));
  if (root != now.root) return error("the log's tiles are not those of its checkpoint");
  return false;
}

}  // namespace

Result<std::optional<Bytes>> WebTiles::read(const std::string& path, size_t max_bytes) {
  ZKAPEX_TRY(WebAnswer answer, web_->send({.url = fmt::format("{}/{}", address_, path), .max_answer = max_bytes}));
  if (answer.status == kNotFound) return std::optional<Bytes>();
  if (answer.status != kFound) return error("{}/{} answers with status {}", address_, path, answer.status);
  return std::optional(std::move(answer.body));
}

Result<std::optional<LogSight>> last_sight(const AgentFolder& folder, const Policy& policy) {
  std::error_code failed;
  if (!std::filesystem::exists(folder.checkpoint(), failed)) return std::optional<LogSight>();
  ZKAPEX_TRY(const Bytes bytes, read_file(folder.checkpoint(), kMaxNoteBytes));
  Result<LogSight> sight = open_sight({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, policy);
  if (!sight) return sight.error().within(folder.checkpoint().string());
  sight->split = std::filesystem::exists(folder.split_view(), failed);
  return std::optional(*std::move(sight));
}

Result<LogSight> look_at_log(const AgentFolder& folder, const Policy& policy, TileSource& log) {
  ZKAPEX_TRY(const std::optional<LogSight> seen, last_sight(folder, policy));
  ZKAPEX_TRY(const std::optional<Bytes> bytes, log.read("checkpoint", kMaxNoteBytes));
  if (!bytes) return error("the log has no checkpoint yet");
  ZKAPEX_TRY(LogSight now, open_sight({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, policy));
  if (seen) {
    if (seen->head.origin != now.head.origin)
      return error("the checkpoint is of the log {}, not of {}", in_quotes(now.head.origin),
                   in_quotes(seen->head.origin));
    ZKAPEX_TRY(const bool same_history, continues(seen->head, now.head, log));
    if (!same_history) {
      ZKAPEX_CHECK(keep_evidence(folder, *seen, now));
      now.split = true;
      return now;
    }
  }
  ZKAPEX_CHECK(write_file(folder.checkpoint(), view(now.note.encode()), {.overwrite = true, .secret = true}));
  return now;
}

}  // namespace zkapex
