#include "argument/matrix_relation_testing.h"

#include <gtest/gtest.h>

#include <random>

namespace zkapex {
namespace {

class MatrixTest : public ::testing::Test {
 protected:
  static const Generators& generators() {
    static ThreadPool pool(2);
    static const Generators g = Generators::derive(512, pool);
    return g;
  }
  struct Instance {
    std::vector<int8_t> matrix;
    std::vector<int64_t> x, y;
    [[nodiscard]] MatrixValues values() const { return {matrix, x, y}; }
  };
  Instance random_instance(const MatrixStatement& s) {
    Instance out;
    out.matrix.resize(s.blocks * s.side * s.side);
    out.x.resize(s.blocks * s.side);
    out.y.resize(s.blocks * s.side);
    for (int8_t& v : out.matrix) v = static_cast<int8_t>(rng_());
    for (int64_t& v : out.x) v = static_cast<int64_t>(rng_()) >> 24;
    for (size_t b = 0; b < s.blocks; ++b) {
      for (size_t j = 0; j < s.side; ++j) {
        for (size_t l = 0; l < s.side; ++l) {
          out.y[b * s.side + j] += out.matrix[(b * s.side + j) * s.side + l] * out.x[b * s.side + l];
        }
      }
    }
    return out;
  }

  std::mt19937_64 rng_{5};
  ThreadPool pool_{2};
};

TEST_F(MatrixTest, HonestProofsAreAccepted) {
  for (const MatrixStatement& s :
       {MatrixStatement{"t", 16, 4, 4}, MatrixStatement{"t", 16, 4, 12}, MatrixStatement{"t", 64, 8, 8},
        MatrixStatement{"t", 64, 2, 32}, MatrixStatement{"t", 256, 16, 48}}) {
    const Instance instance = random_instance(s);
    const Result<Proof> proof = prove_matrix(s, instance.values(), generators(), pool_);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    const Verdict verdict = verify(MatrixRelation(s), proof->encode(), generators(), pool_);
    EXPECT_TRUE(verdict.ok()) << (verdict ? "" : verdict.error().detail);
  }
}

TEST_F(MatrixTest, AWrongProductIsRefusedByTheProver) {
  const MatrixStatement s{"t", 16, 4, 4};
  Instance instance = random_instance(s);
  instance.y[5] += 1;
  EXPECT_FALSE(prove_matrix(s, instance.values(), generators(), pool_).ok());
}

}  // namespace
}  // namespace zkapex
