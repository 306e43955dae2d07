#include "cli/demo_settings.h"

namespace zkapex::cli {

const std::vector<std::string>& DemoSettings::class_names() {
  static const std::vector<std::string> names = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                                 "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
  return names;
}

DemoSettings full_demo() {
  DemoSettings s;
  s.forgotten_class = 8;
  s.training = {.epochs = 2, .batch = 64, .rate = 1.5e-3, .warmup = 0.05};
  s.personalization = {.epochs = 4, .batch = 32, .rate = 5e-4, .layer_decay = 0.8, .warmup = 0.05};
  return s;
}

DemoSettings quick_demo() {
  DemoSettings s = full_demo();
  s.train = 600, s.validation = 120, s.test = 240;
  s.personal = 100, s.personal_validation = 30, s.personal_test = 60;
  s.members = 40;
  s.hidden = 16, s.layers = 2, s.heads = 2, s.intermediate = 32, s.patch = 7;
  s.training.epochs = s.personalization.epochs = 1;
  s.block = 32;
  s.saliency_samples = s.fisher_samples = 48;
  return s;
}

}  // namespace zkapex::cli
