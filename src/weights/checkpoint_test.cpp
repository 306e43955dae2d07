#include "weights/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace zkapex {
namespace {

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "zkapex-checkpoint-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_text(const Path& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // A file with one U8 tensor of two bytes per name.
  void write_tensors(const Path& name, const std::vector<std::string>& tensors) const {
    std::vector<TensorSource> sources;
    static constexpr uint8_t kData[] = {1, 2};
    for (const std::string& t : tensors) sources.push_back(TensorSource::of({t, Dtype::kU8, {2}}, kData));
    const Status written = write_checkpoint(folder_ / name, sources, {}, {.overwrite = true});
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  void expect_refused(const Path& name, std::string_view reason) const {
    const auto opened = Checkpoint::open(folder_ / name);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find(reason), std::string::npos) << opened.error().message;
  }

  Path folder_;
};

TEST_F(CheckpointTest, WritesAndReadsBack) {
  const std::vector<double> values = {1, 2, 3, -4.5};
  Bytes f32, f64;
  ASSERT_TRUE(append_elements(Dtype::kF32, values, f32).ok());
  ASSERT_TRUE(append_elements(Dtype::kF64, values, f64).ok());
  const TensorSource in_pieces{{"z", Dtype::kF64, {4}}, [&](const ByteSink& sink) -> Status {
                                 ZKAPEX_CHECK(sink(ByteView(f64).first(5)));
                                 return sink(ByteView(f64).subspan(5));
                               }};
  const Path path = folder_ / "model.safetensors";
  ASSERT_TRUE(
      write_checkpoint(path, {TensorSource::of({"a", Dtype::kF32, {2, 2}}, f32), in_pieces}, {{"k", "v"}}).ok());

  for (const Path& open : {path, folder_}) {
    const auto checkpoint = Checkpoint::open(open);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
    ASSERT_EQ(checkpoint->tensors().size(), 2U);
    EXPECT_EQ(checkpoint->metadata(), (Metadata{{"k", "v"}}));
    EXPECT_EQ(checkpoint->find("a")->shape(), (std::vector<uint64_t>{2, 2}));
    EXPECT_EQ(*checkpoint->get("z")->doubles(), values);
    EXPECT_EQ(*checkpoint->get("a")->doubles(), values);
    EXPECT_EQ(checkpoint->find("b"), nullptr);
    EXPECT_FALSE(checkpoint->get("").ok());
  }
}

TEST_F(CheckpointTest, AFailedWriteLeavesNothing) {
  const Path path = folder_ / "x.safetensors";
  const Bytes three(3), four(4);
  EXPECT_FALSE(write_checkpoint(path, {TensorSource::of({"a", Dtype::kU8, {4}}, three)}, {}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  EXPECT_TRUE(write_checkpoint(path, {TensorSource::of({"a", Dtype::kU8, {4}}, four)}, {}).ok());
  EXPECT_FALSE(write_checkpoint(path, {TensorSource::of({"a", Dtype::kU8, {4}}, four)}, {}).ok());
}

TEST_F(CheckpointTest, ReadsShards) {
  write_tensors("model-1.safetensors", {"c", "a"});
  write_tensors("model-2.safetensors", {"b"});
  write_text("model.safetensors.index.json",
             R"({"metadata":{"total_size":6,"x":[1,{"y":null}]},"weight_map":{"a":"model-1.safetensors",)"
             R"("b":"model-2.safetensors","c":"model-1.safetensors"},"more":true})");
  const auto checkpoint = Checkpoint::open(folder_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  ASSERT_EQ(checkpoint->tensors().size(), 3U);
  EXPECT_EQ(checkpoint->tensors()[0].name(), "a");
  EXPECT_EQ(checkpoint->tensors()[1].name(), "b");
  EXPECT_EQ(*checkpoint->tensors()[2].integers(), (std::vector<int64_t>{1, 2}));
}

TEST_F(CheckpointTest, RefusesShardsThatDisagreeWithTheIndex) {
  write_tensors("1.safetensors", {"a", "b"});
  write_tensors("2.safetensors", {"c"});
  const auto index = [&](std::string_view map) { write_text("i.json", fmt::format(R"({{"weight_map":{}}})", map)); };
  index(R"({"a":"1.safetensors","c":"2.safetensors"})");
  expect_refused("i.json", "'b' is in 1.safetensors, but the index puts it nowhere");
  index(R"({"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"})");
  expect_refused("i.json", "puts it in 2.safetensors");
  index(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors","d":"2.safetensors"})");
  expect_refused("i.json", "'d' is not in 2.safetensors");
  index(R"({"a":"3.safetensors"})");
  expect_refused("i.json", "3.safetensors");
  index(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors"})");
  EXPECT_TRUE(Checkpoint::open(folder_ / "i.json").ok());
}

TEST_F(CheckpointTest, RefusesWhatIsNotACheckpoint) {
  expect_refused("", "neither model.safetensors nor");
  expect_refused("none.safetensors", "none.safetensors");
  write_text("bad.safetensors", "hello");
  expect_refused("bad.safetensors", "bad.safetensors: not a safetensors file");
}

TEST_F(CheckpointTest, SaysWhatAFileOfAnotherKindIs) {
  write_text("mask.zka", "ZKAPEXPS and so on");
  expect_refused("mask.zka", "mask.zka: this is a mask, not a checkpoint");
  write_text("splits.json", R"({"format": "zkapex-splits", "sets": {}})");
  expect_refused("splits.json", "splits.json: this is a split file, not a checkpoint");
}

TEST_F(CheckpointTest, AHeaderOfThisLengthIsNoPickle) {
  std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  header.resize(640, ' ');  // whose length begins with the bytes 80 02
  write_text("640.safetensors", std::string("\x80\x02\0\0\0\0\0\0", 8) + header + "\x01\x02");
  const auto opened = Checkpoint::open(folder_ / "640.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(*opened->tensors().front().integers(), (std::vector<int64_t>{1, 2}));
  // A pickle, as PyTorch wrote them before it wrote zip archives.
  write_text("old.pt", std::string("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", 15));
  expect_refused("old.pt", "this is a Python pickle");
}

TEST_F(CheckpointTest, BranchesInAFolderArePartOfTheModel) {
  write_tensors("model.safetensors", {"a", "z"});
  write_tensors(kBranchesFile, {"m"});
  const auto both = Checkpoint::open(folder_);
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_EQ(both->tensors().size(), 3U);
  EXPECT_EQ(both->tensors()[1].name(), "m");
  EXPECT_EQ(Checkpoint::open(folder_ / "model.safetensors")->tensors().size(), 2U);
  write_tensors(kBranchesFile, {"m", "z"});
  expect_refused("", "tensor 'z' is in two files");
}

TEST(ShardIndex, RefusesMalformedIndexes) {
  const auto refused = [](std::string_view json, std::string_view reason) {
    const auto map = parse_shard_index(view(json));
    ASSERT_FALSE(map.ok()) << json;
    EXPECT_NE(map.error().message.find(reason), std::string::npos) << map.error().message;
  };
  refused("", "JSON");
  refused("[]", "not a JSON object");
  refused("1", "not a JSON object");
  refused("{}", "no weight_map");
  refused(R"({"weight_map":[]})", "must be an object");
  refused(R"({"weight_map":"a"})", "must be an object");
  refused(R"({"weight_map":{"a":1}})", "must be an object");
  refused(R"({"weight_map":{"a":{}}})", "must be an object");
  refused(R"({"weight_map":{"a":["f"]}})", "must be an object");
  refused(R"({"weight_map":{"a":"f","a":"f"}})", "'a' appears twice");
  refused(R"({"weight_map":{},"weight_map":{}})", "'weight_map' appears twice");
  refused(std::string_view("{\"weight_map\":{}}\0", 18), "NUL");
  refused(R"({"x":)" + std::string(100'000, '[') + "}", "nested deeper");
  for (const char* name : {"", ".", "..", "../f", "/etc/f", "a/b", "a\\\\b", "C:f", "a\\nb"})
    refused(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name), "not a plain file name");
  EXPECT_EQ(*parse_shard_index(view(R"({"weight_map":{"a":"f..g"}})")), (WeightMap{{"a", "f..g"}}));
}

}  // namespace
}  // namespace zkapex
