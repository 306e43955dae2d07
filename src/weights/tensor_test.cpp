#include "weights/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace zkapex {
namespace {

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

TensorView tensor(Dtype dtype, const Bytes& data) { return {{"t", dtype, {data.size() / dtype_size(dtype)}}, data}; }

TEST(Tensor, DtypeNamesRoundTrip) {
  for (int k = 0; k <= static_cast<int>(Dtype::kF64); ++k) {
    const auto dtype = static_cast<Dtype>(k);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(Tensor, CountsCheckOverflow) {
  EXPECT_EQ(*element_count({"s", Dtype::kF32, {}}), 1U);
  EXPECT_EQ(*byte_count({"m", Dtype::kF16, {3, 5}}), 30U);
  EXPECT_EQ(*byte_count({"z", Dtype::kF64, {0, 1ULL << 40}}), 0U);
  EXPECT_FALSE(element_count({"o", Dtype::kU8, {1ULL << 32, 1ULL << 32}}).ok());
  EXPECT_TRUE(element_count({"o", Dtype::kF64, {1ULL << 31, 1ULL << 31}}).ok());
  EXPECT_FALSE(byte_count({"o", Dtype::kF64, {1ULL << 31, 1ULL << 31}}).ok());
}

// Every one of the 65536 half-precision values against its definition, and back.
TEST(Tensor, HalfPrecisionIsExactForEveryValue) {
  std::vector<uint16_t> all(65536);
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<uint16_t>(k);
  const Bytes data = bytes_of(all);
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBF16}) {
    const int fraction_bits = dtype == Dtype::kF16 ? 10 : 7, exponent_bits = 15 - fraction_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto values = tensor(dtype, data).doubles();
    const auto floats = tensor(dtype, data).floats();
    ASSERT_TRUE(values.ok() && floats.ok());
    Bytes back;
    ASSERT_TRUE(append_elements(dtype, *values, back).ok());
    for (unsigned k = 0; k < 65536; ++k) {
      const int exponent = static_cast<int>(k >> fraction_bits) & ((1 << exponent_bits) - 1);
      const int fraction = static_cast<int>(k) & ((1 << fraction_bits) - 1);
      const double v = (*values)[k];
      if (exponent == (1 << exponent_bits) - 1) {
        EXPECT_TRUE(fraction != 0 ? std::isnan(v) : std::isinf(v)) << k;
        if (fraction != 0) continue;
      } else {
        const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
        const double want = std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
        EXPECT_EQ(std::fabs(v), want) << k;
      }
      EXPECT_EQ(std::signbit(v), k >= 0x8000U) << k;
      EXPECT_EQ(static_cast<double>((*floats)[k]), v) << k;
      EXPECT_EQ(back[2 * k] + 256U * back[2 * k + 1], k);
    }
  }
}

TEST(Tensor, WritingRoundsToNearestEven) {
  const auto f16 = [](double v) {
    Bytes out;
    EXPECT_TRUE(append_elements(Dtype::kF16, std::vector{v}, out).ok());
    return out[0] + 256 * out[1];
  };
  EXPECT_EQ(f16(1.0 + 0x1p-11), 0x3c00);            // a tie goes to the even neighbour, below
  EXPECT_EQ(f16(1.0 + 3 * 0x1p-11), 0x3c02);        // and above
  EXPECT_EQ(f16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);  // through float this would round twice
  EXPECT_EQ(f16(0x1p-25), 0x0000);
  EXPECT_EQ(f16(0x1.8p-25), 0x0001);
  EXPECT_EQ(f16(65519.0), 0x7bff);
  EXPECT_EQ(f16(65520.0), 0x7c00);
  EXPECT_EQ(f16(-1e300), 0xfc00);
  EXPECT_EQ(f16(-0.0), 0x8000);
  EXPECT_EQ(f16(2047.75 / 2048), 0x3c00);  // carries into the next binade
}

TEST(Tensor, FloatAndDoubleReadInPlace) {
  const std::vector<float> floats = {1.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 3e38F};
  const Bytes data = bytes_of(floats);
  std::vector<double> two(2);
  ASSERT_TRUE(tensor(Dtype::kF32, data).read(2, std::span(two)).ok());
  EXPECT_EQ(two, (std::vector<double>{floats[2], floats[3]}));
  const std::vector<double> doubles = {0.1, -1e300};
  EXPECT_EQ(*tensor(Dtype::kF64, bytes_of(doubles)).doubles(), doubles);
  EXPECT_FALSE(tensor(Dtype::kF64, bytes_of(doubles)).floats().ok());
}

TEST(Tensor, IntegersReadWithTheirSign) {
  EXPECT_EQ(*tensor(Dtype::kI8, {0xff, 0x7f}).integers(), (std::vector<int64_t>{-1, 127}));
  EXPECT_EQ(*tensor(Dtype::kU8, {0xff}).integers(), (std::vector<int64_t>{255}));
  EXPECT_EQ(*tensor(Dtype::kU32, bytes_of<uint32_t>({0xffffffffU})).integers(), (std::vector<int64_t>{0xffffffffLL}));
  EXPECT_EQ(*tensor(Dtype::kI64, bytes_of<int64_t>({-5, 1LL << 62})).integers(), (std::vector<int64_t>{-5, 1LL << 62}));
  EXPECT_FALSE(tensor(Dtype::kU64, bytes_of<uint64_t>({1ULL << 63})).integers().ok());
}

TEST(Tensor, RefusesOtherTypesAndRanges) {
  const Bytes data(16);
  EXPECT_FALSE(tensor(Dtype::kI32, data).floats().ok());
  EXPECT_FALSE(tensor(Dtype::kF8E4M3, data).doubles().ok());
  EXPECT_FALSE(tensor(Dtype::kF32, data).integers().ok());
  std::vector<float> out(3);
  EXPECT_TRUE(tensor(Dtype::kF32, data).read(1, std::span(out)).ok());
  EXPECT_FALSE(tensor(Dtype::kF32, data).read(2, std::span(out)).ok());
  EXPECT_FALSE(tensor(Dtype::kF32, data).read(~uint64_t{0}, std::span(out)).ok());
  Bytes bytes;
  EXPECT_FALSE(append_elements(Dtype::kI8, std::vector{1.0}, bytes).ok());
}

}  // namespace
}  // namespace zkapex
