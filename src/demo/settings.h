// What the demo is made of: how many images, which model, how it is trained and unlearned.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/images.h"
#include "experiments/steps.h"
#include "learning/rehearsed_request.h"

namespace zkapex::demo {

struct DemoSettings {
  Path data = default_images();
  uint64_t seed = 1;
  // "test", or "validation": images kept apart for choosing these settings.
  std::string measured_on = "test";
  std::vector<std::string> clients = {"alice", "bob"};

  // Numbers of images. `personal...` are drawings, for each client its own.
  int64_t train = 5000, validation = 2000, test = 8000;
  int64_t personal = 4000, personal_validation = 3000, personal_test = 6000;
  int64_t members = 1000;  // of the forgotten images at most, for membership inference
  std::vector<int64_t> forgotten_classes = {1, 5, 7};

  // The ViT.
  int64_t hidden = 96, layers = 4, heads = 4, intermediate = 384, patch = 7;
  TrainingOptions training, personalization;

  // The operator and its deployment.
  std::string ratio = "0.01", error = "1e-5";
  uint64_t block = 256, floor = 16;
  uint32_t curvature_bits = 8;
  double damping = Damping().value;  // of each block's mean diagonal
  int64_t saliency_samples = 1024, fisher_samples = 4000;

  // The provider's rehearsal.
  uint64_t pull = Guidance::kUsualPull;
  SimulationOptions simulation;
  RehearsalPlan rehearsal;

  [[nodiscard]] ImageDeal images() const;
  [[nodiscard]] VitShape model() const;
  [[nodiscard]] OperatorSettings unlearning() const;
  [[nodiscard]] std::string forgotten() const;  // "trouser, sandal and sneaker"
};

// Minutes on two cores.
[[nodiscard]] DemoSettings full_demo();
// The same story within seconds, too small to learn much: for tests.
[[nodiscard]] DemoSettings quick_demo();

}  // namespace zkapex::demo
