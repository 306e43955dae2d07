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

// a.12.b3 -> a.{i}.b3
std::string with_numbers_replaced(std::string_view name) {
  std::string out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), is_digit);
    out += fmt::format("{}{}", begin == 0 ? "" : ".", number ? "{i}" : part);
    begin = end + 1;
  }
  return out;
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

std::vector<std::string> summarize_names(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // in the order of their first name
  for (const std::string& name : names) {
    const std::string pattern = with_numbers_replaced(name);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == pattern; });
    if (group == groups.end()) group = groups.insert(groups.end(), {pattern, {}});
    group->second.push_back(name);
  }
  std::vector<std::string> out;
  for (const auto& [pattern, members] : groups)
    out.push_back(members.size() == 1 ? members[0] : fmt::format("{} ({})", pattern, members.size()));
  return out;
}

bool is_covered(const CoverPatterns& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

}  // namespace zkapex
