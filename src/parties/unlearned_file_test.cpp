// What is written is what is proved: read again, it gives the same integers, whatever the type.
#include "parties/unlearned_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "parties/client_model.h"

namespace zkapex {
namespace {

class UnlearnedFileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A checkpoint of that type, and a deployment for it.
  void make(Dtype dtype) {
    const std::vector<TensorInfo> tensors = {{"covered", dtype, {3, 2}}, {"other", dtype, {2}}};
    Bytes covered, other;
    ASSERT_TRUE(append_elements(dtype, std::vector<double>{1, 0.5, 0.25, -1, 2, 3}, covered).ok());
    ASSERT_TRUE(append_elements(dtype, std::vector<double>{1, 2}, other).ok());
    ASSERT_TRUE(write_checkpoint(folder_ / "model.safetensors",
                                 {TensorSource::of(tensors[0], covered), TensorSource::of(tensors[1], other)},
                                 {{"format", "pt"}}, {.overwrite = true})
                    .ok());
    model_.emplace(*Checkpoint::open(folder_ / "model.safetensors"));
    auto deployment = Deployment::make(*Layout::make(tensors, {"covered"}, {.block = 16, .row = 256}), {});
    ASSERT_TRUE(deployment.ok()) << deployment.error().message;
    deployment_.emplace(*std::move(deployment));
  }

  // Written with these integers; what the report says of types.
  std::string written(const std::vector<int64_t>& integers) {
    const CoordinateReader weights = [&](uint64_t first, std::span<int64_t> out) {
      std::copy_n(integers.begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
      return Status(Done{});
    };
    const Path path = folder_ / "unlearned.safetensors";
    FileWriter file = *FileWriter::create(path, {.overwrite = true});
    const auto widened = write_unlearned(file, *deployment_, *model_, weights);
    EXPECT_TRUE(widened.ok() && file.commit().ok());
    const Checkpoint again = *Checkpoint::open(path);
    EXPECT_EQ(again.metadata(), model_->metadata());
    EXPECT_EQ(again.tensors()[1].info(), model_->tensors()[1].info());
    EXPECT_TRUE(std::ranges::equal(again.tensors()[1].data(), model_->tensors()[1].data()));
    std::vector<int64_t> read(integers.size());
    const CoordinateReader reader = checkpoint_coordinates(*deployment_, again);
    EXPECT_TRUE(reader(0, read).ok());
    EXPECT_EQ(read, integers);
    if (widened->empty()) {
      EXPECT_EQ(again.tensors()[0].dtype(), model_->tensors()[0].dtype());
      return "";
    }
    EXPECT_EQ(again.tensors()[0].dtype(), widened->front().to);
    return fmt::format("{} {} to {}", widened->front().tensor, dtype_name(widened->front().from),
                       dtype_name(widened->front().to));
  }

  static constexpr int64_t kOne = int64_t{1} << 36;  // with the default fraction
  Path folder_ = Path(::testing::TempDir()) / fmt::format("zkapex-unlearned-{}", ::getpid());
  std::optional<Checkpoint> model_;
  std::optional<Deployment> deployment_;
};

TEST_F(UnlearnedFileTest, Bf16) {
  make(Dtype::kBF16);
  EXPECT_EQ(written({0, kOne, -kOne, 3 * kOne / 2, 255 * kOne / 128, 1}), "");  // eight digits, and 2^-36
  EXPECT_EQ(written({0, kOne, -kOne, 0, 0, kOne + kOne / 256}), "covered BF16 to F32");
  EXPECT_EQ(written({0, kOne, -kOne, 0, 0, kOne + 1}), "covered BF16 to F64");
}

TEST_F(UnlearnedFileTest, F16) {
  make(Dtype::kF16);
  EXPECT_EQ(written({0, kOne, -kOne, 3 * kOne / 2, kOne + kOne / 1024, kOne >> 24}), "");
  EXPECT_EQ(written({0, kOne + kOne / 2048, 0, 0, 0, 0}), "covered F16 to F32");
  EXPECT_EQ(written({0, kOne >> 25, 0, 0, 0, 0}), "covered F16 to F32");  // below the smallest half
  EXPECT_EQ(written({0, kOne - 1, 0, 0, 0, 0}), "covered F16 to F64");
}

TEST_F(UnlearnedFileTest, F32AndF64) {
  make(Dtype::kF32);
  EXPECT_EQ(written({0, kOne - kOne / (1 << 24), 0, 0, 0, 5}), "");
  EXPECT_EQ(written({0, kOne - kOne / (1 << 25), 0, 0, 0, 5}), "covered F32 to F64");
  make(Dtype::kF64);
  EXPECT_EQ(written({(int64_t{1} << 39) - 1, -((int64_t{1} << 39) - 1), 0, 0, 0, 5}), "");
}

}  // namespace
}  // namespace zkapex
