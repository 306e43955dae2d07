#include "parties/opens.h"

#include "parties/client_folder_testing.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;
using testing::ClientTest;
using testing::Names;

TEST_F(ClientTest, ACheckpointOpensTheStateThatItIsTheModelOf) {
  const auto opened = [&](const Path& model) { return *what_it_opens(client(), model, world_->settings); };
  EXPECT_TRUE(opened(at("model.safetensors")).settled);
  const Attempt first = compute("w1", "a").attempt;
  compute("w2", "b");
  OpensReport found = opened(at("out/a.safetensors"));
  EXPECT_FALSE(found.settled);
  ASSERT_EQ(found.attempts.size(), 1U);
  EXPECT_EQ(found.attempts[0].id, first.id);
  EXPECT_EQ(found.difference, "tensor 'covered' is not the committed one");
  EXPECT_TRUE(opened(at("model.safetensors")).settled);
  ASSERT_TRUE(settle(verdict(true, "w1")).ok());
  EXPECT_TRUE(opened(at("out/a.safetensors")).settled);
  found = opened(at("model.safetensors"));
  EXPECT_FALSE(found.any());
  EXPECT_EQ(names(found.windows), Names{"w1"});
  EXPECT_FALSE(opened(at("out/b.safetensors")).any());
}

TEST_F(ClientTest, TheFirstTensorThatDiffersIsNamed) {
  const auto difference = [&](const std::vector<double>& others, const std::string& name = "other") {
    const Checkpoint model = *Checkpoint::open(at("model.safetensors"));
    Bytes bytes_of_others;
    EXPECT_TRUE(append_elements(Dtype::kF64, others, bytes_of_others).ok());
    const Path path = at("out/other.safetensors");
    fs::create_directories(at("out"));
    EXPECT_TRUE(write_checkpoint(path,
                                 {TensorSource::of(model.tensors()[0].info(), model.tensors()[0].data()),
                                  TensorSource::of({name, Dtype::kF64, {others.size()}}, bytes_of_others)},
                                 {}, {.overwrite = true})
                    .ok());
    const OpensReport found = *what_it_opens(client(), path, world_->settings);
    EXPECT_EQ(found.any(), found.difference.empty());
    return found.difference;
  };
  EXPECT_EQ(difference({1, 2, 3}), "");
  EXPECT_EQ(difference({1, 2, 3.25}), "tensor 'other' is not the committed one");
  EXPECT_TRUE(says(difference({1, 2, 1e300}), "other"));  // no fixed point at all
  EXPECT_TRUE(says(difference({1, 2, 3, 4}), "other"));
  EXPECT_TRUE(says(difference({1, 2, 3}, "another"), "other"));
}

}  // namespace
}  // namespace zkapex
