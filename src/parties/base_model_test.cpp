#include "parties/base_model.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "parties/client_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

struct Stored {
  TensorInfo info;
  Bytes bytes;
};

// One covered tensor, one that is not, a counter, and one that θ0 may have or not.
class BaseModelTest : public ::testing::Test {
 protected:
  BaseModelTest() { std::filesystem::create_directories(folder_); }
  ~BaseModelTest() override { std::filesystem::remove_all(folder_); }

  static Stored weights(const std::string& name, const std::vector<double>& values, Dtype dtype = Dtype::kF64) {
    Stored out{{name, dtype, {values.size()}}, {}};
    EXPECT_TRUE(append_elements(dtype, values, out.bytes).ok());
    return out;
  }
  static Stored integers(const std::string& name, const std::vector<uint64_t>& values) {
    ByteWriter bytes;
    for (const uint64_t value : values) bytes.u64(value);
    return {{name, Dtype::kI64, {values.size()}}, bytes.take()};
  }
  static Stored counter(uint64_t value) { return integers("counter", {value}); }
  static std::vector<Stored> whole() {
    return {weights("adapter", {0, 0}), counter(7), weights("covered", {0.5, -0.25, 0.125, 1, 2}),
            weights("other", {1, 2, 3})};
  }
  Path write(const std::vector<Stored>& tensors, const std::string& name = "base.safetensors") const {
    std::vector<TensorSource> sources;
    for (const Stored& tensor : tensors) sources.push_back(TensorSource::of(tensor.info, tensor.bytes));
    EXPECT_TRUE(write_checkpoint(folder_ / name, sources, {}, {.overwrite = true}).ok());
    return folder_ / name;
  }
  static Deployment plain() {
    std::vector<TensorInfo> tensors;
    for (const Stored& tensor : whole()) tensors.push_back(tensor.info);
    return *Deployment::make(*Layout::make(tensors, {"covered"}, {.block = 4, .row = 64}),
                             testing::small_deployment().parameters());
  }
  Result<Deployment> anchored(const std::vector<Stored>& base, const CoverPatterns& free = {}) {
    return anchor_deployment(plain(), *Checkpoint::open(write(base)), {}, free, pool_);
  }
  std::vector<int64_t> row(const RowReader& reader, uint64_t number = 0) {
    std::vector<int64_t> out(64, 99);
    EXPECT_TRUE(reader(number, out).ok());
    return out;
  }

  const Path folder_ = Path(::testing::TempDir()) / fmt::format("zkapex-base-{}", ::getpid());
  ThreadPool pool_{2};
};

TEST_F(BaseModelTest, TensorsAreNearSameAddedOrFree) {
  using enum Anchored;
  EXPECT_EQ(anchored(whole())->anchor()->tensors, (std::vector{kNear, kSame, kNear, kNear}));
  std::vector<Stored> less = whole();
  less.erase(less.begin());
  const Deployment added = *anchored(less, {"oth*"});
  EXPECT_EQ(added.anchor()->tensors, (std::vector{kAdded, kSame, kNear, kFree}));
  // 1024² times 0.25 + 0.0625 + 0.015625 + 1 + 4
  EXPECT_EQ(added.anchor()->squares, (std::vector<Wide>{Wide(), Wide(), Wide(5'586'944), Wide()}));
  EXPECT_NE(refusal(anchored({weights("elsewhere", {1})})).find("none of the model's tensors"), std::string::npos);
}

TEST_F(BaseModelTest, SizesInTheDeploymentAreItsOwn) {
  const Deployment honest = *anchored(whole());
  Anchor anchor = *honest.anchor();
  anchor.squares[2] += Wide(1);
  const Deployment other = *Deployment::make(honest.layout(), honest.parameters(), anchor);
  EXPECT_TRUE(open_base(folder_ / "base.safetensors", honest, pool_).ok());
  EXPECT_NE(refusal(open_base(folder_ / "base.safetensors", other, pool_)).find("another size"), std::string::npos);
}

TEST_F(BaseModelTest, WeightsAreNoWholeNumbers) {
  std::vector<Stored> base = whole();
  base[1] = weights("counter", {7});
  EXPECT_NE(refusal(anchored(base)).find("'counter' has elements of F64"), std::string::npos);
}

TEST_F(BaseModelTest, RowsAreThoseOfCommitments) {
  const Deployment deployment = *anchored(whole(), {"other"});
  const BaseRows base = *open_base(folder_ / "base.safetensors", deployment, pool_);
  std::vector<int64_t> covered(64), none(64), counter(64);
  const std::vector<int64_t> weights = {512, -256, 128, 1024, 2048};  // blocks of four
  std::ranges::copy(weights, covered.begin());
  EXPECT_EQ(row(base.covered), covered);
  counter[0] = 7;
  EXPECT_EQ(row(base.others, 0), none);  // zeros of the adapter
  EXPECT_EQ(row(base.others, 1), counter);
  EXPECT_EQ(row(base.others, 2), none);  // free: not θ0's
}

TEST_F(BaseModelTest, IsKnownByItsIntegers) {
  const Deployment deployment = *anchored(whole());
  const auto opened = [&](const std::vector<Stored>& tensors) {
    return refusal(open_base(write(tensors), deployment, pool_));
  };
  EXPECT_EQ(opened(whole()), "(accepted)");
  std::vector<Stored> other = whole();
  other[2] = weights("covered", {0.5, -0.25, 0.125, 1, 2}, Dtype::kBF16);
  EXPECT_EQ(opened(other), "(accepted)");
  other[2] = weights("covered", {0.5, -0.25, 0.125, 1, 2.0009765625});
  EXPECT_NE(opened(other).find("is not the base model"), std::string::npos);
  other = whole();
  other[1] = counter(8);
  EXPECT_NE(opened(other).find("is not the base model"), std::string::npos);
  other = whole();
  other[3] = weights("other", {1, 2, 3, 4});
  EXPECT_NE(opened(other).find("'other' has another shape"), std::string::npos);
  other.pop_back();
  EXPECT_NE(opened(other).find("no tensor 'other'"), std::string::npos);
  other = whole();
  other[2] = {{"covered", Dtype::kU8, {5}}, Bytes(5, 1)};
  EXPECT_NE(opened(other).find("'covered' is covered"), std::string::npos);
  other = whole();
  other[3] = integers("other", {1, 2, uint64_t{1} << 56});  // more than ⌊(2^62 − 1)/64⌋
  EXPECT_NE(opened(other).find("too large"), std::string::npos);
}

TEST_F(BaseModelTest, IsAskedForWhereThereIsAnAnchor) {
  const Deployment deployment = *anchored(whole()), none = plain();
  const Path file = folder_ / "base.safetensors";
  EXPECT_TRUE(open_base_option(file, deployment, pool_)->has_value());
  EXPECT_FALSE(open_base_option({}, none, pool_)->has_value());
  EXPECT_NE(refusal(open_base_option({}, deployment, pool_)).find("--base"), std::string::npos);
  EXPECT_NE(refusal(open_base_option(file, none, pool_)).find("has no anchor"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
