#include "algebra/point.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>

#include "algebra/group_testing.h"
#include "algebra/ristretto_vectors.h"

namespace zkapex {
namespace {

using testing::random_bytes;
using testing::random_point;
using testing::random_scalar;
using Encoding = std::array<uint8_t, 32>;

template <size_t N>
std::array<uint8_t, N> hex(const char* text) {
  const Bytes bytes = *from_hex(text);
  EXPECT_EQ(bytes.size(), N);
  std::array<uint8_t, N> out{};
  std::copy_n(bytes.begin(), std::min(N, bytes.size()), out.begin());
  return out;
}

Encoding sodium_from_hash(const std::array<uint8_t, 64>& input) {
  Encoding out;
  EXPECT_EQ(crypto_core_ristretto255_from_hash(out.data(), input.data()), 0);
  return out;
}

TEST(Point, MultiplesOfTheGenerator) {
  Point p;
  uint64_t k = 0;
  for (const char* text : ristretto_vectors::kMultiples) {
    const Encoding expected = hex<32>(text);
    EXPECT_EQ(p.encode(), expected);
    EXPECT_EQ(multiply(Point::base(), Scalar::from_u64(k)).encode(), expected);
    const auto decoded = Point::decode(expected);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, p);
    EXPECT_EQ(decoded->encode(), expected);
    EXPECT_EQ(decoded->is_identity(), k == 0);
    EXPECT_EQ(crypto_core_ristretto255_is_valid_point(expected.data()), 1);
    p += Point::base();
    ++k;
  }
}

TEST(Point, RefusesInvalidEncodings) {
  for (const char* text : ristretto_vectors::kInvalid) {
    const Encoding bytes = hex<32>(text);
    EXPECT_EQ(crypto_core_ristretto255_is_valid_point(bytes.data()), 0) << text;
    const auto decoded = Point::decode(bytes);
    ASSERT_FALSE(decoded.ok()) << text;
    EXPECT_NE(decoded.error().message.find(text), std::string::npos);
  }
  const Bytes bytes(33, 0);
  for (size_t size : {size_t{0}, size_t{31}, size_t{33}}) EXPECT_FALSE(Point::decode(ByteView(bytes).first(size)).ok());
}

TEST(Point, OneWayMap) {
  for (const auto& vector : ristretto_vectors::kMap) {
    const auto input = hex<64>(vector.input);
    EXPECT_EQ(Point::from_uniform_bytes(input).encode(), hex<32>(vector.output)) << vector.input;
    EXPECT_EQ(sodium_from_hash(input), hex<32>(vector.output));
  }
}

// Field elements at the corners of the map: 0, ±1, ±√−1, p − 1, 2^255 − 1 and roots where u or v vanish.
TEST(Point, OneWayMapEdgesAgreeWithLibsodium) {
  std::vector<Encoding> edges(4, Encoding{});
  edges[1][0] = 1;
  edges[2].fill(0xff);
  edges[3] = hex<32>("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
  for (const Fe& special : {kSqrtM1, -kSqrtM1, kEdwardsD, -kEdwardsD, kSqrtAdMinusOne, kInvSqrtAMinusD}) {
    edges.push_back(special.to_bytes());
    const SquareRoot root = sqrt_ratio_m1(special.carried(), kSqrtM1);  // t with t²√−1 = special, or near it
    edges.push_back(root.root.to_bytes());
  }
  for (const Encoding& a : edges) {
    for (const Encoding& b : edges) {
      std::array<uint8_t, 64> input;
      std::copy(a.begin(), a.end(), input.begin());
      std::copy(b.begin(), b.end(), input.begin() + 32);
      EXPECT_EQ(Point::from_uniform_bytes(input).encode(), sodium_from_hash(input));
    }
  }
}

TEST(Point, AgreesWithLibsodium) {
  std::mt19937_64 rng(1);
  Point previous = Point::base();
  Encoding previous_bytes = previous.encode();
  for (int k = 0; k < 10000; ++k) {
    const auto input = random_bytes<64>(rng);
    const Point p = Point::from_uniform_bytes(input);
    const Encoding bytes = p.encode();
    ASSERT_EQ(bytes, sodium_from_hash(input));
    const auto decoded = Point::decode(bytes);
    ASSERT_TRUE(decoded.ok());
    ASSERT_EQ(*decoded, p);
    Encoding sum, difference;
    ASSERT_EQ(crypto_core_ristretto255_add(sum.data(), bytes.data(), previous_bytes.data()), 0);
    ASSERT_EQ(crypto_core_ristretto255_sub(difference.data(), bytes.data(), previous_bytes.data()), 0);
    ASSERT_EQ((p + previous).encode(), sum);
    ASSERT_EQ((*decoded - previous).encode(), difference);
    previous = p;
    previous_bytes = bytes;
  }
}

// Random even strings below 2^255: about one in four is an element, so both answers occur often.
TEST(Point, ValidityAgreesWithLibsodium) {
  std::mt19937_64 rng(2);
  int valid = 0;
  for (int k = 0; k < 10000; ++k) {
    Encoding bytes = random_bytes<32>(rng);
    if (k % 8 != 0) bytes[0] &= 0xfe;
    bytes[31] &= 0x7f;
    const auto decoded = Point::decode(bytes);
    ASSERT_EQ(decoded.ok(), crypto_core_ristretto255_is_valid_point(bytes.data()) == 1);
    if (!decoded.ok()) continue;
    ASSERT_EQ(decoded->encode(), bytes);
    ++valid;
    // libsodium up to 1.0.18 takes these with bit 255 set; RFC 9496 does not.
    bytes[31] |= 0x80;
    ASSERT_FALSE(Point::decode(bytes).ok());
  }
  EXPECT_GT(valid, 1000);
}

TEST(Point, ScalarMultiplicationAgreesWithLibsodium) {
  std::mt19937_64 rng(3);
  std::vector<Scalar> scalars = {Scalar::one(),
                                 -Scalar::one(),
                                 Scalar::from_u64(8),
                                 -Scalar::from_u64(8),
                                 Scalar::from_u64(0x8888888888888888),
                                 Scalar::from_u64(~uint64_t{0})};
  for (unsigned k = 0; k < 253; ++k) scalars.push_back(Scalar::power_of_two(k));
  for (int k = 0; k < 10000; ++k) scalars.push_back(random_scalar(rng));
  const std::vector<Point> points = testing::many_points(rng, scalars.size());
  for (size_t k = 0; k < scalars.size(); ++k) {
    const Encoding bytes = points[k].encode(), scalar = scalars[k].to_bytes();
    Encoding product;
    ASSERT_EQ(crypto_scalarmult_ristretto255(product.data(), scalar.data(), bytes.data()), 0);
    ASSERT_EQ(multiply(points[k], scalars[k]).encode(), product);
    if (k % 8 != 0) continue;
    ASSERT_EQ(crypto_scalarmult_ristretto255_base(product.data(), scalar.data()), 0);
    ASSERT_EQ(multiply(Point::base(), scalars[k]).encode(), product);
  }
  EXPECT_TRUE(multiply(random_point(rng), Scalar::zero()).is_identity());
}

TEST(Point, GroupLaws) {
  std::mt19937_64 rng(4);
  for (int k = 0; k < 100; ++k) {
    const Point a = random_point(rng), b = random_point(rng), c = random_point(rng), zero;
    const Scalar s = random_scalar(rng), t = random_scalar(rng);
    EXPECT_EQ((a + b) + c, a + (b + c));
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ(a + zero, a);
    EXPECT_EQ(a - b, a + (-b));
    EXPECT_TRUE((a - a).is_identity());
    EXPECT_EQ(a + a, a.twice());
    EXPECT_EQ(a.twice().twice() - a.twice() - a, a);
    EXPECT_EQ(multiply(a, s) + multiply(a, t), multiply(a, s + t));
    EXPECT_EQ(multiply(a, s) + multiply(b, s), multiply(a + b, s));
    EXPECT_EQ(multiply(multiply(a, s), t), multiply(a, s * t));
    EXPECT_NE(a, b);
    EXPECT_NE(a, zero);
  }
}

// The four-torsion is invisible: (0, −1), (±√−1, 0) are the identity, and adding them changes no encoding.
TEST(Point, TorsionIsTheIdentity) {
  std::mt19937_64 rng(5);
  const Point p = random_point(rng);
  for (const AffinePoint& torsion : {AffinePoint{Fe::zero(), (-Fe::one()).carried()}, AffinePoint{kSqrtM1, Fe::zero()},
                                     negate(AffinePoint{kSqrtM1, Fe::zero()})}) {
    const Point t(torsion);
    EXPECT_TRUE(t.is_identity());
    EXPECT_EQ(t, Point());
    EXPECT_EQ(t.encode(), Encoding{});
    EXPECT_EQ(p + t, p);
    EXPECT_EQ((p + t).encode(), p.encode());
  }
}

TEST(Point, BatchToAffine) {
  std::mt19937_64 rng(6);
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{33}, size_t{2100}}) {
    std::vector<Point> points = testing::many_points(rng, count);
    if (count > 2) points[1] = Point();
    ThreadPool pool(2);
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      const std::vector<AffinePoint> affine = batch_to_affine(points, threads);
      ASSERT_EQ(affine.size(), count);
      for (size_t k = 0; k < count; ++k) EXPECT_EQ(Point(affine[k]), points[k]);
    }
  }
}

}  // namespace
}  // namespace zkapex
