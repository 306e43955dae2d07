#include "learning/dataset.h"

#include <png.h>

#include <fstream>
#include <functional>
#include <numeric>

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/synthetic.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;
using testing::refusal;

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
  const auto broken = [&] { return refusal((*data)->batch(std::vector<int64_t>{0, 1})); };
  EXPECT_NE(broken().find("cat/a.png: "), std::string::npos) << broken();
  fs::resize_file(directory.path() / "cat" / "a.png", (uint64_t{1} << 28) + 1);
  EXPECT_NE(broken().find("more than 268435456 bytes"), std::string::npos) << broken();
}

TEST(ImageFolder, NeedsImagesInFolders) {
  const TemporaryDirectory directory("no_images");
  std::ofstream(directory.path() / "outside.png") << "in no folder";
  const InputFormat format{.preprocessing = Preprocessing::for_model(2, 3), .tokenizer = {}};
  const auto message = [&](const std::string& path) {
    return refusal(open_dataset(*DataSource::parse("images:" + path), format));
  };
  EXPECT_NE(message(directory.path()).find("no PNG or JPEG files"), std::string::npos);
  EXPECT_NE(message("/no/such/folder").find("cannot be read"), std::string::npos);
}

TEST(IdxImages, AreGreyWithALabelEach) {
  const TemporaryDirectory directory("idx_images");
  const InputFormat format{.preprocessing = Preprocessing::for_model(4, 1), .tokenizer = {}};
  const auto message = [&](const std::vector<int>& images, int labels) {
    const int bytes = std::accumulate(images.begin(), images.end(), 1, std::multiplies<>());
    write_idx(directory.path() / "train-images-idx3-ubyte", images, std::string(static_cast<size_t>(bytes), 0));
    write_idx(directory.path() / "train-labels-idx1-ubyte", {labels}, std::string(static_cast<size_t>(labels), 0));
    return refusal(open_dataset({DataSource::Kind::kIdx, directory.path(), "train", Style::kPhoto}, format));
  };
  EXPECT_EQ(message({2, 4, 4}, 2), "(accepted)");
  for (const std::vector<int>& shape : {std::vector<int>{2, 4, 4, 1}, {0, 4, 4}, {2, 0, 4}, {2, 4, 0}}) {
    EXPECT_NE(message(shape, shape[0]).find("not a list of grey images"), std::string::npos);
  }
  EXPECT_NE(message({2, 4, 4}, 3).find("2 images have 3 labels"), std::string::npos);
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

TEST(TextDataset, NeedsFilesWithSomeTokens) {
  const TemporaryDirectory directory("no_text");
  std::ofstream(directory.path() / "a.txt") << "!!";
  InputFormat format;
  format.tokenizer = std::make_shared<const Tokenizer>(*Tokenizer::load(kTestData / "bpe"));
  const auto message = [&](const std::string& path) {
    return refusal(open_dataset(*DataSource::parse("text:" + path), format));
  };
  EXPECT_NE(message(directory.path()).find("no text of eight tokens"), std::string::npos);
  EXPECT_NE(message("/no/such/folder").find("cannot be read"), std::string::npos);
}

TEST(InputFormat, MustBeOfTheKindOfTheSource) {
  const TemporaryDirectory directory("nothing");
  const auto message = [&](const std::string& source) {
    return refusal(open_dataset(*DataSource::parse(fmt::format(fmt::runtime(source), directory.path().string())), {}));
  };
  EXPECT_NE(message("text:{}").find("text needs a language model"), std::string::npos);
  EXPECT_NE(message("idx:{}#train").find("images need an image model"), std::string::npos);
}

TEST(InputFormat, OfALanguageModel) {
  ModelConfig config = *load_model_config(kTestData / "opt");
  const auto of_model = [&](int64_t window) { return InputFormat::of_model(kTestData / "bpe", config, window); };
  EXPECT_NE(refusal(of_model(1)).find("nothing to predict"), std::string::npos);
  EXPECT_NE(refusal(of_model(2)).find("the tokenizer has 700 tokens, the model only 97"), std::string::npos);
  auto document = *config.document;
  document["vocab_size"] = 700;
  config = *parse_model_config(document);
  const auto format = of_model(100);
  ASSERT_TRUE(format.ok()) << format.error().message;
  EXPECT_EQ(format->window, 64);  // the model's positions
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
  const auto message = [&](std::vector<int64_t> indices, int64_t classes) {
    const SampleSet set{{DataSource::Kind::kIdx, directory.path(), "train", Style::kPhoto}, std::move(indices)};
    return refusal(Samples::open(set, format, tiny_vit_config(classes)));
  };
  EXPECT_NE(message({}, 3).find("is empty"), std::string::npos);
  EXPECT_NE(message({20}, 3).find("no sample 20"), std::string::npos);
  EXPECT_NE(message({-1}, 3).find("no sample -1"), std::string::npos);
  EXPECT_NE(message(range(0, 20), 2).find("2 classes"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
