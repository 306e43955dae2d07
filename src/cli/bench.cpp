#include "cli/bench.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace zkapex::cli {

std::string figures_as_text(const std::vector<KernelFigure>& figures) {
  size_t name_width = 6;
  size_t baseline_width = 8;
  for (const KernelFigure& f : figures) {
    name_width = std::max(name_width, f.name.size());
    baseline_width = std::max(baseline_width, f.baseline.size());
  }
  std::string out = fmt::format("{:<{}}  {:>14}  {:<{}}  {:>14}  {:>7}\n", "kernel", name_width, "ns", "baseline",
                                baseline_width, "ns", "ratio");
  for (const KernelFigure& f : figures) {
    out += fmt::format("{:<{}}  {:>14.2f}  {:<{}}  {:>14.2f}  {:>7.2f}\n", f.name, name_width, f.ns, f.baseline,
                       baseline_width, f.baseline_ns, f.ratio());
  }
  return out;
}

std::string figures_as_json(const std::vector<KernelFigure>& figures) {
  // Four digits are more than a measurement carries.
  const auto rounded = [](double v) { return std::round(v * 1e4) / 1e4; };
  auto kernels = nlohmann::ordered_json::array();
  for (const KernelFigure& f : figures) {
    kernels.push_back({{"name", f.name},
                       {"ns", rounded(f.ns)},
                       {"baseline", f.baseline},
                       {"baseline_ns", rounded(f.baseline_ns)},
                       {"ratio", rounded(f.ratio())}});
  }
  return nlohmann::ordered_json{{"kernels", kernels}}.dump(2) + "\n";
}

}  // namespace zkapex::cli
