#include "log/witness.h"

#include "base/names.h"
#include "log/lines.h"

namespace zkapex {

namespace {

constexpr int kOk = 200, kConflict = 409, kUnprocessable = 422;

// What a witness answers with 200: its cosignature of this very note.
void take_cosignatures(const NoteKey& key, const Note& checkpoint, const std::string& body, WitnessAnswer& out) {
  Result<std::vector<NoteSignature>> lines = parse_signature_lines(body);
  if (!lines) {
    out.trouble = lines.error().message;
    return;
  }
  for (NoteSignature& line : *lines) {
    if (line.name != key.name || line.key_id != key.id()) continue;
    const Result<std::vector<VerifiedSignature>> verified =
        verify_note({.text = checkpoint.text, .signatures = {line}}, {&key, 1});
    if (!verified) {
      out.trouble = "its cosignature is false";
      return;
    }
    out.cosignatures.push_back(std::move(line));
    return;
  }
  out.trouble = "its answer has no cosignature of the key that is known";
}

std::optional<uint64_t> size_in(std::string_view body) {
  const std::optional<std::string_view> line = take_line(body);
  return line ? plain_decimal(*line) : std::nullopt;
}

}  // namespace

std::string add_checkpoint_body(uint64_t old_size, std::span<const TreeHash> proof, const Note& checkpoint) {
  std::string out = fmt::format("old {}\n", old_size);
  for (const TreeHash& hash : proof) out += to_base64(hash) + "\n";
  return out + "\n" + checkpoint.encode();
}

Result<WitnessAnswer> ask_witness(const WitnessAddress& witness, uint64_t known, const Note& checkpoint,
                                  TileSource& tiles, const HttpPost& post) {
  ZKAPEX_TRY(const TreeHead head, TreeHead::parse(checkpoint.text));
  WitnessAnswer out;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (known > head.size) {
      out.ahead = known;
      out.trouble = fmt::format("it has seen {} entries, and this log has {}", known, head.size);
      return out;
    }
    ZKAPEX_TRY(const std::vector<TreeHash> proof, consistency_proof(tiles, known, head.size));
    const Result<HttpAnswer> answer =
        post(witness.url + "/add-checkpoint", add_checkpoint_body(known, proof, checkpoint));
    if (!answer) {
      out.trouble = answer.error().message;
      return out;
    }
    if (answer->status == kOk) {
      take_cosignatures(witness.key, checkpoint, answer->body, out);
      return out;
    }
    out.forked = answer->status == kUnprocessable;
    out.trouble = out.forked ? "it holds that this log does not continue the one that it has seen"
                             : fmt::format("it answers with status {}", answer->status);
    const std::optional<uint64_t> size = answer->status == kConflict ? size_in(answer->body) : std::nullopt;
    if (!size || *size == known) return out;
    known = *size;
  }
  if (known > head.size) out.ahead = known;
  return out;
}

}  // namespace zkapex
