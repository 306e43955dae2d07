#include "algebra/scalar.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <random>
#include <vector>

#include "algebra/group_testing.h"

namespace zkapex {
namespace {

using Encoding = std::array<uint8_t, 32>;

constexpr int kRandomCases = 10000;

Encoding encoding(const Words4& words) {
  Encoding out;
  for (size_t k = 0; k < 32; ++k) out[k] = static_cast<uint8_t>(words[k / 8] >> (8 * (k % 8)));
  return out;
}

// l + offset as 256-bit integers; |offset| is small.
Words4 order_plus(int64_t offset) {
  Words4 out = montgomery::kOrder;
  const auto low = static_cast<int128>(out[0]) + offset;  // l0 is far from both ends of a word
  out[0] = static_cast<uint64_t>(low);
  return out;
}

Scalar parse(const Words4& words) { return Scalar::from_bytes(encoding(words)).value(); }

// 0, 1, 2, l - 1, l - 2, powers of two around word boundaries, words of all ones, R mod l and its neighbours.
std::vector<Scalar> edge_scalars() {
  std::vector<Scalar> out = {Scalar::zero(),
                             Scalar::one(),
                             Scalar::from_u64(2),
                             parse(order_plus(-1)),
                             parse(order_plus(-2)),
                             parse({~0ull, 0, 0, 0}),
                             parse({~0ull, ~0ull, ~0ull, 0}),
                             parse({0, 0, 0, 1ull << 60}),
                             parse({~0ull, ~0ull, ~0ull, (1ull << 60) - 1}),
                             parse(montgomery::kR),
                             parse(montgomery::kR2)};
  for (unsigned k : {1u, 63u, 64u, 65u, 127u, 128u, 191u, 192u, 251u, 252u}) {
    out.push_back(Scalar::power_of_two(k));
    out.push_back(Scalar::power_of_two(k) - Scalar::one());
    out.push_back(-Scalar::power_of_two(k));
  }
  return out;
}

class ScalarTest : public ::testing::Test {
 protected:
  Scalar random() { return testing::random_scalar(generator_); }
  Words4 random_words() { return {generator_(), generator_(), generator_(), generator_()}; }

  std::mt19937_64 generator_{20240229};
};

void expect_like_sodium(const Scalar& a, const Scalar& b) {
  const Encoding x = a.to_bytes(), y = b.to_bytes();
  Encoding out;
  crypto_core_ristretto255_scalar_add(out.data(), x.data(), y.data());
  ASSERT_EQ((a + b).to_bytes(), out);
  crypto_core_ristretto255_scalar_sub(out.data(), x.data(), y.data());
  ASSERT_EQ((a - b).to_bytes(), out);
  crypto_core_ristretto255_scalar_mul(out.data(), x.data(), y.data());
  ASSERT_EQ((a * b).to_bytes(), out);
  ASSERT_EQ(Scalar::multiply_inline(a, b), a * b);
  crypto_core_ristretto255_scalar_mul(out.data(), x.data(), x.data());
  ASSERT_EQ(a.square().to_bytes(), out);
  crypto_core_ristretto255_scalar_negate(out.data(), x.data());
  ASSERT_EQ((-a).to_bytes(), out);
  crypto_core_ristretto255_scalar_complement(out.data(), x.data());
  ASSERT_EQ((Scalar::one() - a).to_bytes(), out);
}

TEST_F(ScalarTest, AgreesWithLibsodiumOnRandomInputs) {
  for (int k = 0; k < kRandomCases; ++k) ASSERT_NO_FATAL_FAILURE(expect_like_sodium(random(), random()));
}

TEST_F(ScalarTest, AgreesWithLibsodiumOnEdgeInputs) {
  const std::vector<Scalar> edges = edge_scalars();
  for (const Scalar& a : edges) {
    for (const Scalar& b : edges) ASSERT_NO_FATAL_FAILURE(expect_like_sodium(a, b));
  }
}

TEST_F(ScalarTest, InverseAgreesWithLibsodium) {
  std::vector<Scalar> inputs = edge_scalars();
  for (int k = 0; k < kRandomCases; ++k) inputs.push_back(random());
  for (const Scalar& a : inputs) {
    if (a.is_zero()) continue;
    Encoding out;
    ASSERT_EQ(crypto_core_ristretto255_scalar_invert(out.data(), a.to_bytes().data()), 0);
    ASSERT_EQ(a.inverse().to_bytes(), out);
    ASSERT_EQ(a * a.inverse(), Scalar::one());
  }
  EXPECT_EQ(Scalar::zero().inverse(), Scalar::zero());
}

TEST_F(ScalarTest, WideReductionAgreesWithLibsodium) {
  const auto check = [](const std::array<uint8_t, 64>& bytes) {
    Encoding out;
    crypto_core_ristretto255_scalar_reduce(out.data(), bytes.data());
    ASSERT_EQ(Scalar::from_bytes_wide(bytes).to_bytes(), out);
  };
  std::array<uint8_t, 64> bytes;
  for (int k = 0; k < kRandomCases; ++k) {
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(generator_());
    ASSERT_NO_FATAL_FAILURE(check(bytes));
  }
  const Words4 halves[] = {{},
                           {1, 0, 0, 0},
                           order_plus(-1),
                           order_plus(0),
                           order_plus(1),
                           {0, 0, 0, 1ull << 60},
                           {~0ull, ~0ull, ~0ull, ~0ull}};
  for (const Words4& low : halves) {
    for (const Words4& high : halves) {
      std::copy_n(encoding(low).begin(), 32, bytes.begin());
      std::copy_n(encoding(high).begin(), 32, bytes.begin() + 32);
      ASSERT_NO_FATAL_FAILURE(check(bytes));
    }
  }
}

TEST_F(ScalarTest, ParsesExactlyTheCanonicalEncodings) {
  for (const Words4& good : {Words4{}, Words4{1, 0, 0, 0}, order_plus(-1), Words4{0, 0, 0, 1ull << 60},
                             Words4{~0ull, ~0ull, ~0ull, (1ull << 60) - 1}}) {
    const Result<Scalar> parsed = Scalar::from_bytes(encoding(good));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->to_bytes(), encoding(good));
    EXPECT_EQ(parsed->canonical_limbs(), good);
  }
  for (const Words4& bad : {order_plus(0), order_plus(1), Words4{0, 0, 1, 1ull << 60}, Words4{0, 0, 0, 1ull << 61},
                            Words4{0, 0, 0, 1ull << 63}, Words4{~0ull, ~0ull, ~0ull, ~0ull}}) {
    const Result<Scalar> parsed = Scalar::from_bytes(encoding(bad));
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().message, "a scalar is not below the group order");
  }
  const Bytes zeros(65);
  for (size_t length : {0u, 1u, 31u, 33u, 64u, 65u})
    EXPECT_FALSE(Scalar::from_bytes(ByteView(zeros).first(length)).ok());
}

TEST_F(ScalarTest, Integers) {
  EXPECT_EQ(Scalar::from_u64(1), Scalar::one());
  EXPECT_EQ(Scalar::from_u64(~0ull).canonical_limbs(), (Words4{~0ull, 0, 0, 0}));
  EXPECT_EQ(Scalar::from_i64(-1) + Scalar::one(), Scalar::zero());
  EXPECT_EQ(Scalar::from_i64(INT64_MIN), -Scalar::power_of_two(63));
  EXPECT_EQ(Scalar::from_i64(INT64_MAX), Scalar::power_of_two(63) - Scalar::one());
  const int128 most = static_cast<int128>(~uint128{0} >> 1);
  EXPECT_EQ(Scalar::from_i128(most), Scalar::power_of_two(127) - Scalar::one());
  EXPECT_EQ(Scalar::from_i128(-most - 1), -Scalar::power_of_two(127));
  EXPECT_EQ(Scalar::from_i128(0), Scalar::zero());
  for (unsigned k = 0; k < 1100; ++k) {
    ASSERT_EQ(Scalar::power_of_two(k + 1), Scalar::power_of_two(k) + Scalar::power_of_two(k)) << k;
  }
}

TEST_F(ScalarTest, FieldLaws) {
  std::vector<Scalar> inputs = edge_scalars();
  for (int k = 0; k < 20; ++k) inputs.push_back(random());
  for (const Scalar& a : inputs) {
    EXPECT_EQ(a + Scalar::zero(), a);
    EXPECT_EQ(a * Scalar::one(), a);
    EXPECT_EQ(a - a, Scalar::zero());
    EXPECT_EQ(a.pow(0), Scalar::one());
    EXPECT_EQ(a.pow(5), a * a * a * a * a);
    for (const Scalar& b : inputs) {
      EXPECT_EQ(a + b, b + a);
      EXPECT_EQ(a * b, b * a);
      EXPECT_EQ((a - b) + b, a);
      const Scalar c = random();
      EXPECT_EQ((a + b) * c, a * c + b * c);
      EXPECT_EQ((a * b) * c, a * (b * c));
    }
  }
  EXPECT_EQ(Scalar::from_u64(2).pow(~0ull), Scalar::power_of_two(255).pow(~0ull / 255));
}

// Every word counts.
TEST_F(ScalarTest, OneBitMakesADifference) {
  const Scalar a = Scalar::from_montgomery_words({5, 6, 7, 8});
  for (size_t word = 0; word < 4; ++word) {
    for (const unsigned bit : {0U, 59U}) {
      Words4 words = a.montgomery_words(), alone{};
      words[word] ^= uint64_t{1} << bit;
      alone[word] = uint64_t{1} << bit;
      EXPECT_FALSE(Scalar::from_montgomery_words(words) == a) << word;
      EXPECT_FALSE(Scalar::from_montgomery_words(alone).is_zero()) << word;
    }
  }
}

TEST_F(ScalarTest, RandomScalarsDiffer) { EXPECT_FALSE(*Scalar::random() == *Scalar::random()); }

TEST_F(ScalarTest, NativeKernelsEqualPortableOnes) {
  std::vector<Words4> multipliers = {{}, {1, 0, 0, 0}, {~0ull, ~0ull, ~0ull, ~0ull}, order_plus(0), order_plus(1)};
  for (int k = 0; k < kRandomCases; ++k) multipliers.push_back(random_words());
  for (const Words4& b : multipliers) {
    for (const Words4& a : {random().montgomery_words(), order_plus(-1), Words4{}}) {
      using montgomery::multiply;
      ASSERT_EQ(multiply<NativeWords>(a, b), multiply<PortableWords>(a, b));
      ASSERT_EQ(montgomery::multiply_wide<NativeWords>(a, b), montgomery::multiply_wide<PortableWords>(a, b));
      const Words4 c = multiply<PortableWords>(a, b);
      ASSERT_EQ(montgomery::add<NativeWords>(a, c), montgomery::add<PortableWords>(a, c));
      ASSERT_EQ(montgomery::subtract<NativeWords>(a, c), montgomery::subtract<PortableWords>(a, c));
      ASSERT_EQ(montgomery::is_canonical<NativeWords>(b), montgomery::is_canonical<PortableWords>(b));
    }
  }
}

TEST_F(ScalarTest, NativeAccumulationEqualsPortable) {
  std::array<uint64_t, 9> native{}, portable{};
  for (int k = 0; k < 1000; ++k) {
    std::array<uint64_t, 8> term;
    for (uint64_t& w : term) w = k % 3 == 0 ? ~0ull : generator_();
    NativeWords::accumulate(native.data(), term.data());
    PortableWords::accumulate(portable.data(), term.data());
    ASSERT_EQ(native, portable);
  }
}

TEST_F(ScalarTest, SignedReduction) {
  constexpr int64_t kMost = (int64_t{1} << 59) - 1;
  const auto check = [](const Words4& low, int64_t high) {
    std::array<uint8_t, 64> bytes{};
    std::copy_n(encoding(low).begin(), 32, bytes.begin());
    const Scalar expected = Scalar::from_bytes_wide(bytes) + Scalar::from_i64(high) * Scalar::power_of_two(256);
    ASSERT_EQ(montgomery::reduce_signed<NativeWords>(low, high), expected.canonical_limbs());
    ASSERT_EQ(montgomery::reduce_signed<PortableWords>(low, high), expected.canonical_limbs());
  };
  for (int64_t high : {int64_t{0}, int64_t{1}, int64_t{-1}, kMost, -kMost}) {
    for (const Words4& low : {Words4{}, Words4{~0ull, ~0ull, ~0ull, ~0ull}, order_plus(-1), order_plus(0),
                              order_plus(1), Words4{0, 0, 0, 1ull << 60}}) {
      ASSERT_NO_FATAL_FAILURE(check(low, high));
    }
  }
  for (int k = 0; k < kRandomCases; ++k) {
    ASSERT_NO_FATAL_FAILURE(check(random_words(), static_cast<int64_t>(generator_()) >> (5 + k % 50)));
  }
}

TEST_F(ScalarTest, InnerProduct) {
  for (size_t n : {0u, 1u, 2u, 3u, 255u, 256u, 257u, 1000u}) {
    std::vector<Scalar> a(n), b(n);
    Scalar expected;
    for (size_t k = 0; k < n; ++k) {
      a[k] = random();
      b[k] = random();
      expected += a[k] * b[k];
    }
    EXPECT_EQ(inner_product(a, b), expected) << n;
  }
}

TEST_F(ScalarTest, AccumulatorHoldsManyExtremeTerms) {
  // Montgomery words of l - 1, the largest there are: carries run through all nine words.
  const Scalar largest = Scalar::from_montgomery_words(order_plus(-1));
  ScalarAccumulator sum;
  constexpr uint64_t kTerms = 100000;
  for (uint64_t k = 0; k < kTerms; ++k) {
    sum.add_product(largest, largest);
    sum.add(largest);
  }
  const Scalar expected = Scalar::from_u64(kTerms) * (largest * largest + largest);
  EXPECT_EQ(sum.reduce(), expected);
  // Doubling reaches the stated bound: 2^66 times a sum below 2^509 (a single term) stays below 2^576.
  ScalarAccumulator doubled;
  doubled.add(largest);
  for (int k = 0; k < 66; ++k) doubled += ScalarAccumulator(doubled);
  EXPECT_EQ(doubled.reduce(), Scalar::power_of_two(66) * largest);
}

TEST_F(ScalarTest, BatchInversionLeavesZeros) {
  for (size_t n : {0u, 1u, 2u, 5u, 100u}) {
    std::vector<Scalar> values(n);
    for (size_t k = 0; k < n; ++k) values[k] = k % 3 == 1 ? Scalar::zero() : random();
    std::vector<Scalar> inverted = values;
    batch_invert(inverted);
    for (size_t k = 0; k < n; ++k) EXPECT_EQ(inverted[k], values[k].inverse());
  }
  std::vector<Scalar> zeros(4);
  batch_invert(zeros);
  for (const Scalar& z : zeros) EXPECT_TRUE(z.is_zero());
}

}  // namespace
}  // namespace zkapex
