// What is absorbed and drawn, in order: a change here is a change of the protocol, and of docs/argument.md, or, of the
// matrix relation, of its header.
#include <gtest/gtest.h>

#include "argument/manifest_testing.h"
#include "argument/projected_range_relation.h"

namespace zkapex {
namespace {

using namespace testing;  // NOLINT: test helpers

TEST(Manifest, OfTheRangeRelation) {
  ThreadPool pool(1);
  std::mt19937_64 rng(141);
  const RangeStatement s{"manifest", 2, 2, {2, 1}};
  const Bytes proof = prove_range(s, random_values(s, rng), test_generators(), pool).value().encode();
  Manifest manifest;
  ASSERT_TRUE(verify_with(*relation(s), proof, pool, &manifest).ok());
  EXPECT_EQ(manifest_text(manifest), R"(main + protocol
main + parameters
main + context
main + bit rows
main + pads
segment 0 > segment 0
segment 0 ? tau_k[0]
segment 0 ? tau[0]
segment 0 ? tau[1]
segment 0 + bits round 0
segment 0 ? bits round 0
segment 0 + bits round 1
segment 0 ? bits round 1
segment 0 + rest
segment 0 + planes round 0
segment 0 ? planes round 0
segment 0 + b, b^2
segment 1 > segment 1
segment 1 ? tau_k[0]
segment 1 ? tau[0]
segment 1 + bits round 0
segment 1 ? bits round 0
segment 1 + rest
segment 1 + planes round 0
segment 1 ? planes round 0
segment 1 + b, b^2
main + fork
main + fork
main ? beta
main + position round 0
main ? position round 0
main + t(xi)
main ? beta'
main ? omega
main + T0, T1
main ? e
main + masked factors
main ? lambda
main ? zeta
)" + opening_events(s.shape().opening_rounds()));
}

TEST(Manifest, OfTheProjectedRangeRelation) {
  ThreadPool pool(1);
  const ProjectedRangeStatement s{"manifest",
                                  {.row_length = 2, .rows = 2, .chunk = 1, .count = 2, .bits = 2, .units = {3, 1}}};
  const std::vector<int64_t> values{1, 0, -1, 1};
  const Bytes proof = prove_projected_range(s, values, test_generators(), pool).value().encode();
  Manifest manifest;
  ASSERT_TRUE(verify_with(ProjectedRangeRelation(s), proof, pool, &manifest).ok());
  EXPECT_EQ(manifest_text(manifest), R"(main + protocol
main + parameters
main + context
main + rows
main + pads
main ? projection
main + projections
part 0 > part 0
part 0 ? tau_k[0]
part 0 ? tau[0]
part 0 ? tau[1]
part 0 ? tau[2]
part 0 + bits round 0
part 0 ? bits round 0
part 0 + bits round 1
part 0 ? bits round 1
part 0 + bits round 2
part 0 ? bits round 2
part 0 + rest
part 0 + planes round 0
part 0 ? planes round 0
part 0 + b, b^2
part 1 > part 1
part 1 ? tau_k[0]
part 1 ? tau[0]
part 1 + bits round 0
part 1 ? bits round 0
part 1 + rest
part 1 + planes round 0
part 1 ? planes round 0
part 1 + b, b^2
part 2 > part 2
part 2 ? tau[0]
part 2 ? tau[1]
part 2 ? rho[0]
part 2 + v
part 2 + link round 0
part 2 ? link round 0
part 2 + f
main + fork
main + fork
main + fork
main ? beta
main + position round 0
main ? position round 0
main + t(xi)
main ? beta'
main ? omega
main + T0, T1
main ? e
main + masked factors
main ? lambda
main ? zeta
)" + opening_events(s.shape().opening_rounds()));
}

TEST(Manifest, OfTheMatrixRelation) {
  ThreadPool pool(1);
  std::mt19937_64 rng(142);
  const MatrixStatement s{"manifest", 4, 2, 2};
  const MatrixInstance instance = random_instance(s, rng);
  const Bytes proof = prove_matrix(s, instance.values(), test_generators(), pool).value().encode();
  Manifest manifest;
  ASSERT_TRUE(verify_with(*relation(s), proof, pool, &manifest).ok());
  EXPECT_EQ(manifest_text(manifest), R"(main + protocol
main + parameters
main + context
main + rows
main + pads
blocks 0 > blocks 0
blocks 0 ? r[0]
blocks 0 ? r[1]
blocks 0 + y
blocks 0 + first round 0
blocks 0 ? first round 0
blocks 0 + first round 1
blocks 0 ? first round 1
blocks 0 + v, x, vx
blocks 0 + second round 0
blocks 0 ? second round 0
blocks 0 + second round 1
blocks 0 ? second round 1
blocks 0 + A
main + fork
main ? beta
main + position round 0
main ? position round 0
main + position round 1
main ? position round 1
main + t(xi)
main ? beta'
main ? omega
main + T0, T1
main ? e
main + masked factors
main ? lambda
main ? zeta
)" + opening_events(s.shape().opening_rounds()));
}

}  // namespace
}  // namespace zkapex
