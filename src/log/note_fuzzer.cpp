// Notes, checkpoints and verifier keys from strangers: what is accepted is written back to the same bytes. And what a
// witness answers: nothing but its own signature is a cosignature.
#include <cstdlib>

#include "log/witness.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

class NoTiles : public zkapex::TileSource {
 public:
  zkapex::Result<std::optional<zkapex::Bytes>> read(const std::string&, size_t) override {
    return std::optional<zkapex::Bytes>();
  }
};

void answer_as_a_witness(std::string_view text) {
  using namespace zkapex;
  static const SigningKey log = SigningKey::generate().value(), witness = SigningKey::generate().value();
  static const NoteKey key = NoteKey::make("witness.example", NoteKeyType::kWitness, witness.public_key()).value();
  static const Note checkpoint =
      sign_checkpoint({.origin = "log.example", .size = 3, .root = empty_tree_hash()}, log).value();
  NoTiles tiles;
  for (const int status : {200, 409}) {
    const auto post = [&](const std::string&, const std::string&) -> Result<HttpAnswer> {
      return HttpAnswer{status, std::string(text)};
    };
    const auto answer = ask_witness({key, "http://witness.example"}, 0, checkpoint, tiles, post);
    if (answer.ok()) require(answer->cosignatures.empty() && !answer->trouble.empty());
  }
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
  answer_as_a_witness(text);
  return 0;
}
