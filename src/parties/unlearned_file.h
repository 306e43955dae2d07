// The unlearned model as a checkpoint: exactly the integers that the proof is about.
#pragma once

#include "unlearning/deployment.h"
#include "weights/checkpoint.h"
#include "weights/packed_weights.h"

namespace zkapex {

// A covered tensor whose old type cannot hold every new weight, and the one that does.
struct Widened {
  std::string tensor;
  Dtype from, to;
};

// Covered tensors have the type of `model`, or else F32, or else F64: the first that holds every weight exactly (F64
// holds any 53-bit integer). Other tensors are copied. The file is still to be committed.
[[nodiscard]] Result<std::vector<Widened>> write_unlearned(FileWriter& file, const Deployment& deployment,
                                                           const Checkpoint& model, const CoordinateReader& weights);

}  // namespace zkapex
