#include "learning/probe.h"

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/model.h"
#include "learning/tensor_files.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

// Every quantity that Hugging Face's implementation gave, and none besides.
void expect_golden(const std::string& folder) {
  const auto directory = kTestData / folder;
  const auto expected = Checkpoint::open(directory / "expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto found =
      probe(directory, directory / "input.safetensors", {.mask_from = directory / "expected.safetensors"});
  ASSERT_TRUE(found.ok()) << found.error().message;
  size_t compared = 0;
  for (const Parameter& p : *found) {
    const TensorView* view = expected->find(p.name);
    ASSERT_NE(view, nullptr) << p.name;
    const Tensor reference = *read_tensor(*view);
    EXPECT_LT(relative_difference(p.value.narrow(0, 0, reference.size(0)), reference), 1e-4) << p.name;
    if (p.name.starts_with("obs_delta")) {
      // expected.safetensors has it from gradients in float; in double the two agree better.
      EXPECT_EQ(p.value.scalar_type(), at::kDouble);
      const auto in_double = Checkpoint::open(directory / "obs_delta_double.safetensors");
      ASSERT_TRUE(in_double.ok()) << in_double.error().message;
      EXPECT_LT(relative_difference(p.value, *read_tensor(*in_double->find(p.name))), 1e-6);
    }
    ++compared;
  }
  EXPECT_EQ(compared + 1, expected->tensors().size());  // all but the mask
}

TEST(Probe, VitMatchesHuggingFace) { expect_golden("vit"); }
TEST(Probe, OptMatchesHuggingFace) { expect_golden("opt"); }

// A file of inputs or masks for a golden model.
class ProbeFiles : public ::testing::Test {
 protected:
  std::string refused(const std::string& folder, const std::vector<Parameter>& tensors) {
    EXPECT_TRUE(write_tensors(file_, tensors).ok());
    return refusal(probe(kTestData / folder, file_, {}));
  }
  std::string refused_mask(at::IntArrayRef shape) {
    EXPECT_TRUE(write_tensors(file_, {{"obs_mask.vit.layers.0.mlp.fc1.weight", at::zeros(shape, at::kByte)}}).ok());
    return refusal(probe(kTestData / "vit", kTestData / "vit" / "input.safetensors", {.mask_from = file_}));
  }
  TemporaryDirectory directory_{"probe"};
  std::filesystem::path file_ = directory_.path() / "tensors.safetensors";
};

TEST_F(ProbeFiles, OfAnotherKindOfModelAreRefused) {
  const auto wrong_kind = probe(kTestData / "vit", kTestData / "opt" / "input.safetensors", {});
  EXPECT_NE(refusal(wrong_kind).find("pixel_values"), std::string::npos);
}

TEST_F(ProbeFiles, ImagesThatDoNotFit) {
  const auto images = [&](at::IntArrayRef pixels, const Tensor& labels) {
    return refused("vit", {{"pixel_values", at::zeros(pixels)}, {"labels", labels}});
  };
  const Tensor one = at::zeros({1}, at::kLong);
  EXPECT_EQ(images({1, 3, 32, 32}, one), "(accepted)");
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 3, 32, 32, 1}, {1, 1, 32, 32}, {1, 3, 16, 32}, {1, 3, 32, 16}}) {
    EXPECT_NE(images(shape, one).find("the model takes [n, 3, 32, 32]"), std::string::npos) << images(shape, one);
  }
  for (const Tensor& labels : {at::zeros({1, 1}, at::kLong), at::zeros({2}, at::kLong)}) {
    EXPECT_NE(images({1, 3, 32, 32}, labels).find("labels are not one per image"), std::string::npos);
  }
  for (const int64_t label : {Batch::kIgnored, int64_t{7}}) {
    EXPECT_NE(images({1, 3, 32, 32}, at::full({1}, label, at::kLong)).find("not among the 7 classes"),
              std::string::npos);
  }
}

TEST_F(ProbeFiles, TokensThatDoNotFit) {
  const auto tokens = [&](at::IntArrayRef shape, int64_t id) {
    return refused("opt", {{"input_ids", at::full(shape, id, at::kLong)}});
  };
  EXPECT_EQ(tokens({1, 64}, 96), "(accepted)");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4}, {1, 1}, {1, 65}}) {
    EXPECT_NE(tokens(shape, 3).find("sequences of 2 to 64 tokens"), std::string::npos) << tokens(shape, 3);
  }
  for (const int64_t id : {-1, 97}) {
    EXPECT_NE(tokens({1, 4}, id).find("outside of the vocabulary of 97"), std::string::npos) << tokens({1, 4}, id);
  }
}

TEST_F(ProbeFiles, MasksThatDoNotFit) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{288, 16, 1}, {287, 16}, {288, 8}}) {
    EXPECT_NE(refused_mask(shape).find("is not [288, 16]"), std::string::npos) << refused_mask(shape);
  }
}

}  // namespace
}  // namespace zkapex
