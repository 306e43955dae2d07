// Commitments to integers from the commitments to their bits: V_t = Σ_k ±2^k R[k, t], and so for blindings.
#pragma once

#include "argument/transcript.h"
#include "argument/verdict.h"
#include "base/secret.h"

namespace zkapex {

// `planes`: bit rows, plane after plane, `rows` each; the last plane is the sign. Refused where a V_t is the identity.
[[nodiscard]] Result<std::vector<EncodedPoint>, Rejection> value_rows(std::span<const EncodedPoint> planes, size_t rows,
                                                                      unsigned width, ThreadPool& pool);
void append_value_blindings(std::span<const Scalar> planes, size_t rows, unsigned width, SecretVector<Scalar>& out);

}  // namespace zkapex
