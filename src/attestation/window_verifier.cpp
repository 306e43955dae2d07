#include "attestation/window_verifier.h"

#include "attestation/derived_rows.h"

namespace zkapex {

Result<std::vector<EncodedPoint>, Rejection> unlearned_rows(const WindowPlan& plan, const Proof& proof,
                                                            ThreadPool& pool) {
  std::vector<EncodedPoint> out;
  size_t first = 0;
  for (const WindowSegment& segment : plan.segments()) {
    const size_t rows = segment.rows.rows, count = plan.block_planes() * rows;
    ZKAPEX_TRY(const std::vector<EncodedPoint> values,
               value_rows(std::span(proof.rows).subspan(first, count), rows, plan.width(), pool));
    out.insert(out.end(), values.begin(), values.end());
    first += count;
  }
  return out;
}

}  // namespace zkapex
