// The frame that small files share: eight bytes that say what it is, a version, the content, and a digest of all that.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"

namespace zkapex {

struct FileKind {
  std::string_view magic;  // eight characters
  uint32_t version;
  std::string_view name;  // in messages: "a deployment"
};

[[nodiscard]] Bytes frame(const FileKind& kind, ByteView content);
// The content, after magic, version and digest have been checked.
[[nodiscard]] Result<ByteView> unframe(const FileKind& kind, ByteView file);
// The digest at the end of a framed file: what other files name it by.
[[nodiscard]] Sha256::Digest frame_digest(const FileKind& kind, ByteView content);

}  // namespace zkapex
