#include "cli/bench.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "base/json.h"

namespace zkapex::cli {

std::chrono::nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::string figures_as_text(const std::vector<KernelFigure>& figures) {
  std::string out = fmt::format("{:<14}  {:>9}  {:<12}  {:<13}  {:>9}  {:>6}\n", "kernel", "ns", "for one", "baseline",
                                "ns", "ratio");
  for (const KernelFigure& f : figures) {
    out += fmt::format("{:<14}  {:>9.2f}  {:<12}  {:<13}  {:>9.2f}  {:>6.2f}\n", f.name, f.ns, f.operation, f.baseline,
                       f.baseline_ns, f.ratio());
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
