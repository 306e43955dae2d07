// Which tensors of a model the operator covers, said by name patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zkapex {

// A pattern is text in which `{i}` stands for a decimal number and `*` for any characters. It matches a whole name, or
// the end of a name after a dot: `decoder.layers.{i}.fc1.weight` also matches `model.decoder.layers.0.fc1.weight`.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view name);

using CoverPatterns = std::vector<std::string>;

// `vit`: both MLP matrices of each block, under the Hub's names and today's; `vit-fc1`: the first of them only;
// `opt`: fc1 and fc2 of each decoder layer.
[[nodiscard]] Result<CoverPatterns> cover_preset(std::string_view name);

// "vit.encoder.layer.{i}.output.dense.weight (12)": names that differ in numbers between dots only, as one.
[[nodiscard]] std::vector<std::string> summarize_names(const std::vector<std::string>& names);

[[nodiscard]] bool is_covered(const CoverPatterns& patterns, std::string_view name);

}  // namespace zkapex
