// Nothing else would notice if the rows of tensors that no operator touches were committed without a blinding.
#include <gtest/gtest.h>

#include "algebra/msm.h"
#include "parties/client_testing.h"
#include "parties/uncovered.h"

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

// 64-bit integers take two entries each: the halves of a tensor of several rows, put together, are the tensor.
TEST(UnchangedRows, HoldAllOfASplitTensor) {
  constexpr uint64_t kRow = 64, kCount = 2 * kRow + 5;
  std::vector<int64_t> values(kCount);
  std::mt19937_64 rng(7);
  for (int64_t& v : values) v = static_cast<int64_t>(rng());
  Bytes integers(8 * kCount), weights(16);
  std::memcpy(integers.data(), values.data(), integers.size());
  const Path path = Path(::testing::TempDir()) / fmt::format("zkapex-split-{}.safetensors", ::getpid());
  ASSERT_TRUE(write_checkpoint(path,
                               {TensorSource::of({"ids", Dtype::kI64, {kCount}}, integers),
                                TensorSource::of({"w", Dtype::kF32, {4}}, weights)},
                               {})
                  .ok());
  const Checkpoint model = *Checkpoint::open(path);
  const std::vector<TensorInfo> infos = {model.tensors()[0].info(), model.tensors()[1].info()};
  const Deployment deployment = *Deployment::make(*Layout::make(infos, {"w"}, {.block = 4, .row = kRow}),
                                                  testing::small_deployment().parameters());
  ASSERT_EQ(deployment.layout().unchanged_rows(), 5U);  // ⌈2 · 133 / 64⌉
  std::vector<int64_t> whole(5 * kRow);
  ASSERT_TRUE(uncovered_rows(deployment, model)(0, whole).ok());
  for (uint64_t k = 0; k < kCount; ++k) EXPECT_EQ(whole[2 * k] + (whole[2 * k + 1] << 32), values[k]) << k;
  EXPECT_TRUE(std::all_of(whole.begin() + 2 * kCount, whole.end(), [](int64_t v) { return v == 0; }));
  for (uint64_t row = 0; row < 5; ++row) {  // in parts as at once
    std::vector<int64_t> part(kRow);
    ASSERT_TRUE(uncovered_rows(deployment, model)(row, part).ok());
    EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(row * kRow, kRow))) << row;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace zkapex
