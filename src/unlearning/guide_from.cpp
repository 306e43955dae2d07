#include "unlearning/guide_from.h"

#include <cmath>

#include "unlearning/apply.h"

namespace zkapex {

Result<Guide> guide_from(const Deployment& deployment, std::span<const uint64_t> masked, const Checkpoint& unlearned,
                         const Checkpoint& base, double scale) {
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(const BlockReader read_unlearned, checkpoint_blocks(deployment, unlearned));
  ZKAPEX_TRY(const BlockReader read_base, checkpoint_blocks(deployment, base));
  const double unit = std::ldexp(scale, -static_cast<int>(deployment.parameters().weights.fraction_bits));
  GuideMaker maker(deployment, masked);
  std::vector<int64_t> to, from;
  std::vector<double> displacement;
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    to.resize(layout.block(b).count);
    from.resize(to.size());
    ZKAPEX_CHECK(read_unlearned(b, to));
    ZKAPEX_CHECK(read_base(b, from));
    displacement.clear();
    for (size_t k = 0; k < to.size(); ++k) displacement.push_back(unit * static_cast<double>(to[k] - from[k]));
    ZKAPEX_CHECK(maker.add_block(displacement));
  }
  return maker.finish();
}

}  // namespace zkapex
