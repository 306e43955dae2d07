// What the guided operator makes of one client, as a map of the guide: with R = (A_CC + t I)⁻¹, block by block,
//
//   θ_u = start + K Δ,   K = t R,   start = θ_C + R A_CM θ_M,   all zero on the mask M
//
// in floats, to be differentiated: the gradient of a loss by Δ is K times that by θ_u.
#pragma once

#include <span>
#include <vector>

#include "base/files.h"
#include "curvature/store.h"
#include "learning/model.h"
#include "weights/layout.h"

namespace zkapex {

class Deployment;

class GuidedMap {
 public:
  // Of a client with the weights of `model` and the factors of `store`, for a request that removes the weights
  // `masked` and pulls by t. On the model's device.
  [[nodiscard]] static Result<GuidedMap> make(const Deployment& deployment, std::span<const uint64_t> masked,
                                              uint64_t pull, const StoreReader& store, Model& model);
  // The memory that one takes.
  [[nodiscard]] static uint64_t bytes(const Layout& layout);

  // Of covered tensor k; both in its shape.
  [[nodiscard]] Tensor weights(size_t k, const Tensor& guide) const;
  [[nodiscard]] Tensor guide_gradient(size_t k, const Tensor& gradient) const;

 private:
  struct Part {
    Tensor start;     // like the weight
    Tensor response;  // K, [blocks, B, B]
  };
  [[nodiscard]] Tensor respond(size_t k, const Tensor& flat) const;

  std::vector<Part> parts_;  // of each covered tensor
};

}  // namespace zkapex
