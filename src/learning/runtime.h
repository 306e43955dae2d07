// The state of libtorch that a run depends on, and what a run leaves behind to be repeated: a record in JSON.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "learning/model.h"

namespace zkapex {

// Threads for libtorch and its BLAS; 0: one for each processor that is free, since threads that wait for each other
// after every step are slower than one where they have to share. Deterministic algorithms where libtorch has a choice,
// and products of floats in floats: no shorter format on a GPU. To be called before a GPU is used.
void start_libtorch(unsigned threads);

// "cpu", "cuda" or "cuda:1"; an error where there is no such device, or the libtorch at hand does not know it.
[[nodiscard]] Result<Placement> placement_on(const std::string& device);

// Until all work given to the device is done (at once on the CPU): to be called before a clock is read.
void wait_for(const at::Device& device);

// SHA-256 of a file, in hexadecimal; of the directory of a model or an adapter, of its safetensors files and what
// ends in config.json, by name.
[[nodiscard]] Result<std::string> file_digest(const std::filesystem::path& path);
[[nodiscard]] Result<nlohmann::json> model_digests(const std::filesystem::path& directory);

// {"program": …, "libtorch": …, "threads": …, "device": …}
[[nodiscard]] nlohmann::json runtime_versions(const Placement& placement);

}  // namespace zkapex
