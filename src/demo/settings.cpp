#include "demo/settings.h"

#include <fmt/ranges.h>

namespace zkapex::demo {

ImageDeal DemoSettings::images() const {
  return {.data = data,
          .seed = seed,
          .clients = static_cast<int64_t>(clients.size()),
          .train = train,
          .validation = validation,
          .test = test,
          .personal = personal,
          .personal_validation = personal_validation,
          .personal_test = personal_test,
          .forget = fmt::format("classes:{}", fmt::join(forgotten_classes, ",")),
          .spare_percent = 60};
}

std::string DemoSettings::forgotten() const {
  std::string out;
  for (size_t k = 0; k < forgotten_classes.size(); ++k) {
    if (k > 0) out += k + 1 == forgotten_classes.size() ? " and " : ", ";
    out += class_names()[static_cast<size_t>(forgotten_classes[k])];
  }
  return out;
}

VitShape DemoSettings::model() const {
  return {.hidden = hidden, .layers = layers, .heads = heads, .intermediate = intermediate, .patch = patch};
}

OperatorSettings DemoSettings::unlearning() const {
  return {.ratio = ratio,
          .error = error,
          .block = block,
          .floor = floor,
          .curvature_bits = curvature_bits,
          .damping = {Damping::Kind::kRelative, damping},
          .saliency_samples = saliency_samples,
          .fisher_samples = fisher_samples};
}

DemoSettings full_demo() {
  DemoSettings s;
  // Model and rates are those of experiments/vision.json; epochs, simulated clients and steps of the rehearsal are
  // fewer, for the time. After fine-tuning on sketches without them, photos of the classes are still recognised, so
  // that there is something to forget; a layer decay keeps what the lower blocks learned from photos.
  s.layers = 6;
  s.training = {.epochs = 16, .batch = 64, .rate = 5e-4, .warmup = 0.05};
  s.personalization = {.epochs = 4, .batch = 32, .rate = 2e-4, .layer_decay = 0.75, .warmup = 0.05};
  s.simulation.training = {.epochs = 1, .batch = 32, .rate = 2e-4, .layer_decay = 0.75, .warmup = 0.05};
  s.simulation.fisher_samples = 512;
  s.rehearsal.domains = {"inverted", "half"};
  // Chosen on validation images (scripts/tune demo): a mask large enough for what it takes to be told from noise,
  // little damping for most of it to be given back, a weak pull, which leaves the rest to the clients' own curvature,
  // and a guide of many small steps that forgets no more than it has to.
  s.ratio = "0.16";
  s.damping = 0.002;
  s.pull = 100;
  s.rehearsal.options.steps = 600;
  s.rehearsal.options.batch = 32;
  s.rehearsal.options.rate = 5e-4;
  s.rehearsal.options.weight = 0.3;
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
  s.saliency_samples = s.fisher_samples = s.simulation.fisher_samples = 48;
  s.ratio = DemoSettings().ratio, s.damping = DemoSettings().damping;
  s.pull = DemoSettings().pull;  // a model that knows nothing is hardly drawn by less
  s.rehearsal.domains = {"inverted"};
  s.rehearsal.options = {.steps = 10, .batch = 16};
  return s;
}

}  // namespace zkapex::demo
