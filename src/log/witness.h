// A log's side of the witness protocol (C2SP tlog-witness): it asks for a cosignature of its checkpoint.
#pragma once

#include <functional>

#include "log/checkpoint.h"
#include "log/tiles.h"

namespace zkapex {

struct HttpAnswer {
  int status = 0;
  std::string body;
};
// Posts a body of text to a URL; an error where no answer came. Bounded in time and length by who implements it.
using HttpPost = std::function<Result<HttpAnswer>(const std::string& url, const std::string& body)>;

struct WitnessAddress {
  NoteKey key;
  std::string url;  // the submission prefix
};

struct WitnessAnswer {
  std::vector<NoteSignature> cosignatures;  // verified; empty where the witness gave none
  std::optional<uint64_t> ahead;            // the witness has seen a larger tree, of that size
  bool forked = false;                      // it holds that this tree does not continue the one it saw
  std::string trouble;                      // why there is no cosignature, in a sentence
};

// Asks once with `known`, the size that the witness has as far as one knows, and once more with the one that it says.
// Errors are of the tiles only; whatever the witness does is in the answer.
[[nodiscard]] Result<WitnessAnswer> ask_witness(const WitnessAddress& witness, uint64_t known, const Note& checkpoint,
                                                TileSource& tiles, const HttpPost& post);

// "old SIZE\n", the proof, an empty line, the checkpoint.
[[nodiscard]] std::string add_checkpoint_body(uint64_t old_size, std::span<const TreeHash> proof,
                                              const Note& checkpoint);

}  // namespace zkapex
