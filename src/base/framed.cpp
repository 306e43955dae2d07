#include "base/framed.h"

#include <algorithm>

#include "base/file_kind.h"

namespace zkapex {

Bytes frame(const FileKind& kind, ByteView content) {
  ByteWriter out;
  out.raw(view(kind.magic));
  out.u32(kind.version);
  out.raw(content);
  const auto digest = sha256(out.bytes());
  out.raw(digest);
  return out.take();
}

Result<ByteView> unframe(const FileKind& kind, ByteView file) {
  const size_t head = kind.magic.size() + 4, tail = Sha256::Digest().size();
  if (file.size() < kind.magic.size() || !std::equal(kind.magic.begin(), kind.magic.end(), file.begin()))
    return wrong_kind(file, kind.name);
  if (file.size() < head + tail) return error("{} of {} bytes: the file is truncated", kind.name, file.size());
  ByteReader reader(file.subspan(kind.magic.size()));
  ZKAPEX_TRY(const uint32_t version, reader.u32());
  if (version != kind.version)
    return error("this is {} file of version {}; version {} is supported", kind.name, version, kind.version);
  const ByteView covered = file.first(file.size() - tail), digest = file.last(tail);
  if (!std::ranges::equal(sha256(covered), digest)) return error("the digest does not match: the file is damaged");
  return covered.subspan(head);
}

Sha256::Digest frame_digest(const FileKind& kind, ByteView content) {
  const Bytes file = frame(kind, content);
  Sha256::Digest out;
  std::copy(file.end() - static_cast<ptrdiff_t>(out.size()), file.end(), out.begin());
  return out;
}

}  // namespace zkapex
