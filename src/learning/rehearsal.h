// The provider's rehearsal: a displacement Δ of its own model that makes clients forget when the guided operator draws
// them there, found on clients that it imagines.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learning/dataset.h"
#include "learning/guided_map.h"

namespace zkapex {

// What is to be lost: that these classes are ever an answer, or that samples can be told from ones never seen.
enum class Forgetting { kClasses, kSamples };
[[nodiscard]] Result<Forgetting> forgetting_named(std::string_view name);

struct SimulatedClient {
  std::string name;
  std::unique_ptr<Model> model;  // θ_k
  Samples retained;              // D_r in the client's domain
  GuidedMap map;
};

// The provider's data.
struct RehearsalData {
  Samples forget, retain;
  std::optional<Samples> held_out;  // never trained on: what losses of forgotten samples should look like
};

struct RehearsalOptions {
  Forgetting forgetting = Forgetting::kClasses;
  int64_t steps = 400, batch = 64;
  double rate = 1e-3, weight = 1;  // of Adam; of forgetting against keeping
  uint64_t seed = 0;
  std::optional<std::filesystem::path> checkpoint = {};  // to go on from, written every so many steps
  int64_t checkpoint_every = 50;

  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string text() const;  // all that decides the result, to be compared on resuming
};

struct RehearsalStep {
  int64_t step, total;
  double keep, forget;  // losses
};
using RehearsalObserver = std::function<Status(const RehearsalStep&)>;

// Adam on Δ, client after client, at a rate that falls to zero: at θ_k's weights after the operator,
//   keep    KL from θ_k's own answers, on D_r as it is and in the client's domain
//   forget  classes: −log(1 − Σ p of the forgotten ones), on D_f
//           samples: mean |sorted losses on D_f − quantiles of θ_k's losses on held-out data|
// One tensor for each covered weight. Deterministic given options and number of threads.
[[nodiscard]] Result<std::vector<Tensor>> rehearse(const std::vector<SimulatedClient>& clients,
                                                   const std::vector<std::string>& covered, const RehearsalData& data,
                                                   const RehearsalOptions& options,
                                                   const RehearsalObserver& observe = {});

}  // namespace zkapex
