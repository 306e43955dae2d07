// A proof is of one statement: changed public inputs, and rows moved about, are rejected.
#include <gtest/gtest.h>

#include "argument/argument_testing.h"
#include "argument/projected_range_relation.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

class StatementTest : public ::testing::Test {
 protected:
  const RangeStatement range_{"this one", 8, 2, {2, 2}};
  const MatrixStatement matrix_{"this one", 16, 4, 8};

  Proof prove(const RangeStatement& s, uint64_t seed = 71) {
    std::mt19937_64 rng(seed);
    return prove_range(s, random_values(s, rng), test_generators(), pool_).value();
  }
  Proof prove(const MatrixStatement& s, uint64_t seed = 72) {
    std::mt19937_64 rng(seed);
    const MatrixInstance instance = random_instance(s, rng);
    return prove_matrix(s, instance.values(), test_generators(), pool_).value();
  }
  template <class Statement>
  void rejected(const Statement& s, const Proof& proof, std::vector<Reason> reasons) {
    const Verdict verdict = verify_with(*relation(s), proof.encode(), pool_);
    ASSERT_FALSE(verdict.ok());
    EXPECT_NE(std::ranges::find(reasons, verdict.error().reason), reasons.end()) << verdict.error().detail;
  }

  ThreadPool pool_{1};
};

TEST_F(StatementTest, OtherParametersOfAProjection) {
  const ProjectedRangeStatement right{"this one",
                                      {.row_length = 8, .rows = 3, .chunk = 4, .count = 4, .bits = 6, .units = {2, 1}}};
  const Proof proof = prove_projected_range(right, std::vector<int64_t>(24, 5), test_generators(), pool_).value();
  const auto verdict_for = [&](const auto& change) {
    ProjectedRangeStatement other = right;
    change(other, other.projection);
    return verify(ProjectedRangeRelation(other), proof.encode(), test_generators(), pool_);
  };
  EXPECT_TRUE(verdict_for([](auto&, auto&) {}).ok());
  EXPECT_FALSE(verdict_for([](auto& s, auto&) { s.context = "that one"; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.count = 3; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.units = {1, 2}; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.units = {3}; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.bits = 7; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.rows = 4, p.units = {2, 2}; }).ok());
  EXPECT_FALSE(verdict_for([](auto&, auto& p) { p.chunk = 8, p.count = 8; }).ok());
  // Rows exchanged, among the integers or among the projections.
  for (const size_t row : {0U, 3U}) {
    Proof moved = proof;
    std::swap(moved.rows[row], moved.rows[row + 1]);
    EXPECT_FALSE(verify(ProjectedRangeRelation(right), moved.encode(), test_generators(), pool_).ok()) << row;
  }
}

TEST_F(StatementTest, AnotherContext) {
  RangeStatement range = range_;
  range.context = "that one";
  rejected(range, prove(range_), {Reason::kEquation});
  MatrixStatement matrix = matrix_;
  matrix.context = "";
  rejected(matrix, prove(matrix_), {Reason::kEquation});
}

TEST_F(StatementTest, OtherParameters) {
  const Proof range = prove(range_), matrix = prove(matrix_);
  for (const RangeStatement& s :
       {RangeStatement{range_.context, 16, 2, {2, 2}}, RangeStatement{range_.context, 4, 2, {2, 2}},
        RangeStatement{range_.context, 8, 1, {2, 2}}, RangeStatement{range_.context, 8, 1, {4, 4}},
        RangeStatement{range_.context, 8, 4, {1, 1}}, RangeStatement{range_.context, 8, 2, {3, 1}},
        RangeStatement{range_.context, 8, 2, {1, 3}}, RangeStatement{range_.context, 8, 2, {4}},
        RangeStatement{range_.context, 8, 2, {2, 1}}, RangeStatement{range_.context, 8, 2, {2, 2, 1}}}) {
    rejected(s, range, {Reason::kLength, Reason::kEquation, Reason::kScalar});
  }
  for (const MatrixStatement& s :
       {MatrixStatement{matrix_.context, 32, 4, 8}, MatrixStatement{matrix_.context, 16, 2, 8},
        MatrixStatement{matrix_.context, 16, 4, 4}, MatrixStatement{matrix_.context, 16, 4, 12},
        MatrixStatement{matrix_.context, 16, 2, 16}}) {
    rejected(s, matrix, {Reason::kLength, Reason::kEquation, Reason::kScalar});
  }
}

// Whatever names the statement changes the first challenge.
TEST_F(StatementTest, EveryFieldIsAbsorbed) {
  const Proof proof = prove(range_);
  const auto first = [](Transcript t) { return t.challenge("first"); };
  const auto of_range = [&](const RangeStatement& s) { return first(begin(RangeRelation(s), proof.rows, proof.pads)); };
  const Scalar range = of_range(range_);
  EXPECT_EQ(range, of_range(range_));
  for (const RangeStatement& s :
       {RangeStatement{"", 8, 2, {2, 2}}, RangeStatement{range_.context, 16, 2, {2, 2}},
        RangeStatement{range_.context, 8, 3, {2, 2}}, RangeStatement{range_.context, 8, 2, {4}},
        RangeStatement{range_.context, 8, 2, {1, 3}}, RangeStatement{range_.context, 8, 2, {2, 2, 1}}}) {
    EXPECT_NE(range, of_range(s));
  }
  const auto of_matrix = [&](const MatrixStatement& s) {
    return first(begin(MatrixRelation(s), proof.rows, proof.pads));
  };
  const Scalar matrix = of_matrix(matrix_);
  for (const MatrixStatement& s :
       {MatrixStatement{"", 16, 4, 8}, MatrixStatement{matrix_.context, 32, 4, 8},
        MatrixStatement{matrix_.context, 16, 2, 8}, MatrixStatement{matrix_.context, 16, 4, 4}}) {
    EXPECT_NE(matrix, of_matrix(s));
  }
  // The two relations never share a transcript, and rows and pads are absorbed in order.
  EXPECT_NE(first(begin(RangeRelation({"", 8, 2, {1}}), {}, proof.pads)),
            first(begin(MatrixRelation({}), {}, proof.pads)));
  std::vector<EncodedPoint> swapped = proof.rows;
  std::swap(swapped[0], swapped[1]);
  EXPECT_NE(range, first(begin(RangeRelation(range_), swapped, proof.pads)));
  EXPECT_NE(range, first(begin(RangeRelation(range_), proof.rows, proof.rows[0])));
}

TEST_F(StatementTest, RowsOutOfPlace) {
  const Proof range = prove(range_);
  for (size_t a = 0; a < range.rows.size(); ++a) {  // also between planes and between segments
    for (size_t b = 0; b < a; ++b) {
      Proof proof = range;
      std::swap(proof.rows[a], proof.rows[b]);
      rejected(range_, proof, {Reason::kEquation});
      proof.rows[a] = proof.rows[b];  // one twice, one missing
      rejected(range_, proof, {Reason::kEquation});
    }
  }
  const Proof matrix = prove(matrix_);
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {2, 3}, {3, 4}, {4, 11}}) {  // y, x and A
    Proof proof = matrix;
    std::swap(proof.rows[static_cast<size_t>(a)], proof.rows[static_cast<size_t>(b)]);
    rejected(matrix_, proof, {Reason::kEquation});
  }
}

TEST_F(StatementTest, PartsReplayedFromAnotherProof) {
  const Proof one = prove(range_, 1), two = prove(range_, 2), same_witness = prove(range_, 1);
  for (const Proof* other : {&two, &same_witness}) {
    for (size_t k = 0; k < one.rows.size(); ++k) {
      Proof proof = one;
      proof.rows[k] = other->rows[k];
      rejected(range_, proof, {Reason::kEquation});
    }
    Proof proof = one;
    proof.rows = other->rows;
    rejected(range_, proof, {Reason::kEquation});
    proof = one;
    proof.pads = other->pads;
    rejected(range_, proof, {Reason::kEquation});
    for (size_t k = 0; k < one.forks.size(); ++k) {
      proof = one;
      proof.forks[k] = other->forks[k];
      rejected(range_, proof, {Reason::kEquation});
    }
    proof = one;
    proof.opening = other->opening;
    rejected(range_, proof, {Reason::kEquation});
  }
  Proof proof = one;
  std::swap(proof.forks[0], proof.forks[1]);
  rejected(range_, proof, {Reason::kEquation});
}

TEST_F(StatementTest, TheBatchNamesTheProofsThatAreFalse) {
  std::vector<PointSum> sums;
  for (uint64_t k = 0; k < 5; ++k) {
    RangeStatement s = range_;
    const Bytes proof = prove(s, k).encode();
    if (k == 1 || k == 4) s.context = "another";
    sums.push_back(check(RangeRelation(s), proof, pool_).value());
  }
  EXPECT_EQ(find_false_var(sums, test_generators(), pool_).value(), (std::vector<size_t>{1, 4}));
}

// Two false sums that cancel when they are simply added.
TEST_F(StatementTest, FalseProofsCannotPayForEachOther) {
  PointSum sums[2];
  sums[0].add_value(Scalar::one());
  sums[1].add_value(-Scalar::one());
  EXPECT_EQ(find_false_var(sums, test_generators(), pool_).value(), (std::vector<size_t>{0, 1}));
}

TEST_F(StatementTest, EveryFalseProofOfABatchIsFound) {
  std::vector<PointSum> sums(11);
  for (const size_t k : {0U, 4U, 5U, 10U}) sums[k].add_value(Scalar::from_u64(k + 1));
  EXPECT_EQ(find_false_var(sums, test_generators(), pool_).value(), (std::vector<size_t>{0, 4, 5, 10}));
  EXPECT_EQ(find_false_var({}, test_generators(), pool_).value(), std::vector<size_t>{});
}

TEST_F(StatementTest, ProversRefuseWitnessesThatDoNotFit) {
  const std::vector<int64_t> few(range_.rows() * range_.row_length - 1);
  EXPECT_FALSE(prove_range(range_, few, test_generators(), pool_).ok());
  std::mt19937_64 rng(73);
  MatrixInstance instance = random_instance(matrix_, rng);
  instance.x.pop_back();
  EXPECT_FALSE(prove_matrix(matrix_, instance.values(), test_generators(), pool_).ok());
}

}  // namespace
}  // namespace zkapex
