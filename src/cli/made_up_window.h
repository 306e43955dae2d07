// Weights, curvature and mask of a window at the size of a real model, made up from a seed.
#pragma once

#include "attestation/registration_relation.h"
#include "base/progress.h"
#include "curvature/factor.h"
#include "curvature/store.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"
#include "weights/packed_weights.h"

namespace zkapex::cli {

// Weights of a normal kind, deviation 0.02, by coordinate. The deployment outlives it.
[[nodiscard]] CoordinateReader made_up_weights(const Deployment& deployment, uint64_t seed);

// A base model near those weights: 1/32 larger, each of them. The deployment outlives it.
[[nodiscard]] BaseRows made_up_base(const Deployment& deployment, uint64_t seed);
// The same deployment anchored there; all of its tensors are covered.
[[nodiscard]] Result<Deployment> made_up_anchor(const Deployment& deployment, const BaseRows& base, ThreadPool& pool);

// Factors of low rank plus damping, one after another: each is made from gradients of 64 samples.
[[nodiscard]] Result<std::vector<int16_t>> made_up_factors(const FactorSettings& settings, size_t count, uint64_t seed);

// Each block is one of 32 made-up factors with the signs of its coordinates drawn anew, which is again such a factor.
[[nodiscard]] Status make_up_store(const Path& path, const Deployment& deployment, uint64_t seed, ThreadPool& pool,
                                   ProgressStyle style);

// About this part of the weights; with a guide two of three others are drawn by a tenth of their deviation, and rules
// are as loose as they can be.
[[nodiscard]] Result<Mask> made_up_mask(const Deployment& deployment, double ratio, uint64_t seed, bool guided);

}  // namespace zkapex::cli
