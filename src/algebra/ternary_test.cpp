#include "algebra/ternary.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/cpu.h"

namespace zkapex {
namespace {

class TernaryTest : public ::testing::Test {
 protected:
  TernaryMatrix random_matrix(size_t rows, size_t cols) {
    Bytes bits((rows * cols + 3) / 4);
    for (uint8_t& b : bits) b = static_cast<uint8_t>(rng_());
    return {rows, cols, bits};
  }
  std::vector<int8_t> random_bytes(size_t count) {
    std::vector<int8_t> out(count);
    for (int8_t& b : out) b = static_cast<int8_t>(rng_());
    return out;
  }
  static std::vector<ternary_kernels::Multiply> kernels() {
    std::vector<ternary_kernels::Multiply> out{ternary_kernels::multiply_portable};
#if defined(__x86_64__)
    if (instruction_set() >= InstructionSet::kAvx2) out.push_back(ternary_kernels::multiply_avx2);
    if (instruction_set() >= InstructionSet::kAvx512) out.push_back(ternary_kernels::multiply_avx512);
#elif defined(__aarch64__)
    out.push_back(ternary_kernels::multiply_neon);
#endif
    return out;
  }
  void expect_product(const TernaryMatrix& matrix, const TernaryMatrix::Vectors& vectors) {
    for (const ternary_kernels::Multiply kernel : kernels()) {
      std::vector<int32_t> out(vectors.count * matrix.rows(), 7);
      matrix.multiply(vectors, out, pool_, kernel);
      for (size_t k = 0; k < vectors.count; ++k) {
        for (size_t q = 0; q < matrix.rows(); ++q) {
          int32_t sum = 0;
          for (size_t l = 0; l < matrix.cols(); ++l) sum += matrix.at(q, l) * vectors.entries[k * vectors.stride + l];
          ASSERT_EQ(out[k * matrix.rows() + q], sum) << k << " " << q;
        }
      }
    }
  }

  std::mt19937_64 rng_{41};
  ThreadPool pool_{2};
};

TEST_F(TernaryTest, EntriesComeFromPairsOfBits) {
  const Bytes bits{0b11'10'01'00, 0b00'00'00'11};
  const TernaryMatrix matrix(1, 5, bits);
  const std::array<int, 5> expected{0, 0, 1, -1, -1};
  for (size_t l = 0; l < 5; ++l) EXPECT_EQ(matrix.at(0, l), expected[l]) << l;
}

TEST_F(TernaryTest, BitsMayComePieceByPiece) {
  for (const auto& [rows, cols] : std::vector<std::pair<size_t, size_t>>{{1, 1}, {3, 5}, {4, 64}, {7, 33}, {2, 300}}) {
    Bytes bits((rows * cols + 3) / 4 + 64);
    for (uint8_t& b : bits) b = static_cast<uint8_t>(rng_());
    const TernaryMatrix whole(rows, cols, bits);
    for (const size_t size : {1U, 2U, 7U, 64U}) {
      size_t given = 0;
      const TernaryMatrix matrix(rows, cols, [&] {
        given += size;
        return ByteView(bits).subspan(given - size, size);
      });
      for (size_t q = 0; q < rows; ++q) {
        for (size_t l = 0; l < cols; ++l) ASSERT_EQ(matrix.at(q, l), whole.at(q, l)) << q << " " << l << " " << size;
      }
    }
  }
}

TEST_F(TernaryTest, ProductsAreExact) {
  for (const auto& [rows, cols, count] : {std::array<size_t, 3>{1, 1, 1},
                                          {3, 31, 5},
                                          {8, 32, 4},
                                          {5, 33, 9},
                                          {192, 2048, 6},
                                          {7, 5000, 70},
                                          {2, 65536, 3}}) {
    const TernaryMatrix matrix = random_matrix(rows, cols);
    const size_t stride = cols + 3;
    const std::vector<int8_t> vectors = random_bytes(count * stride);
    expect_product(matrix, {vectors.data(), count, stride});
  }
}

TEST_F(TernaryTest, ExtremeEntriesDoNotOverflow) {
  for (const int8_t extreme : {int8_t{-128}, int8_t{127}}) {
    for (const uint8_t all : {uint8_t{0b10101010}, uint8_t{0b11111111}}) {  // +1 or −1 everywhere
      const TernaryMatrix matrix(2, 65536, Bytes(2 * 65536 / 4, all));
      const std::vector<int8_t> vectors(size_t{4} * 65536, extreme);
      expect_product(matrix, {vectors.data(), 4, 65536});
    }
  }
}

TEST_F(TernaryTest, GroupsThatAreNotLiveAreTakenForZero) {
  const TernaryMatrix matrix = random_matrix(6, 256);
  std::vector<int8_t> vectors = random_bytes(size_t{5} * 256);
  const std::vector<uint32_t> live{32, 192};
  for (size_t k = 0; k < 5; ++k) {
    for (size_t l = 0; l < 256; ++l) {
      if (l / 32 != 1 && l / 32 != 6) vectors[k * 256 + l] = 0;
    }
  }
  expect_product(matrix, {vectors.data(), 5, 256, live});
}

TEST_F(TernaryTest, FoldsAddUpRows) {
  const TernaryMatrix matrix = random_matrix(9, 77);
  std::vector<Scalar> weights(9);
  for (Scalar& w : weights) w = Scalar::from_u64(rng_()) * Scalar::from_u64(rng_());
  const std::vector<Scalar> folded = matrix.fold(weights, pool_);
  ASSERT_EQ(folded.size(), 77U);
  for (size_t l = 0; l < 77; ++l) {
    Scalar sum;
    for (size_t q = 0; q < 9; ++q) {
      if (matrix.at(q, l) > 0) sum += weights[q];
      if (matrix.at(q, l) < 0) sum -= weights[q];
    }
    EXPECT_EQ(folded[l], sum) << l;
  }
}

}  // namespace
}  // namespace zkapex
