#include "learning/model_names.h"

#include <array>
#include <charconv>

namespace zkapex {

namespace {

struct Renaming {
  std::string_view hub, memory;
};
// Longer parts first: "attention.output.dense" holds "output.dense".
constexpr std::array<Renaming, 7> kVitRenamings = {{
    {".attention.attention.query.", ".attention.q_proj."},
    {".attention.attention.key.", ".attention.k_proj."},
    {".attention.attention.value.", ".attention.v_proj."},
    {".attention.output.dense.", ".attention.o_proj."},
    {".intermediate.dense.", ".mlp.fc1."},
    {".output.dense.", ".mlp.fc2."},
    {"vit.encoder.layer.", "vit.layers."},
}};

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

}  // namespace

std::string hub_name(const ModelConfig& config, std::string_view name) {
  std::string out(name);
  if (config.opt()) return out.starts_with("decoder.") ? "model." + out : out;
  for (const char* part : {"embeddings.", "encoder.", "layers.", "layernorm.", "pooler."}) {
    if (out.starts_with(part)) {
      out.insert(0, "vit.");
      break;
    }
  }
  for (const Renaming& r : kVitRenamings) replace_first(out, r.memory, r.hub);
  return out;
}

std::string memory_name(const ModelConfig& config, std::string_view hub_name) {
  std::string out(hub_name);
  if (config.opt()) return out;
  for (const Renaming& r : kVitRenamings) replace_first(out, r.hub, r.memory);
  return out;
}

bool is_unused(const ModelConfig& config, std::string_view hub_name) {
  if (const OptConfig* opt = config.opt()) return opt->tied && hub_name == "lm_head.weight";
  return hub_name.starts_with("vit.pooler.");
}

int64_t depth_of(const ModelConfig& config, std::string_view hub_name) {
  const std::string_view block = config.vit() ? "vit.encoder.layer." : "model.decoder.layers.";
  if (hub_name.starts_with(block)) {
    int64_t index = 0;
    std::from_chars(hub_name.data() + block.size(), hub_name.data() + hub_name.size(), index);
    return index + 1;
  }
  return hub_name.find("embed") != std::string_view::npos ? 0 : config.layers + 1;
}

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  // Greedy from the left, going back to the last star on a mismatch.
  const auto matches = [&](std::string_view pattern) {
    size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
      if (p < pattern.size() && pattern[p] == '*') {
        star = p++;
        resume = n;
      } else if (p < pattern.size() && pattern[p] == name[n]) {
        ++p, ++n;
      } else if (star != std::string_view::npos) {
        p = star + 1;
        n = ++resume;
      } else {
        return false;
      }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
  };
  for (const std::string& pattern : patterns) {
    if (matches(pattern)) return true;
  }
  return false;
}

}  // namespace zkapex
