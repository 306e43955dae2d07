#include "log/checkpoint.h"

#include "base/names.h"
#include "log/lines.h"

namespace zkapex {

std::string TreeHead::text() const { return fmt::format("{}\n{}\n{}\n", origin, size, to_base64(root)); }

Result<TreeHead> TreeHead::parse(std::string_view text) {
  const Error bad = error("a checkpoint begins with lines of origin, size and root");
  const auto origin = take_line(text), size_line = take_line(text), root_line = take_line(text);
  if (!origin || origin->empty() || !size_line || !root_line) return bad;
  const std::optional<uint64_t> size = plain_decimal(*size_line);
  const std::optional<TreeHash> root = hash_in_base64(*root_line);
  if (!size || !root) return bad;
  while (!text.empty()) {
    const auto extension = take_line(text);
    if (!extension || extension->empty()) return error("a checkpoint has no empty lines");
  }
  if (*size == 0 && *root != empty_tree_hash()) return error("the root of the empty log is another one");
  return TreeHead{std::string(*origin), *size, *root};
}

Result<Note> sign_checkpoint(const TreeHead& checkpoint, const SigningKey& key) {
  Note out{.text = checkpoint.text(), .signatures = {}};
  ZKAPEX_TRY(NoteSignature signature, sign_note(out.text, checkpoint.origin, key));
  out.signatures.push_back(std::move(signature));
  return out;
}

Result<TreeHead> open_checkpoint(const Note& note, const NoteKey& log) {
  ZKAPEX_TRY(TreeHead out, TreeHead::parse(note.text));
  if (out.origin != log.name)
    return error("this is a checkpoint of {}, not of {}", in_quotes(out.origin), in_quotes(log.name));
  ZKAPEX_TRY(const auto signatures, verify_note(note, {&log, 1}));
  if (log.type != NoteKeyType::kLog || signatures.empty())
    return error("the checkpoint is not signed by the log {}", in_quotes(log.name));
  return out;
}

}  // namespace zkapex
