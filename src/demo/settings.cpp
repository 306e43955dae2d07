#include "demo/settings.h"

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
          .forget = fmt::format("class:{}", forgotten_class)};
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
  // Model and rates are those of experiments/vision.json; epochs are fewer, for the time. Mask and damping were chosen
  // on validation images: with less damping, or a smaller mask, compensation brings more of the class back, with more
  // it gives back less of what the mask takes. After fine-tuning on sketches without them, photos of sneakers are still
  // recognised, so that there is something to forget; a layer decay keeps what the lower blocks learned from photos.
  s.forgotten_class = 7;
  s.layers = 6;
  s.training = {.epochs = 16, .batch = 64, .rate = 5e-4, .warmup = 0.05};
  s.personalization = {.epochs = 4, .batch = 32, .rate = 2e-4, .layer_decay = 0.75, .warmup = 0.05};
  s.ratio = "0.08";
  s.damping = 0.1;
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

}  // namespace zkapex::demo
