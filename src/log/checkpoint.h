// A checkpoint: what a log says it is at some size, as a signed note (C2SP tlog-checkpoint).
#pragma once

#include "log/merkle.h"
#include "log/note.h"

namespace zkapex {

struct TreeHead {
  std::string origin;  // which log: a URL without its scheme, and the name of the log's key
  uint64_t size = 0;
  TreeHash root{};

  // "origin\nsize\nbase64(root)\n"
  [[nodiscard]] std::string text() const;
  // Lines after the third are allowed, if they are not empty, and ignored.
  [[nodiscard]] static Result<TreeHead> parse(std::string_view text);
  bool operator==(const TreeHead&) const = default;
};

// Signed by the log; key and origin have one name.
[[nodiscard]] Result<Note> sign_checkpoint(const TreeHead& checkpoint, const SigningKey& key);

// The checkpoint in a note that this key has signed, for the origin that is the key's name.
[[nodiscard]] Result<TreeHead> open_checkpoint(const Note& note, const NoteKey& log);

}  // namespace zkapex
