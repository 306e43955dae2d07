#include "attestation/derived_rows.h"

#include "argument/bit_matrix.h"
#include "argument/verifier.h"

namespace zkapex {

Result<std::vector<EncodedPoint>, Rejection> value_rows(std::span<const EncodedPoint> planes, size_t rows,
                                                        unsigned width, ThreadPool& pool) {
  ZKAPEX_TRY(const std::vector<Point> bits, decode_rows(planes.first(rows * width), pool));
  std::vector<Point> out(rows);
  pool.for_ranges(rows, 1, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {  // Horner, the sign bit's weight negative
      Point sum = -bits[(width - 1) * rows + t];
      for (unsigned k = width - 1; k-- > 0;) sum = sum.twice() + bits[k * rows + t];
      out[t] = sum;
    }
  });
  // Bit rows can be chosen to cancel; the next window would have nothing to start from.
  for (size_t t = 0; t < rows; ++t) {
    if (out[t].is_identity()) return Rejection{Reason::kPoint, fmt::format("value row {} is the identity", t)};
  }
  return encode_batch(out, &pool);
}

void append_value_blindings(std::span<const Scalar> planes, size_t rows, unsigned width, SecretVector<Scalar>& out) {
  const std::vector<Scalar> signs = sign_weights(width);
  for (size_t t = 0; t < rows; ++t) {
    Scalar sum;
    for (unsigned k = 0; k < width; ++k) sum += signs[k] * planes[k * rows + t];
    out.push_back(sum);
  }
}

}  // namespace zkapex
