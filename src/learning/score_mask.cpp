#include "learning/score_mask.h"

#include "base/random.h"
#include "learning/torch.h"
#include "unlearning/deployment.h"
#include "unlearning/ranking.h"

namespace zkapex {

namespace {

// In the order of the layout's coordinates.
ScoreSource in_order(const std::vector<Tensor>& scores) {
  return [&scores](const ScoreVisitor& visit) -> Status {
    for (const Tensor& score : scores) {
      const Tensor flat = score.detach().to(at::kCPU, at::kDouble).contiguous();
      ZKAPEX_CHECK(visit({flat.data_ptr<double>(), static_cast<size_t>(flat.numel())}));
    }
    return Done{};
  };
}

}  // namespace

Result<Mask> score_mask(const std::vector<Tensor>& scores, const Deployment& deployment, uint64_t count,
                        const std::string& window) {
  return catch_torch([&]() -> Result<Mask> {
    Mask mask;
    mask.deployment = deployment.digest();
    mask.window = window;
    ZKAPEX_TRY(mask.nonce, random_array<32>());
    ZKAPEX_TRY(mask.support, top_coordinates(in_order(scores), deployment.layout().coordinates(), count));
    ZKAPEX_CHECK(mask.check());
    return mask;
  });
}

}  // namespace zkapex
