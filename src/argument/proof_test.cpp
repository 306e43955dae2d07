// Bytes of proofs: every change is rejected, each with the right reason.
#include "argument/proof.h"

#include <gtest/gtest.h>

#include <limits>

#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

constexpr size_t kMagic = 8;

// ℓ, little-endian: the smallest encoding that is not canonical.
std::array<uint8_t, 32> order_bytes() {
  std::array<uint8_t, 32> out = (-Scalar::one()).to_bytes();
  out[0] = static_cast<uint8_t>(out[0] + 1);  // ℓ − 1 ends in 0xec
  return out;
}

class ProofTest : public ::testing::Test {
 protected:
  struct Case {
    AnyRelation relation;
    Bytes proof;
  };
  std::vector<Case> small_cases() {
    std::mt19937_64 rng(61);
    const RangeStatement range{"bytes", 2, 2, {2}};
    const MatrixStatement matrix{"bytes", 4, 2, 2};
    const MatrixInstance instance = random_instance(matrix, rng);
    return {{relation(range), prove_range(range, random_values(range, rng), test_generators(), pool_).value().encode()},
            {relation(matrix), prove_matrix(matrix, instance.values(), test_generators(), pool_).value().encode()}};
  }
  static bool is_scalar(const ProofShape& shape, size_t word) {  // the 32-byte word of this number, after the magic
    const size_t scalars = shape.rows + 1, mask = scalars + shape.sealed_scalars() + 2 * shape.products;
    const size_t left = mask + 3, last = left + 2 * shape.opening_rounds();
    return (word >= scalars && word < mask) || (word > mask && word < left) || word == last;
  }

  ThreadPool pool_{1};
};

TEST_F(ProofTest, EveryByteMatters) {
  std::mt19937_64 rng(62);
  for (const Case& c : small_cases()) {
    ASSERT_TRUE(verify_with(*c.relation, c.proof, pool_).ok());
    ASSERT_EQ(c.proof.size(), c.relation->shape().bytes());
    for (size_t at = 0; at < c.proof.size(); ++at) {
      Bytes changed = c.proof;
      changed[at] = static_cast<uint8_t>(changed[at] ^ (1 + rng() % 255));
      const Verdict verdict = verify_with(*c.relation, changed, pool_);
      ASSERT_FALSE(verdict.ok()) << at;
      const Reason reason = verdict.error().reason;
      if (at < kMagic) {
        EXPECT_EQ(reason, Reason::kVersion) << at;
      } else if (is_scalar(c.relation->shape(), (at - kMagic) / 32)) {
        EXPECT_TRUE(reason == Reason::kEquation || reason == Reason::kScalar) << at << " " << name(reason);
      } else {
        EXPECT_TRUE(reason == Reason::kEquation || reason == Reason::kPoint) << at << " " << name(reason);
      }
    }
  }
}

TEST_F(ProofTest, EveryBitOfTheHighestByteOfAScalarMatters) {
  for (const Case& c : small_cases()) {
    for (size_t word = 0; kMagic + 32 * word < c.proof.size(); ++word) {
      if (!is_scalar(c.relation->shape(), word)) continue;
      for (unsigned bit = 5; bit < 8; ++bit) {  // canonical scalars have none of these
        Bytes changed = c.proof;
        changed[kMagic + 32 * word + 31] ^= static_cast<uint8_t>(1U << bit);
        const Verdict verdict = verify_with(*c.relation, changed, pool_);
        ASSERT_FALSE(verdict.ok());
        EXPECT_EQ(verdict.error().reason, Reason::kScalar);
      }
    }
  }
}

TEST_F(ProofTest, TruncationsAndExtensionsAreLengths) {
  for (const Case& c : small_cases()) {
    for (size_t length = 0; length < c.proof.size(); ++length) {
      const Verdict verdict = verify_with(*c.relation, ByteView(c.proof).first(length), pool_);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kLength);
    }
    Bytes longer = c.proof;
    for (size_t more = 1; more <= 64; ++more) {
      longer.push_back(0);
      const Verdict verdict = verify_with(*c.relation, longer, pool_);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kLength);
    }
  }
}

TEST_F(ProofTest, OtherVersionsAreRefused) {
  for (const Case& c : small_cases()) {
    for (unsigned version = 0; version < 256; ++version) {
      Bytes changed = c.proof;
      if (changed[kMagic - 1] == version) continue;
      changed[kMagic - 1] = static_cast<uint8_t>(version);
      const Verdict verdict = verify_with(*c.relation, changed, pool_);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kVersion);
    }
  }
}

TEST_F(ProofTest, ScalarsMustBeCanonical) {
  const std::array<uint8_t, 32> order = order_bytes();
  for (const Case& c : small_cases()) {
    for (size_t word = 0; kMagic + 32 * word < c.proof.size(); ++word) {
      if (!is_scalar(c.relation->shape(), word)) continue;
      // The same scalar plus ℓ, if that fits in 32 bytes: it always does, 2 ℓ < 2^254.
      Bytes changed = c.proof;
      unsigned carry = 0;
      for (size_t k = 0; k < 32; ++k) {
        const unsigned sum = changed[kMagic + 32 * word + k] + order[k] + carry;
        changed[kMagic + 32 * word + k] = static_cast<uint8_t>(sum);
        carry = sum >> 8;
      }
      const Verdict verdict = verify_with(*c.relation, changed, pool_);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kScalar);
      EXPECT_NE(verdict.error().detail.find(std::to_string(kMagic + 32 * word)), std::string::npos);
    }
  }
}

TEST_F(ProofTest, PointsMustBeCanonicalAndNotTheIdentity) {
  std::array<uint8_t, 32> identity{}, odd{}, above{};
  odd[0] = 1;  // negative field elements encode nothing
  above.fill(0xff);
  above[0] = 0xf0;  // p + 3 and the like: not reduced
  above[31] = 0x7f;
  for (const Case& c : small_cases()) {
    for (size_t word = 0; kMagic + 32 * word < c.proof.size(); ++word) {
      if (is_scalar(c.relation->shape(), word)) continue;
      for (const auto& bad : {identity, odd, above}) {
        Bytes changed = c.proof;
        std::copy(bad.begin(), bad.end(), changed.begin() + static_cast<ptrdiff_t>(kMagic + 32 * word));
        const Verdict verdict = verify_with(*c.relation, changed, pool_);
        ASSERT_FALSE(verdict.ok());
        EXPECT_EQ(verdict.error().reason, Reason::kPoint) << word;
      }
    }
  }
}

TEST_F(ProofTest, AChallengeOfZeroIsRefused) {
  class ZeroAt : public Tamper {
   public:
    explicit ZeroAt(std::string label) : label_(std::move(label)) {}
    Scalar challenge(const std::string& /*transcript*/, std::string_view label, const Scalar& /*drawn*/) override {
      if (label == label_) return Scalar::zero();
      return random_scalar(rng_);
    }

   private:
    std::string label_;
    std::mt19937_64 rng_{1};
  };
  for (const Case& c : small_cases()) {
    Manifest manifest;
    ASSERT_TRUE(verify_with(*c.relation, c.proof, pool_, &manifest).ok());
    for (const Manifest::Event& event : manifest.events) {
      if (event.kind != TranscriptStep::kChallenge) continue;
      ZeroAt oracle(event.label);
      const Verdict verdict = verify_with(*c.relation, c.proof, pool_, &oracle);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kZeroChallenge) << event.label;
    }
  }
}

TEST_F(ProofTest, EncodingAndDecodingAreInverse) {
  for (const Case& c : small_cases()) {
    const Result<Proof, Rejection> proof = Proof::decode(c.proof, c.relation->shape());
    ASSERT_TRUE(proof.ok());
    EXPECT_EQ(proof->encode(), c.proof);
  }
}

TEST(ProofShape, CountsAreAsSpecified) {
  const ProofShape shape{.row_length = 16, .rows = 5, .forks = {7, 9}, .pairs = 3, .products = 2};
  EXPECT_EQ(shape.position_rounds(), 4U);
  EXPECT_EQ(shape.main_scalars(), 2 * 4 + 3 + 2U);
  EXPECT_EQ(shape.sealed_scalars(), 7 + 9 + 13U);
  EXPECT_EQ(shape.pads(), 29 + 4U);
  EXPECT_EQ(shape.generators(), 16 + 33U);
  EXPECT_EQ(shape.opening_rounds(), 6U);
  EXPECT_EQ(shape.bytes(), 8 + 32 * (5 + 2 + 12 + 29 + 4 + 3U));
}

// No length is read from a proof; those that a statement implies cannot overflow, because a statement that asks for too
// much is refused before any is computed.
// Before its shape is asked for, and the proof is compared with that.
TEST(ProofShape, AnUnsupportedStatementIsRefusedFirst) {
  ThreadPool pool(1);
  const auto verdict = check(RangeRelation({"", 16, 65, {1}}), Bytes{}, pool);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kStatement) << verdict.error().detail;
}

TEST(ProofShape, StatementsOutsideTheSupportedSetAreRefused) {
  constexpr size_t kHuge = std::numeric_limits<size_t>::max();
  ThreadPool pool(1);
  const auto refused = [&](const Result<PointSum, Rejection>& verdict) {
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().reason, Reason::kStatement) << verdict.error().detail;
  };
  using Rows = std::vector<size_t>;
  for (const RangeStatement& s :
       {RangeStatement{"", 0, 8, Rows{1}}, RangeStatement{"", 3, 8, Rows{1}}, RangeStatement{"", kHuge, 8, Rows{1}},
        RangeStatement{"", 2 * kMaxRowLength, 8, Rows{1}}, RangeStatement{"", 16, 0, Rows{1}},
        RangeStatement{"", 16, 65, Rows{1}}, RangeStatement{"", 16, 8, Rows{}}, RangeStatement{"", 16, 8, Rows{1, 0}},
        RangeStatement{"", 16, 8, Rows{kHuge}}, RangeStatement{"", 16, 8, Rows{kMaxRows + 1}},
        RangeStatement{"", 16, 8, Rows(kMaxForks + 1, 1)}}) {
    refused(check(RangeRelation(s), Bytes{}, pool));
    EXPECT_FALSE(prove_range(s, {}, test_generators(), pool).ok());
  }
  for (const MatrixStatement& s :
       {MatrixStatement{"", 0, 4, 4}, MatrixStatement{"", 24, 4, 6}, MatrixStatement{"", 16, 0, 4},
        MatrixStatement{"", 16, 3, 4}, MatrixStatement{"", 16, 8, 4}, MatrixStatement{"", 16, 4, 0},
        MatrixStatement{"", 16, 4, 5}, MatrixStatement{"", 16, 4, kMaxRows + 4}, MatrixStatement{"", 16, kHuge, 4},
        MatrixStatement{"", 2 * kMaxRowLength, 4, 4}}) {
    refused(check(MatrixRelation(s), Bytes{}, pool));
    EXPECT_FALSE(prove_matrix(s, {}, test_generators(), pool).ok());
  }
  // The largest that is supported: no product wraps, so the length is exact.
  const RangeStatement largest{"", kMaxRowLength, 64, Rows(kMaxForks, kMaxRows)};
  ASSERT_TRUE(RangeRelation(largest).sound().ok());
  const ProofShape shape = largest.shape();
  const auto exact = static_cast<unsigned __int128>(64) * kMaxForks * kMaxRows;
  EXPECT_TRUE(exact == shape.rows);
  const auto fork = static_cast<unsigned __int128>(3 * (32 + 24) + 1 + 3 * 6 + 2);
  const auto sealed = fork * kMaxForks + 2 * 24 + kMaxForks + 2;
  EXPECT_TRUE(32 * (exact + 2 + 2 * shape.opening_rounds() + sealed + 2 * kMaxForks + 3) + kMagic == shape.bytes());
  EXPECT_LT(shape.pads(), size_t{1} << 32);  // pads are numbered by 32 bits
}

TEST(ProofShape, TooFewGeneratorsAreRefused) {
  ThreadPool pool(1);
  std::mt19937_64 rng(63);
  const RangeStatement s{"", 16, 8, {1}};
  const std::vector<int64_t> values = random_values(s, rng);
  const Generators few = Generators::derive(s.shape().generators() - 1, pool);
  EXPECT_FALSE(prove_range(s, values, few, pool).ok());
  const Bytes proof = prove_range(s, values, test_generators(), pool).value().encode();
  const Verdict verdict = verify(RangeRelation(s), proof, few, pool);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().reason, Reason::kStatement);
  const PointSum sums[] = {check(RangeRelation(s), proof, pool).value()};
  EXPECT_FALSE(find_false_var(sums, few, pool).ok());
  EXPECT_TRUE(find_false_var(sums, test_generators(), pool).value().empty());
}

}  // namespace
}  // namespace zkapex
