#include "weights/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/files.h"

namespace zkapex {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian and read in place");

namespace {

struct DtypeRow {
  std::string_view name;
  Dtype dtype;
  uint8_t size;
};
constexpr DtypeRow kDtypes[] = {
    {"BOOL", Dtype::kBool, 1},      {"U8", Dtype::kU8, 1},   {"I8", Dtype::kI8, 1},   {"F8_E4M3", Dtype::kF8E4M3, 1},
    {"F8_E5M2", Dtype::kF8E5M2, 1}, {"U16", Dtype::kU16, 2}, {"I16", Dtype::kI16, 2}, {"F16", Dtype::kF16, 2},
    {"BF16", Dtype::kBF16, 2},      {"U32", Dtype::kU32, 4}, {"I32", Dtype::kI32, 4}, {"F32", Dtype::kF32, 4},
    {"U64", Dtype::kU64, 8},        {"I64", Dtype::kI64, 8}, {"F64", Dtype::kF64, 8},
};

template <class T>
T load(const uint8_t* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

float float_from_bf16(uint16_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v) << 16); }

float float_from_f16(uint16_t v) {
  const uint32_t sign = static_cast<uint32_t>(v & 0x8000U) << 16, exponent = (v >> 10) & 31U, fraction = v & 1023U;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // zero and subnormal numbers
  return sign != 0 ? -magnitude : magnitude;
}

// A 16-bit float with `kFraction` fraction bits, rounded once from the double (through float it would round twice).
template <int kFraction>
uint16_t float16_from_double(double v) {
  constexpr int kExponentBits = 15 - kFraction, kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr unsigned kInfinity = ((1U << kExponentBits) - 1U) << kFraction;
  const unsigned sign = std::signbit(v) ? 0x8000U : 0U;
  const double magnitude = std::fabs(v);
  if (std::isnan(v)) return static_cast<uint16_t>(sign | kInfinity | (1U << (kFraction - 1)));
  if (std::isinf(v)) return static_cast<uint16_t>(sign | kInfinity);
  int exponent = 0;
  std::frexp(magnitude, &exponent);              // magnitude < 2^exponent
  exponent = std::max(exponent - 1, 1 - kBias);  // subnormal numbers share the smallest exponent
  const double units = std::nearbyint(std::ldexp(magnitude, kFraction - exponent));
  // units counts the last place: a carry into the next binade is the right encoding as it stands.
  const auto low = static_cast<uint64_t>(units);
  const bool normal = low >= (1U << kFraction);
  const uint64_t bits = normal ? (static_cast<uint64_t>(exponent + kBias - 1) << kFraction) + low : low;
  return static_cast<uint16_t>(sign | std::min<uint64_t>(bits, kInfinity));
}

template <class T, class Convert>
Status convert(const uint8_t* from, std::span<T> out, size_t size, Convert element) {
  for (size_t k = 0; k < out.size(); ++k) out[k] = element(from + k * size);
  return Done{};
}

template <class V>
void append_raw(V v, Bytes& out) {
  const auto bytes = std::bit_cast<std::array<uint8_t, sizeof(V)>>(v);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::string_view dtype_name(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }
uint64_t dtype_size(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].size; }

bool holds_weights(Dtype dtype) {
  return dtype == Dtype::kF16 || dtype == Dtype::kBF16 || dtype == Dtype::kF32 || dtype == Dtype::kF64;
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const DtypeRow& row : kDtypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

Result<uint64_t> element_count(const TensorInfo& info) {
  uint64_t count = 1;
  for (uint64_t dim : info.shape)
    if (__builtin_mul_overflow(count, dim, &count))
      return error("tensor '{}': the product of its shape overflows 64 bits", info.name);
  return count;
}

Result<uint64_t> byte_count(const TensorInfo& info) {
  ZKAPEX_TRY(uint64_t bytes, element_count(info));
  if (__builtin_mul_overflow(bytes, dtype_size(info.dtype), &bytes))
    return error("tensor '{}': its size in bytes overflows 64 bits", info.name);
  return bytes;
}

Status TensorView::check_range(uint64_t first, uint64_t length) const {
  if (first > count() || length > count() - first)
    return error("tensor '{}': elements {} to {} asked of {}", name(), first, first + length, count());
  return Done{};
}

Error TensorView::no_conversion(std::string_view target) const {
  return error("tensor '{}' has element type {}, which does not convert exactly to {}", name(), dtype_name(dtype()),
               target);
}

Status TensorView::read(uint64_t first, std::span<float> out) const {
  ZKAPEX_CHECK(check_range(first, out.size()));
  const uint8_t* from = data_.data() + first * dtype_size(dtype());
  switch (dtype()) {
    case Dtype::kF16:
      return convert(from, out, 2, [](const uint8_t* at) { return float_from_f16(load<uint16_t>(at)); });
    case Dtype::kBF16:
      return convert(from, out, 2, [](const uint8_t* at) { return float_from_bf16(load<uint16_t>(at)); });
    case Dtype::kF32:
      return convert(from, out, 4, load<float>);
    default:
      return no_conversion("float32");
  }
}

Status TensorView::read(uint64_t first, std::span<double> out) const {
  ZKAPEX_CHECK(check_range(first, out.size()));
  const uint8_t* from = data_.data() + first * dtype_size(dtype());
  switch (dtype()) {
    case Dtype::kF16:
      return convert(from, out, 2, [](const uint8_t* at) { return double{float_from_f16(load<uint16_t>(at))}; });
    case Dtype::kBF16:
      return convert(from, out, 2, [](const uint8_t* at) { return double{float_from_bf16(load<uint16_t>(at))}; });
    case Dtype::kF32:
      return convert(from, out, 4, [](const uint8_t* at) { return double{load<float>(at)}; });
    case Dtype::kF64:
      return convert(from, out, 8, load<double>);
    default:
      return no_conversion("float64");
  }
}

void TensorView::forget(uint64_t first, uint64_t count) const {
  constexpr uint64_t kWorthIt = uint64_t{1} << 14;
  const uint64_t size = dtype_size(dtype());
  if (mapped_ && count * size >= kWorthIt) forget_mapped(data_.subspan(first * size, count * size));
}

Status TensorView::for_pieces(const std::function<Status(ByteView)>& visit) const {
  constexpr uint64_t kElements = uint64_t{1} << 18;
  const uint64_t size = dtype_size(dtype());
  for (uint64_t first = 0; first < count(); first += kElements) {
    const uint64_t some = std::min(kElements, count() - first);
    ZKAPEX_CHECK(visit(data_.subspan(first * size, some * size)));
    forget(first, some);
  }
  return Done{};
}

Status TensorView::read(uint64_t first, std::span<int64_t> out) const {
  ZKAPEX_CHECK(check_range(first, out.size()));
  const uint8_t* from = data_.data() + first * dtype_size(dtype());
  const auto as = [&]<class V>(V) {
    return convert(from, out, sizeof(V), [](const uint8_t* at) { return static_cast<int64_t>(load<V>(at)); });
  };
  switch (dtype()) {
    case Dtype::kBool:
    case Dtype::kU8:
      return as(uint8_t{});
    case Dtype::kI8:
      return as(int8_t{});
    case Dtype::kU16:
      return as(uint16_t{});
    case Dtype::kI16:
      return as(int16_t{});
    case Dtype::kU32:
      return as(uint32_t{});
    case Dtype::kI32:
      return as(int32_t{});
    case Dtype::kI64:
      return as(int64_t{});
    case Dtype::kU64:
      ZKAPEX_CHECK(as(uint64_t{}));
      for (size_t k = 0; k < out.size(); ++k)
        if (out[k] < 0) return error("tensor '{}': element {} does not fit a signed 64-bit integer", name(), first + k);
      return Done{};
    default:
      return no_conversion("integers");
  }
}

Status append_elements(Dtype dtype, std::span<const double> values, Bytes& out) {
  out.reserve(out.size() + values.size() * dtype_size(dtype));
  switch (dtype) {
    case Dtype::kF16:
      for (double v : values) append_raw(float16_from_double<10>(v), out);
      return Done{};
    case Dtype::kBF16:
      for (double v : values) append_raw(float16_from_double<7>(v), out);
      return Done{};
    case Dtype::kF32:
      for (double v : values) append_raw(static_cast<float>(v), out);
      return Done{};
    case Dtype::kF64:
      for (double v : values) append_raw(v, out);
      return Done{};
    default:
      return error("weights cannot be written with element type {}", dtype_name(dtype));
  }
}

}  // namespace zkapex
