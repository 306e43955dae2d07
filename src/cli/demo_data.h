// The demo's images: photos for the provider, drawings for each client, and what is kept apart to measure on.
#pragma once

#include "cli/demo_settings.h"
#include "learning/dataset.h"

namespace zkapex::cli {

// One split file per client. All share "train", "forget", "retain" (photos of the provider) and "validation", "test",
// "forget-validation", "forget-test" (photos that nobody trains on). "personal", "personal-validation" and
// "personal-test" are the client's own drawings, in chalk: of images that are in no other set, none of the forgotten
// class. (With drawings of the class among them compensation would bring it back, as a part of what the client wants.)
[[nodiscard]] Result<std::vector<Splits>> demo_splits(const DemoSettings& settings);

[[nodiscard]] InputFormat demo_format();
inline constexpr int64_t kDemoImageSize = 28;

// The model's config.json.
[[nodiscard]] nlohmann::json demo_model_config(const DemoSettings& settings);

}  // namespace zkapex::cli
