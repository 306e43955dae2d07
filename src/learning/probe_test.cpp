#include "learning/probe.h"

#include "data/folders_testing.h"
#include "learning/tensor_files.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

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

TEST(Probe, RefusesInputsThatDoNotFit) {
  const auto wrong_kind = probe(kTestData / "vit", kTestData / "opt" / "input.safetensors", {});
  ASSERT_FALSE(wrong_kind.ok());
  EXPECT_NE(wrong_kind.error().message.find("pixel_values"), std::string::npos);

  const TemporaryDirectory directory("probe");
  const auto file = directory.path() / "input.safetensors";
  ASSERT_TRUE(write_tensors(file, {{"input_ids", at::full({1, 4}, 97, at::kLong)}}).ok());
  const auto outside = probe(kTestData / "opt", file, {});
  ASSERT_FALSE(outside.ok());
  EXPECT_NE(outside.error().message.find("vocabulary"), std::string::npos);
  ASSERT_TRUE(
      write_tensors(file, {{"pixel_values", at::zeros({1, 3, 32, 16})}, {"labels", at::zeros({1}, at::kLong)}}).ok());
  EXPECT_FALSE(probe(kTestData / "vit", file, {}).ok());
}

}  // namespace
}  // namespace zkapex
