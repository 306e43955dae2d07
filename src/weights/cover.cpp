#include "weights/cover.h"

#include <algorithm>

namespace zkapex {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Marks which prefixes of `name` the pattern read so far can end at: O(pattern * name), whatever the stars.
bool matches_whole(std::string_view pattern, std::string_view name) {
  std::vector<bool> ends(name.size() + 1, false);
  ends[0] = true;
  while (!pattern.empty()) {
    std::vector<bool> next(name.size() + 1, false);
    if (pattern.starts_with("{i}")) {
      pattern.remove_prefix(3);
      for (size_t k = 0; k < name.size(); ++k) next[k + 1] = is_digit(name[k]) && (ends[k] || next[k]);
    } else if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      bool reached = false;
      for (size_t k = 0; k <= name.size(); ++k) next[k] = reached = reached || ends[k];
    } else {
      for (size_t k = 0; k < name.size(); ++k) next[k + 1] = ends[k] && name[k] == pattern.front();
      pattern.remove_prefix(1);
    }
    ends = std::move(next);
  }
  return ends.back();
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) {
  while (true) {
    if (matches_whole(pattern, name)) return true;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return false;
    name.remove_prefix(dot + 1);
  }
}

Result<CoverPatterns> cover_preset(std::string_view name) {
  const CoverPatterns vit_fc1 = {"encoder.layer.{i}.intermediate.dense.weight", "layers.{i}.mlp.fc1.weight"};
  if (name == "vit-fc1") return vit_fc1;
  if (name == "vit") {
    CoverPatterns both = vit_fc1;
    both.insert(both.end(), {"encoder.layer.{i}.output.dense.weight", "layers.{i}.mlp.fc2.weight"});
    return both;
  }
  if (name == "opt") return CoverPatterns{"decoder.layers.{i}.fc1.weight", "decoder.layers.{i}.fc2.weight"};
  return error("no preset is named '{}'; there are vit, vit-fc1 and opt", name);
}

bool is_covered(const CoverPatterns& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

}  // namespace zkapex
