#include "weights/fixed_point.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace zkapex {

Status FixedPoint::check() const {
  if (width < 2 || width > kMaxWidth) return error("weights of {} bits are outside 2 to {}", width, kMaxWidth);
  if (fraction_bits > kMaxWidth) return error("{} fraction bits are over {}", fraction_bits, kMaxWidth);
  return Done{};
}

Status FixedPoint::from_doubles(std::string_view tensor, uint64_t first, std::span<const double> values,
                                std::span<int64_t> out) const {
  const double scale = std::ldexp(1.0, static_cast<int>(fraction_bits));  // multiplying by it is exact, or overflows
  const auto low = static_cast<double>(min()), high = static_cast<double>(max());
  for (size_t k = 0; k < values.size(); ++k) {
    const double rounded = std::nearbyint(values[k] * scale);
    if (!(rounded >= low && rounded <= high))  // also when it is NaN
      return error("tensor '{}': element {} is {}, outside the {}-bit fixed point with {} fraction bits ({} to {})",
                   tensor, first + k, values[k], width, fraction_bits, to_double(min()), to_double(max()));
    out[k] = static_cast<int64_t>(rounded);
  }
  return Done{};
}

Status FixedPoint::read(const TensorView& tensor, uint64_t first, std::span<int64_t> out) const {
  std::array<double, 1024> values;
  for (size_t done = 0; done < out.size();) {
    const size_t now = std::min(out.size() - done, values.size());
    const std::span<double> part(values.data(), now);
    ZKAPEX_CHECK(tensor.read(first + done, part));
    ZKAPEX_CHECK(from_doubles(tensor.name(), first + done, part, out.subspan(done, now)));
    done += now;
  }
  tensor.forget(first, out.size());
  return Done{};
}

Status read_unchanged(const TensorView& tensor, uint32_t fraction_bits, uint64_t first, std::span<int64_t> out) {
  if (holds_weights(tensor.dtype()))
    return FixedPoint{.fraction_bits = fraction_bits, .width = FixedPoint::kMaxWidth}.read(tensor, first, out);
  TensorInfo info = tensor.info();
  if (info.dtype == Dtype::kU64) info.dtype = Dtype::kI64;
  if (info.dtype == Dtype::kF8E4M3 || info.dtype == Dtype::kF8E5M2) info.dtype = Dtype::kU8;
  ZKAPEX_CHECK(TensorView(std::move(info), tensor.data()).read(first, out));
  tensor.forget(first, out.size());
  return Done{};
}

Status read_unchanged_split(const TensorView& tensor, uint32_t fraction_bits, uint64_t first, std::span<int64_t> out) {
  const size_t count = out.size() / 2;
  ZKAPEX_CHECK(read_unchanged(tensor, fraction_bits, first, out.first(count)));
  for (size_t k = count; k-- > 0;) {  // from the end, so that nothing is overwritten before it is read
    const int64_t v = out[k];
    out[2 * k + 1] = v >> 32;
    out[2 * k] = v & 0xffffffff;
  }
  return Done{};
}

double FixedPoint::to_double(int64_t v) const {
  return std::ldexp(static_cast<double>(v), -static_cast<int>(fraction_bits));
}

}  // namespace zkapex
