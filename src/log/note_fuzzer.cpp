// Notes, checkpoints and verifier keys from strangers: what is accepted is written back to the same bytes.
#include <cstdlib>

#include "log/checkpoint.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto note = Note::parse(text); note.ok()) {
    require(note->encode() == text);
    if (const auto head = TreeHead::parse(note->text); head.ok()) {
      require(note->text.starts_with(head->text()));
      require(TreeHead::parse(head->text()).ok());
    }
  }
  if (const auto key = NoteKey::parse(text); key.ok()) require(key->vkey() == text);
  return 0;
}
