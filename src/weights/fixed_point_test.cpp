#include "weights/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace zkapex {
namespace {

TEST(FixedPoint, RoundsToNearestEven) {
  const FixedPoint format{.fraction_bits = 4, .width = 8};
  const std::vector<double> values = {0.0, 1.0, -1.0, 1.0 / 32, 3.0 / 32, -1.0 / 32, -3.0 / 32, 7.9375, -7.9375, 7.96};
  std::vector<int64_t> out(values.size());
  ASSERT_TRUE(format.from_doubles("t", 0, values, out).ok());
  EXPECT_EQ(out, (std::vector<int64_t>{0, 16, -16, 0, 2, 0, -2, 127, -127, 127}));
}

TEST(FixedPoint, NamesTensorAndIndexOfWhatDoesNotFit) {
  const FixedPoint format;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {8.0, -8.0, infinity, -infinity, std::nan(""), 1e300}) {
    const std::vector<double> values = {0.5, bad};
    std::vector<int64_t> out(2);
    const Status status = format.from_doubles("layer.weight", 40, values, out);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_NE(status.error().message.find("'layer.weight': element 41"), std::string::npos) << status.error().message;
  }
  std::vector<int64_t> out(1);
  EXPECT_TRUE(format.from_doubles("t", 0, std::vector{-8.0 + 0x1p-36}, out).ok());
  EXPECT_EQ(out[0], format.min());
}

TEST(FixedPoint, GoesBackExactly) {
  std::mt19937_64 rng(1);
  for (const uint32_t width : {2U, 17U, 40U, 53U}) {
    const FixedPoint format{.fraction_bits = 36, .width = width};
    ASSERT_TRUE(format.check().ok());
    std::uniform_int_distribution<int64_t> any(format.min(), format.max());
    for (int k = 0; k < 1000; ++k) {
      const int64_t v = k == 0 ? format.min() : k == 1 ? format.max() : any(rng);
      int64_t back = 0;
      ASSERT_TRUE(format.from_doubles("t", 0, std::vector{format.to_double(v)}, std::span(&back, 1)).ok());
      EXPECT_EQ(back, v);
    }
  }
}

TEST(FixedPoint, ReadsTensorsInPieces) {
  std::vector<double> values(5000);
  for (size_t k = 0; k < values.size(); ++k) values[k] = std::sin(static_cast<double>(k));
  Bytes data;
  ASSERT_TRUE(append_elements(Dtype::kF64, values, data).ok());
  const TensorView tensor({"t", Dtype::kF64, {5000}}, data);
  std::vector<int64_t> out(4000);
  const FixedPoint format;
  ASSERT_TRUE(format.read(tensor, 1000, out).ok());
  for (size_t k = 0; k < out.size(); ++k) EXPECT_EQ(out[k], std::llrint(std::ldexp(values[1000 + k], 36)));
  EXPECT_FALSE(format.read(tensor, 1001, out).ok());
}

TEST(FixedPoint, RefusesUnsupportedWidths) {
  EXPECT_FALSE((FixedPoint{.fraction_bits = 36, .width = 1}.check().ok()));
  EXPECT_FALSE((FixedPoint{.fraction_bits = 36, .width = 54}.check().ok()));
  EXPECT_FALSE((FixedPoint{.fraction_bits = 54, .width = 40}.check().ok()));
}

std::vector<int64_t> unchanged(Dtype dtype, const Bytes& data) {
  std::vector<int64_t> out(data.size() / dtype_size(dtype));
  const Status status = read_unchanged(TensorView({"t", dtype, {out.size()}}, data), 4, 0, out);
  return status.ok() ? out : std::vector<int64_t>{};
}

TEST(FixedPoint, UnchangedTensorsOfAnyTypeAreIntegers) {
  Bytes weights;
  ASSERT_TRUE(append_elements(Dtype::kF32, std::vector{1.0, -0.5}, weights).ok());
  EXPECT_EQ(unchanged(Dtype::kF32, weights), (std::vector<int64_t>{16, -8}));
  const Bytes all(8, 0xff);
  EXPECT_EQ(unchanged(Dtype::kI64, all), std::vector<int64_t>{-1});
  EXPECT_EQ(unchanged(Dtype::kU64, all), std::vector<int64_t>{-1});
  EXPECT_EQ(unchanged(Dtype::kU32, all), std::vector<int64_t>(2, 0xffffffff));
  EXPECT_EQ(unchanged(Dtype::kI16, all), std::vector<int64_t>(4, -1));
  for (const Dtype dtype : {Dtype::kBool, Dtype::kU8, Dtype::kF8E4M3, Dtype::kF8E5M2})
    EXPECT_EQ(unchanged(dtype, all), std::vector<int64_t>(8, 255)) << dtype_name(dtype);
  const Bytes smallest = {0, 0, 0, 0, 0, 0, 0, 0x80};
  EXPECT_EQ(unchanged(Dtype::kI64, smallest), std::vector<int64_t>{std::numeric_limits<int64_t>::min()});
}

TEST(FixedPoint, SplitElementsAreTwoSmallEntries) {
  const std::vector<int64_t> values = {
      0, 1, -1, int64_t{1} << 32, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  const TensorView tensor({"t", Dtype::kI64, {values.size()}},
                          {reinterpret_cast<const uint8_t*>(values.data()), 8 * values.size()});
  std::vector<int64_t> out(2 * values.size());
  ASSERT_TRUE(read_unchanged_split(tensor, 4, 0, out).ok());
  constexpr int64_t kLow = 0xffffffff;
  EXPECT_EQ(out, (std::vector<int64_t>{0, 0, 1, 0, kLow, -1, 0, 1, kLow, 0x7fffffff, 0, -0x80000000LL}));
  ASSERT_TRUE(read_unchanged_split(tensor, 4, 3, std::span(out).first(2)).ok());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_FALSE(read_unchanged_split(tensor, 4, 1, out).ok());
}

TEST(FixedPoint, UnchangedWeightsStillHaveToFit) {
  Bytes data;
  ASSERT_TRUE(append_elements(Dtype::kF64, std::vector{std::ldexp(1.0, 48)}, data).ok());
  EXPECT_TRUE(unchanged(Dtype::kF64, data).empty());
}

}  // namespace
}  // namespace zkapex
