#include "curvature/build.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/result_testing.h"

namespace zkapex {
namespace {

class BuildTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSamples = 20;

  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "zkapex-build-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::mt19937_64 rng(1);
    for (double& v : gradients_) v = std::normal_distribution<double>()(rng);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // "a" of 7 weights and "b" of 40, in blocks of 6: 2 + 7 Fisher blocks.
  static Layout layout() {
    return *Layout::make({{"a", Dtype::kF32, {7}}, {"b", Dtype::kF32, {8, 5}}, {"c", Dtype::kF32, {3}}}, {"a", "b"},
                         {.block = 6, .row = 64});
  }
  static FactorSettings settings() { return {.block = 6, .bits = 8, .floor = 2, .damping = {}}; }
  static StoreHeader header() { return {.deployment = {}, .block = 6, .bits = 8, .floor = 2, .blocks = 9}; }

  // Gradients of both tensors, or the Fisher blocks that belong to those of "b".
  void write_fisher(const Path& name, bool blocks_of_b) {
    const std::span<const double> a = std::span(gradients_).first(kSamples * 7),
                                  b = std::span(gradients_).subspan(a.size());
    std::vector<double> fisher(7 * 36, blocks_of_b ? 99.0 : 0.0);  // what pads the last block is never read
    for (uint64_t k = 0; k < 7; ++k) {
      const uint64_t size = k < 6 ? 6 : 4;
      for (uint64_t i = 0; i < size; ++i)
        for (uint64_t j = 0; j < size; ++j) {
          double sum = 0;
          for (uint64_t s = 0; s < kSamples; ++s) sum += b[s * 40 + 6 * k + i] * b[s * 40 + 6 * k + j];
          fisher[k * 36 + i * 6 + j] = sum / kSamples;
        }
    }
    Bytes a_bytes, b_bytes, block_bytes;
    ASSERT_TRUE(append_elements(Dtype::kF64, a, a_bytes).ok());
    ASSERT_TRUE(append_elements(Dtype::kF64, b, b_bytes).ok());
    ASSERT_TRUE(append_elements(Dtype::kF64, fisher, block_bytes).ok());
    ASSERT_TRUE(write_checkpoint(folder_ / name,
                                 {TensorSource::of({"a", Dtype::kF64, {kSamples, 7}}, a_bytes),
                                  blocks_of_b ? TensorSource::of({"b", Dtype::kF64, {7, 6, 6}}, block_bytes)
                                              : TensorSource::of({"b", Dtype::kF64, {kSamples, 40}}, b_bytes)},
                                 {})
                    .ok());
  }
  std::vector<int16_t> built(const Path& name) const {
    const auto reader = StoreReader::open(folder_ / name);
    EXPECT_TRUE(reader.ok());
    std::vector<int16_t> out(9 * triangle_size(6));
    EXPECT_TRUE(reader->read(0, 9, std::span(out)).ok());
    return out;
  }
  Result<StoreStatistics> build(const Path& name, const FisherSource& source, unsigned threads) const {
    auto writer = StoreWriter::open(folder_ / name, header(), "");
    if (!writer.ok()) return writer.error();
    ThreadPool pool(threads);
    return build_store(*writer, settings(), source, pool, [](uint64_t) {});
  }

  Path folder_;
  std::vector<double> gradients_ = std::vector<double>(kSamples * 47);
};

TEST_F(BuildTest, GradientsAndBlocksGiveTheSameStoreOnAnyNumberOfThreads) {
  write_fisher("gradients.safetensors", false);
  write_fisher("blocks.safetensors", true);
  const Layout shape = layout();
  const Checkpoint gradients = *Checkpoint::open(folder_ / "gradients.safetensors");
  const Checkpoint blocks = *Checkpoint::open(folder_ / "blocks.safetensors");
  const auto one = build("one", *checkpoint_fisher(shape, gradients), 1);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one->blocks, 9U);
  EXPECT_EQ(one->rank_deficient, 0U);
  EXPECT_GT(one->largest_condition, 1);
  ASSERT_TRUE(build("three", *checkpoint_fisher(shape, gradients), 3).ok());
  ASSERT_TRUE(build("blocks", *checkpoint_fisher(shape, blocks), 1).ok());
  EXPECT_EQ(built("one"), built("three"));
  EXPECT_EQ(built("one"), built("blocks"));
}

TEST_F(BuildTest, ErrorsNameTheBlockAndASecondRunGoesOn) {
  write_fisher("gradients.safetensors", false);
  const Layout shape = layout();
  const Checkpoint gradients = *Checkpoint::open(folder_ / "gradients.safetensors");
  const FisherSource good = *checkpoint_fisher(shape, gradients);
  {
    auto writer = StoreWriter::open(folder_ / "store", header(), "");
    ASSERT_TRUE(writer.ok());
    FactorMaker maker(settings());
    std::vector<int16_t> factor(triangle_size(6));
    ASSERT_TRUE(good(0, maker, factor).ok());
    ASSERT_TRUE(writer->append(factor).ok());
  }
  const FisherSource bad = [&](uint64_t block, FactorMaker& maker,
                               std::span<int16_t> factor) -> Result<FactorStatistics> {
    EXPECT_GT(block, 0U);  // the first one is there already
    if (block == 5) return error("no gradients");
    return good(block, maker, factor);
  };
  const auto failed = build("store", bad, 2);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "Fisher block 5: no gradients");
  ASSERT_TRUE(build("store", good, 2).ok());
  ASSERT_TRUE(build("whole", good, 2).ok());
  EXPECT_EQ(built("store"), built("whole"));
}

TEST_F(BuildTest, RefusesOtherShapesAndParameters) {
  write_fisher("gradients.safetensors", false);
  const Checkpoint gradients = *Checkpoint::open(folder_ / "gradients.safetensors");
  const auto other = Layout::make({{"a", Dtype::kF32, {8}}}, {"a"}, {.block = 6, .row = 64});
  EXPECT_NE(testing::refusal(checkpoint_fisher(*other, gradients)).find("[20, 7]"), std::string::npos);
  const auto missing = Layout::make({{"z", Dtype::kF32, {8}}}, {"z"}, {.block = 6, .row = 64});
  EXPECT_NE(testing::refusal(checkpoint_fisher(*missing, gradients)).find("'z'"), std::string::npos);
  auto writer = StoreWriter::open(folder_ / "store", header(), "");
  ASSERT_TRUE(writer.ok());
  ThreadPool pool(1);
  const Layout shape = layout();
  const auto refused = [&](auto change) {
    FactorSettings wrong = settings();
    change(wrong);
    return testing::refusal(build_store(*writer, wrong, *checkpoint_fisher(shape, gradients), pool, [](uint64_t) {}));
  };
  const std::string other_parameters = "the store has other parameters than the factors to be made";
  EXPECT_EQ(refused([](FactorSettings& s) { s.floor = 3; }), other_parameters);
  EXPECT_EQ(refused([](FactorSettings& s) { s.bits = 9; }), other_parameters);
  EXPECT_EQ(refused([](FactorSettings& s) { s.block = 7; }), other_parameters);
  EXPECT_NE(refused([](FactorSettings& s) { s.damping.value = -1e-9; }).find("damping"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
