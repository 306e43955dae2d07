// Who gets which images: photos for the provider, drawings for each client, and what is kept apart to measure on.
#pragma once

#include "base/files.h"
#include "learning/dataset.h"

namespace zkapex {

// Debian's dataset-fashion-mnist.
[[nodiscard]] Path default_images();
inline constexpr int64_t kImageSize = 28;
// Of Fashion-MNIST, in the order of the labels.
[[nodiscard]] const std::vector<std::string>& class_names();

struct ImageDeal {
  Path data;  // folder with the IDX files of Fashion-MNIST
  uint64_t seed = 1;
  int64_t clients = 1;
  // Numbers of images. `personal…` are drawings, for each client its own.
  int64_t train = 40000, validation = 2000, test = 8000;
  int64_t personal = 4000, personal_validation = 1000, personal_test = 3000;
  std::string forget = "class:0";  // see SplitOptions
  bool overlap = false;            // whether clients have drawings of forgotten classes too
  // Images set apart for drawings beyond those needed: what is of forgotten classes falls out.
  int64_t spare_percent = 25;
};

// One split file per client. All share "train", "forget", "retain" (photos of the provider) and "validation", "test"
// (photos that nobody trains on), of which "forget-validation" and "forget-test" are the part that is like the
// forgotten images: of their classes, or all where the request is not by class. "retain-validation" and "retain-test"
// are the rest of them, or again all. "personal", "personal-validation" and
// "personal-test" are the client's own drawings, of images that are in no other set. Unless the deal
// says so, none is of a class that is forgotten: with such drawings compensation would bring it back, as a part of what
// the client wants.
//
// "train", "test" and "validation" do not depend on what is forgotten. Validation images are drawn from the same part
// of the files for every seed, and from nowhere else: no seed trains or tests on an image that another chose settings
// on.
[[nodiscard]] Result<std::vector<Splits>> deal_images(const ImageDeal& deal);

[[nodiscard]] InputFormat image_format();

// A ViT for these images.
struct VitShape {
  int64_t hidden = 96, layers = 4, heads = 4, intermediate = 384, patch = 7;
};
// Its config.json.
[[nodiscard]] nlohmann::json vit_config(const VitShape& shape);

}  // namespace zkapex
