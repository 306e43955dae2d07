#include "unlearning/bounds.h"

#include <algorithm>

#include "unlearning/rules.h"

namespace zkapex {

Result<WindowBounds> window_bounds(const Deployment& deployment, const Mask& mask) {
  if (!mask.guidance) return WindowBounds{deployment.residual_bound(), deployment.slack_bits()};
  const Parameters& p = deployment.parameters();
  const Layout& layout = deployment.layout();
  const uint64_t pull = mask.guidance->pull;
  const std::vector<Rule> rules = rules_of(p, mask);
  WindowBounds out{deployment.residual_bound(pull), 0};
  // An honest client's |x| on the mask and |Δ| are below 2^(w−1), its |x| elsewhere below 2^w.
  uint64_t most = 0;
  for (const Rule& rule : rules) {
    const auto plus = [](int64_t v) { return static_cast<uint64_t>(std::max<int64_t>(v, 0)); };
    most = std::max(most, plus(rule.removed) + plus(rule.guide) + 2 * plus(rule.followed));
  }
  const Wide largest = Wide(most) * Wide(layout.coordinates()) * Wide::power_of_two(2 * p.weights.width - 2);
  out.slack_bits = std::max(out.residual.bit_length(), largest.bit_length());
  Status fits = check_slack_bits(layout.geometry(), out.slack_bits, rules.size() * layout.covered().size());
  if (fits) fits = check_no_wrap(layout.geometry(), p, layout.padded_size(), out.slack_bits, pull, rules);
  if (!fits) return fits.error().within(fmt::format("a request with a pull of {}", pull));
  return out;
}

// |Δ| is below 2^(w−1), and an honest |x| below 2^w.
uint32_t progress_bits(const Deployment& deployment) {
  const Wide largest = Wide(uint64_t{Guidance::kThousand}) * Wide(deployment.layout().coordinates()) *
                       Wide::power_of_two(2 * deployment.parameters().weights.width - 1);
  return largest.bit_length();
}

}  // namespace zkapex
