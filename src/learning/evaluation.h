// What a model does on data: accuracy, perplexity, how far its predictions are from another model's.
#pragma once

#include <vector>

#include "learning/fisher.h"

namespace zkapex {

struct Evaluation {
  int64_t samples = 0, predictions = 0;  // one prediction per image, or per token
  double accuracy = 0;                   // share of predictions whose likeliest answer is right
  double mean_loss = 0;                  // cross entropy per prediction, natural logarithm
  double perplexity = 0;                 // exp(mean_loss)
  std::vector<double> losses;            // per sample
};
[[nodiscard]] Result<Evaluation> evaluate(const Model& model, const BatchSource& batches);

// The paper's alignment: the mean over predictions of KL(p_model ‖ p_reference).
[[nodiscard]] Result<double> alignment(const Model& model, const Model& reference, const BatchSource& batches);

// How much of what masking alone destroyed was given back: (after − masked) / (before − masked). Not a number when
// masking destroyed nothing.
[[nodiscard]] double recovery(double before, double masked, double after);

}  // namespace zkapex
