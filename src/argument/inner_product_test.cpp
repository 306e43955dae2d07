#include "argument/inner_product.h"

#include <gtest/gtest.h>

#include "algebra/msm.h"
#include "argument/argument_testing.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class InnerProductTest : public ::testing::Test {
 protected:
  struct Instance {
    std::vector<Scalar> a, b;
    Scalar alpha, value;
    Point commitment;
  };
  Instance instance(size_t length) {
    Instance out{random_scalars(rng_, length), random_scalars(rng_, length), random_scalar(rng_), {}, {}};
    out.value = inner_product(out.a, out.b);
    out.commitment = commit(out.a, out.alpha);
    return out;
  }
  Point commit(std::span<const Scalar> a, const Scalar& alpha) {
    return msm_var(a, generators_.positions().first(a.size()), pool_).value() + multiply(generators_.blinding(), alpha);
  }
  OpeningProof prove(const Instance& i) {
    Transcript transcript("test");
    Nonces nonces = Nonces::create({}).value();
    return prove_inner_product(transcript, generators_, SecretVector<Scalar>(i.a), i.alpha, i.b, nonces, pool_);
  }
  Verdict verify(const Instance& i, const OpeningProof& proof, Transcript transcript = Transcript("test")) {
    // Any vector at all: one whose first entry is the part that is a product, over no variables.
    return verify(i, proof, {{}, i.b[0], {i.b.begin() + 1, i.b.end()}}, std::move(transcript));
  }
  Verdict verify(const Instance& i, const OpeningProof& proof, const OpeningVector& b,
                 Transcript transcript = Transcript("test")) {
    PointSum sum;
    ZKAPEX_TRY(const Scalar c, verify_inner_product(transcript, proof, b, i.value, sum));
    sum.add(affine(i.commitment), c);
    return verdict_var(sum, generators_, pool_);
  }
  bool accepts(const Instance& i, const OpeningProof& proof) { return verify(i, proof).ok(); }

  // The challenges that a proof meets.
  struct Challenges {
    Scalar opening, value_base;
    std::vector<Scalar> fold;
  };
  static Challenges challenges(const OpeningProof& proof) {
    Transcript t("test");
    Challenges out;
    t.absorb("mask", {&proof.mask, 1});
    t.absorb("mask value", {&proof.mask_value, 1});
    out.opening = t.challenge("opening");
    t.absorb("blinding", {&proof.blinding, 1});
    out.value_base = t.challenge("value base");
    for (size_t k = 0; k < proof.left.size(); ++k) {
      t.absorb("left", {&proof.left[k], 1});
      t.absorb("right", {&proof.right[k], 1});
      out.fold.push_back(t.challenge("fold"));
    }
    return out;
  }
  // What the verifier's sum comes to, times 1; the identity for a true proof.
  Point residue(const Instance& i, const OpeningProof& proof) {
    const Challenges x = challenges(proof);
    Point sum = Point::decode(proof.mask).value() + multiply(i.commitment, x.opening) -
                multiply(generators_.blinding(), proof.blinding);
    std::vector<Scalar> weight(i.b.size(), Scalar::one());
    for (size_t k = 0; k < x.fold.size(); ++k) {
      sum += multiply(Point::decode(proof.left[k]).value(), x.fold[k].inverse());
      sum += multiply(Point::decode(proof.right[k]).value(), x.fold[k]);
      for (size_t j = 0; j < weight.size(); ++j) {
        if ((j >> (x.fold.size() - 1 - k) & 1) != 0) weight[j] *= x.fold[k].inverse();
      }
    }
    for (Scalar& w : weight) w *= proof.last;
    sum -= msm_var(weight, generators_.positions().first(weight.size()), pool_).value();
    const Scalar value = proof.mask_value + x.opening * i.value - inner_product(weight, i.b);
    return sum + multiply(generators_.value(), x.value_base * value);
  }

  std::mt19937_64 rng_{51};
  ThreadPool pool_{1};
  const Generators& generators_ = test_generators();
};

TEST_F(InnerProductTest, EveryLengthUpToTwenty) {
  for (size_t length = 1; length <= 20; ++length) {
    const Instance i = instance(length);
    const OpeningProof proof = prove(i);
    EXPECT_EQ(proof.left.size(), static_cast<size_t>(std::bit_width(length - 1)));
    EXPECT_TRUE(accepts(i, proof)) << length;
    EXPECT_TRUE(residue(i, proof).is_identity()) << length;
  }
}

// With every number of variables, and none or some entries after them.
TEST_F(InnerProductTest, VectorsThatBeginAsAProduct) {
  for (size_t variables = 0; variables <= 8; ++variables) {
    for (const size_t others : {0U, 1U, 5U, 130U}) {
      const OpeningVector b{random_scalars(rng_, variables), random_scalar(rng_), random_scalars(rng_, others)};
      Instance i = instance(b.size());
      i.b = b.entries();
      i.value = inner_product(i.a, i.b);
      const OpeningProof proof = prove(i);
      EXPECT_TRUE(verify(i, proof, b).ok()) << variables << " " << others;
      EXPECT_TRUE(accepts(i, proof)) << variables << " " << others;
      OpeningVector wrong = b;
      wrong.factor += Scalar::one();
      EXPECT_FALSE(verify(i, proof, wrong).ok());
      for (std::vector<Scalar> OpeningVector::*part : {&OpeningVector::point, &OpeningVector::others}) {
        if ((b.*part).empty()) continue;
        wrong = b;
        (wrong.*part).back() += Scalar::one();
        EXPECT_FALSE(verify(i, proof, wrong).ok());
      }
    }
  }
}

TEST_F(InnerProductTest, AWrongValueVectorOrBlindingIsRejected) {
  for (const size_t length : {1U, 2U, 5U, 8U}) {
    const Instance i = instance(length);
    Instance wrong = i;
    wrong.value += Scalar::one();
    EXPECT_FALSE(accepts(wrong, prove(wrong)));
    for (size_t k = 0; k < length; ++k) {
      wrong = i;
      wrong.b[k] += Scalar::one();
      EXPECT_FALSE(accepts(wrong, prove(i)));  // another public vector
      wrong = i;
      wrong.a[k] += Scalar::one();
      EXPECT_FALSE(accepts(i, prove(wrong)));  // another witness
    }
    wrong = i;
    wrong.alpha += Scalar::one();
    EXPECT_FALSE(accepts(i, prove(wrong)));
  }
}

TEST_F(InnerProductTest, AComponentOutsideTheVectorIsRejected) {
  Instance i = instance(5);
  for (const Point& stray : {Point(generators_.positions()[5]), Point(generators_.positions()[7]),
                             Point(generators_.positions()[100]), generators_.value(), Point::base()}) {
    Instance wrong = i;
    wrong.commitment += stray;
    EXPECT_FALSE(accepts(wrong, prove(wrong)));
  }
}

// A commitment with a component of the value's base: if that base were not scaled after the commitment is fixed, the
// component would shift the value at will.
TEST_F(InnerProductTest, AValueHiddenInTheCommitment) {
  Instance i = instance(6);
  i.commitment -= multiply(generators_.value(), Scalar::from_u64(7));
  i.value += Scalar::from_u64(7);
  EXPECT_FALSE(accepts(i, prove(i)));
}

// The value of the mask chosen when c is known, for a false value. On one position, where there are no rounds.
TEST_F(InnerProductTest, ALateMaskValue) {
  Instance i = instance(1);
  i.value += Scalar::one();
  const Scalar d = random_scalar(rng_), delta = random_scalar(rng_);
  OpeningProof proof;
  proof.mask = commit(std::vector{d}, delta).encode();
  proof.mask_value = d * i.b[0];
  proof.mask_value -= challenges(proof).opening;  // <d, b> + c (value − 1) = mask value + c value
  const Scalar c = challenges(proof).opening;
  proof.blinding = delta + c * i.alpha;
  proof.last = d + c * i.a[0];
  EXPECT_FALSE(accepts(i, proof));
}

// The mask chosen when c is known: it can take up any commitment, opened or not.
TEST_F(InnerProductTest, ALateMask) {
  Instance i = instance(1);
  i.commitment = Point::base();  // nobody knows an opening
  OpeningProof proof;
  proof.mask = Point::base().encode();
  proof.mask_value = random_scalar(rng_);
  proof.blinding = random_scalar(rng_);
  const Scalar c = challenges(proof).opening;
  proof.last = (proof.mask_value + c * i.value) * i.b[0].inverse();
  proof.mask = (commit(std::vector{proof.last}, proof.blinding) - multiply(i.commitment, c)).encode();
  EXPECT_FALSE(accepts(i, proof));
}

// A point of the last round chosen when the round's challenge is known: it takes up anything.
TEST_F(InnerProductTest, ALatePointOfARound) {
  for (const bool left : {true, false}) {
    Instance i = instance(6);
    i.value += Scalar::one();
    OpeningProof proof = prove(i);
    const Scalar x = challenges(proof).fold.back();
    EncodedPoint& last = left ? proof.left.back() : proof.right.back();
    last = (Point::decode(last).value() - multiply(residue(i, proof), left ? x : x.inverse())).encode();
    EXPECT_FALSE(accepts(i, proof));
  }
}

TEST_F(InnerProductTest, EveryPartOfTheProofMatters) {
  const Instance i = instance(6);
  const OpeningProof honest = prove(i);
  ASSERT_TRUE(accepts(i, honest));
  for (Scalar OpeningProof::*scalar : {&OpeningProof::mask_value, &OpeningProof::blinding, &OpeningProof::last}) {
    OpeningProof proof = honest;
    proof.*scalar += Scalar::one();
    EXPECT_FALSE(accepts(i, proof));
  }
  const EncodedPoint other = Point::base().encode();
  OpeningProof proof = honest;
  proof.mask = other;
  EXPECT_FALSE(accepts(i, proof));
  for (size_t k = 0; k < honest.left.size(); ++k) {
    proof = honest;
    proof.left[k] = other;
    EXPECT_FALSE(accepts(i, proof));
    proof = honest;
    proof.right[k] = other;
    EXPECT_FALSE(accepts(i, proof));
    proof = honest;
    std::swap(proof.left[k], proof.right[k]);
    EXPECT_FALSE(accepts(i, proof));
  }
}

TEST_F(InnerProductTest, PointsThatAreNoneAreNamed) {
  const Instance i = instance(6);
  const OpeningProof honest = prove(i);
  EncodedPoint no_point{}, identity{};
  no_point.fill(0xff);
  for (const EncodedPoint& bad : {no_point, identity}) {
    for (int where = 0; where < 3; ++where) {
      OpeningProof proof = honest;
      (where == 0 ? proof.mask : where == 1 ? proof.left[1] : proof.right[2]) = bad;
      const Verdict verdict = verify(i, proof);
      ASSERT_FALSE(verdict.ok());
      EXPECT_EQ(verdict.error().reason, Reason::kPoint);
    }
  }
}

TEST_F(InnerProductTest, TheTranscriptBindsWhatCameBefore) {
  const Instance i = instance(3);
  EXPECT_FALSE(verify(i, prove(i), Transcript("another")).ok());
}

// Hiding: mask and blinding are fresh, and neither is missing.
TEST_F(InnerProductTest, NothingOfTheWitnessShows) {
  const Instance i = instance(6);
  const OpeningProof first = prove(i), second = prove(i);
  EXPECT_NE(first.mask, second.mask);
  for (const OpeningProof* proof : {&first, &second}) {
    const Challenges x = challenges(*proof);
    EXPECT_NE(proof->blinding, x.opening * i.alpha);  // δ is not zero
    EXPECT_FALSE(proof->mask_value.is_zero());        // d is not zero
    // `last` is not c times the folded witness.
    std::vector<Scalar> a = i.a;
    for (size_t k = 0; k < x.fold.size(); ++k) {
      const size_t half = size_t{1} << (x.fold.size() - 1 - k);
      for (size_t j = half; j < a.size(); ++j) a[j - half] += x.fold[k] * a[j];
      a.resize(std::min(a.size(), half));
    }
    EXPECT_NE(proof->last, x.opening * a[0]);
  }
}

}  // namespace
}  // namespace zkapex
