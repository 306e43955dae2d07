#include "learning/dataset.h"

#include <png.h>

#include <fstream>

#include "data/folders_testing.h"
#include "learning/synthetic.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;

void write_png(const fs::path& path, const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  ASSERT_NE(png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr), 0);
}

TEST(ImageFolder, ClassesAndFilesInOrder) {
  const TemporaryDirectory directory("image_folder");
  for (const char* name : {"cat", "ant"}) fs::create_directories(directory.path() / name);
  write_png(directory.path() / "cat" / "b.png", {2, 2, 3, std::vector<uint8_t>(12, 255)});
  write_png(directory.path() / "cat" / "a.png", {2, 2, 1, std::vector<uint8_t>(4, 0)});
  write_png(directory.path() / "ant" / "z.PNG", {4, 3, 1, std::vector<uint8_t>(12, 255)});
  std::ofstream(directory.path() / "cat" / "notes.txt") << "not an image";
  const InputFormat format{.preprocessing = Preprocessing::for_model(2, 3), .tokenizer = {}};
  const auto data = open_dataset(*DataSource::parse("images:" + directory.path().string()), format);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ((*data)->catalog().names, (std::vector<std::string>{"ant/z.PNG", "cat/a.png", "cat/b.png"}));
  EXPECT_EQ((*data)->catalog().labels, (std::vector<int64_t>{0, 1, 1}));
  const auto batch = (*data)->batch(std::vector<int64_t>{1, 2});
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_TRUE(at::equal(batch->inputs[0], at::full({3, 2, 2}, -1.0F)));
  EXPECT_TRUE(at::equal(batch->inputs[1], at::ones({3, 2, 2})));
  EXPECT_TRUE(at::equal(batch->labels, at::ones({2}, at::kLong)));

  std::ofstream(directory.path() / "cat" / "a.png", std::ios::trunc) << "\x89PNG\r\n\x1a\n broken";
  const auto broken = (*data)->batch(std::vector<int64_t>{0, 1});
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("cat/a.png"), std::string::npos);
  EXPECT_FALSE(open_dataset(*DataSource::parse("images:/no/such/folder"), format).ok());
}

TEST(TextDataset, WindowsOfTokensInGroupsOfFiles) {
  const TemporaryDirectory directory("text");
  fs::create_directories(directory.path() / "sub");
  std::ofstream(directory.path() / "a.txt") << "zzzzzzzzzzzzzzzzzzzz";  // 20 tokens
  std::ofstream(directory.path() / "sub" / "b.txt") << "!!";            // too short
  std::ofstream(directory.path() / "sub" / "c.txt") << "yyyyyyyyyyy";   // 11 tokens
  InputFormat format;
  format.tokenizer = std::make_shared<const Tokenizer>(*Tokenizer::load(kTestData / "bpe"));
  format.window = 12;
  const auto data = open_dataset(*DataSource::parse("text:" + directory.path().string()), format);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const size_t z_tokens = format.tokenizer->encode("zzzzzzzzzzzzzzzzzzzz", Tokenizer::Special::kOmit).size();
  ASSERT_EQ(z_tokens, 20U);
  EXPECT_EQ((*data)->catalog().groups, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ((*data)->catalog().names, (std::vector<std::string>{"a.txt", "sub/c.txt"}));
  const auto batch = (*data)->batch(std::vector<int64_t>{0, 1});
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->inputs.sizes(), at::IntArrayRef({2, 12}));
  EXPECT_EQ(batch->labels[0][0].item<int64_t>(), 2);
  EXPECT_EQ((batch->labels[1] == Batch::kIgnored).sum().item<int64_t>(), 2);  // 1 + 9 of 12
}

TEST(Samples, CheckThemselvesAgainstSourceAndModel) {
  const TemporaryDirectory directory("samples");
  write_synthetic_idx(directory.path(), "train", 20, 1);
  const Samples samples = open_samples(directory.path(), "train", range(0, 20));
  int64_t seen = 0;
  ASSERT_TRUE(samples
                  .batches(6, 13, 5)([&](const Batch& batch) -> Status {
                    seen += batch.size();
                    return Done{};
                  })
                  .ok());
  EXPECT_EQ(seen, 13);
  const InputFormat format{.preprocessing = Preprocessing::for_model(8, 1), .tokenizer = {}};
  const SampleSet outside{{DataSource::Kind::kIdx, directory.path(), "train", false}, {20}};
  EXPECT_NE(Samples::open(outside, format, tiny_vit_config()).error().message.find("no sample 20"), std::string::npos);
  const SampleSet all{outside.source, range(0, 20)};
  EXPECT_NE(Samples::open(all, format, tiny_vit_config(2)).error().message.find("2 classes"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
