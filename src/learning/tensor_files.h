// Between safetensors files and libtorch.
#pragma once

#include <filesystem>
#include <vector>

#include "learning/layers.h"
#include "weights/checkpoint.h"

namespace zkapex {

// Floating-point tensors keep F64 and become F32 otherwise (exactly); integers and booleans become 64-bit integers.
[[nodiscard]] Result<Tensor> read_tensor(const TensorView& view);

// float, double, uint8 and int64 tensors on any device; replaces the file.
[[nodiscard]] Status write_tensors(const std::filesystem::path& path, const std::vector<Parameter>& tensors,
                                   const Metadata& metadata = {{"format", "pt"}});

}  // namespace zkapex
