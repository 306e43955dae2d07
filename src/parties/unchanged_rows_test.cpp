// Nothing else would notice if the rows of tensors that no operator touches were committed without a blinding.
#include <gtest/gtest.h>

#include "algebra/msm.h"
#include "parties/client_testing.h"

namespace zkapex {
namespace {

TEST(UnchangedRows, AreBlinded) {
  testing::World world;
  ASSERT_EQ(world.registered->unchanged.size(), 1U);
  // "other" is 1, 2, 3, at ten fraction bits: who guesses that may not see that it is right.
  const std::vector<int64_t> guess = {1 << 10, 2 << 10, 3 << 10};
  const Point plain = *msm_small_var(guess, world.generators.positions().first(3), world.pool);
  EXPECT_NE(world.registered->unchanged[0], plain.encode());
  // The same tensor in another registration looks different.
  world.begin("bob");
  const auto other = read_public_file<RegistrationFile>(world.folder / "bob/registration.zka");
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_NE(world.registered->unchanged[0], assume_registration(world.deployment, *other)->unchanged[0]);
}

}  // namespace
}  // namespace zkapex
