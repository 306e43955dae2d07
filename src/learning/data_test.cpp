#include <cstdio>  // jpeglib.h needs it first

#include <jpeglib.h>
#include <png.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "learning/dataset.h"
#include "learning/documents.h"
#include "learning/idx_file.h"
#include "learning/synthetic.h"
#include "learning/testing.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;

TEST(Idx, ReadsShapeAndBytesAndRefusesTheRest) {
  const Bytes good = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
  const auto array = parse_idx(good);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array->values.back(), 6);
  for (size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse_idx(ByteView(good).first(length)).ok());
  Bytes long_one = good, floats = good, huge = good;
  long_one.push_back(7);
  floats[2] = 0x0D;
  huge[4] = huge[8] = 0xFF;
  for (const Bytes& bad : {long_one, floats, huge}) EXPECT_FALSE(parse_idx(bad).ok());
  EXPECT_NE(read_idx("no/such/file").error().message.find("no/such/file"), std::string::npos);
}

TEST(Image, ResizesAsPillowDoes) {
  // By hand after Pillow's algorithm: the middle of three lies halfway between two, the ends on them.
  const Image image{2, 2, 1, {0, 100, 200, 60}};
  Preprocessing how = Preprocessing::for_model(3, 1);
  how.rescale = 1, how.mean = {0}, how.deviation = {1};
  std::vector<float> out(9);
  preprocess(image, how, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 50, 100, 100, 90, 80, 200, 130, 60}));
  // Shrinking averages: 4 → 2 with the widened triangle weighs (3, 3, 1) / 7 at the border.
  const Image row{4, 4, 1, {0, 70, 140, 210, 0, 70, 140, 210, 0, 70, 140, 210, 0, 70, 140, 210}};
  how.size = 2;
  preprocess(row, how, out.data());
  EXPECT_EQ(out[0], 50);
  EXPECT_EQ(out[1], 160);
}

TEST(Image, NormalisesAndConvertsChannels) {
  std::vector<float> out(3);
  preprocess(Image{1, 1, 1, {255}}, Preprocessing::for_model(1, 3), out.data());
  EXPECT_EQ(out, (std::vector<float>{1, 1, 1}));
  preprocess(Image{1, 1, 3, {0, 255, 0}}, Preprocessing::for_model(1, 1), out.data());
  EXPECT_NEAR(out[0], 150.0 / 255 * 2 - 1, 1e-6);
}

TEST(Image, PreprocessorConfigurations) {
  const TemporaryDirectory directory("preprocessor");
  const auto with = [&](const nlohmann::json& document) {
    EXPECT_TRUE(write_json(directory.path() / "preprocessor_config.json", document).ok());
    return load_preprocessing(directory.path(), 32, 3);
  };
  const auto full = with({{"size", {{"height", 32}, {"width", 32}}},
                          {"image_mean", {0.1, 0.2, 0.3}},
                          {"image_std", {1, 2, 3}},
                          {"resample", 2}});
  ASSERT_TRUE(full.ok()) << full.error().message;
  EXPECT_EQ(full->mean[2], 0.3);
  EXPECT_EQ(with({{"size", 32}, {"do_normalize", false}})->deviation[0], 1);
  EXPECT_FALSE(with({{"size", 64}}).ok());
  EXPECT_FALSE(with({{"resample", 3}}).ok());
  EXPECT_FALSE(with({{"image_mean", {0.5}}}).ok());
  EXPECT_FALSE(with({{"image_std", {0, 1, 1}}}).ok());
}

TEST(Image, SketchDrawsEdgesOnWhitePaper) {
  Image image{6, 6, 1, std::vector<uint8_t>(36, 10)};
  EXPECT_EQ(sketch(image).pixels, std::vector<uint8_t>(36, 255));
  for (size_t row = 0; row < 6; ++row)
    std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(6 * row + 3), 3, 200);
  const Image drawn = sketch(image);
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(drawn.at(row, 0, 0), 255);
    EXPECT_EQ(drawn.at(row, 2, 0), 255 - 4 * 190 / 3 > 0 ? 255 - 4 * 190 / 3 : 2);
    EXPECT_EQ(drawn.at(row, 5, 0), 255);
  }
}

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

Bytes encode_jpeg(const Image& image) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = static_cast<int>(image.channels);
  jpeg.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<uint8_t> pixels = image.pixels;
  for (int64_t row = 0; row < image.height; ++row) {
    JSAMPROW line = &pixels[static_cast<size_t>(row * image.width * image.channels)];
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

TEST(Image, DecodesJpeg) {
  for (const int64_t channels : {1, 3}) {
    const Image image{16, 8, channels, std::vector<uint8_t>(static_cast<size_t>(128 * channels), 90)};
    const Bytes file = encode_jpeg(image);
    const auto decoded = decode_image(file);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->width, 16);
    EXPECT_EQ(decoded->height, 8);
    EXPECT_EQ(decoded->channels, channels);
    for (const uint8_t value : decoded->pixels) EXPECT_NEAR(value, 90, 1);
    EXPECT_FALSE(decode_image(ByteView(file).first(20)).ok());
  }
}

TEST(Image, BrokenFilesAreErrors) {
  EXPECT_FALSE(decode_image({}).ok());
  EXPECT_FALSE(decode_image(view("GIF89a")).ok());
  EXPECT_FALSE(decode_image(view("\xFF\xD8\xFF\xE0 not a picture")).ok());
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

Catalog flat_catalog(int64_t samples) {
  Catalog out;
  out.samples = samples;
  out.classes = 4;
  for (int64_t k = 0; k < samples; ++k) out.labels.push_back(k % 4);
  return out;
}

TEST(Splits, AreDisjointAndTheSameForTheSameSeed) {
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  options.test_data = *DataSource::parse("idx:data#t10k");
  options.personal = 100, options.personal_test = 50, options.validation = 30, options.test = 40;
  const std::map<std::string, Catalog> catalogs = {{"idx:data#train", flat_catalog(1000)},
                                                   {"idx:data#t10k", flat_catalog(100)}};
  for (const std::string forget : {"random:0.1", "class:2", "classes:0,3"}) {
    options.forget = forget;
    const auto splits = make_splits(options, catalogs);
    ASSERT_TRUE(splits.ok()) << splits.error().message;
    EXPECT_TRUE(splits->check().ok());
    EXPECT_EQ(splits->sets.at("train").indices.size(), 850U);
    EXPECT_EQ(splits->sets.at("personal").source.text(), "idx:data#train+sketch");
    if (forget == "random:0.1") {
      EXPECT_EQ(splits->sets.at("forget").indices.size(), 85U);
    } else {
      for (const int64_t k : splits->sets.at("forget").indices)
        EXPECT_TRUE(forget == "class:2" ? k % 4 == 2 : k % 4 == 0 || k % 4 == 3);
      for (const int64_t k : splits->sets.at("retain").indices)
        EXPECT_TRUE(forget == "class:2" ? k % 4 != 2 : k % 4 == 1 || k % 4 == 2);
      EXPECT_FALSE(splits->sets.at("forget-test").indices.empty());
    }
    EXPECT_EQ(make_splits(options, catalogs)->sets.at("forget").indices, splits->sets.at("forget").indices);
  }
  const auto first = make_splits(options, catalogs);
  options.seed = 2;
  EXPECT_NE(make_splits(options, catalogs)->sets.at("train").indices, first->sets.at("train").indices);
}

TEST(Splits, GroupsAreNotCut) {
  Catalog files;
  files.samples = 60;
  for (int64_t k = 0; k < 60; ++k) files.groups.push_back(k / 3);
  for (int k = 0; k < 20; ++k) files.names.push_back(fmt::format("f{}", k));
  SplitOptions options;
  options.data = *DataSource::parse("text:code");
  options.personal = 7, options.test = 10;
  const TemporaryDirectory directory("forget_list");
  const auto splits = make_splits(options, {{"text:code", files}});
  ASSERT_TRUE(splits.ok()) << splits.error().message;
  EXPECT_EQ(splits->sets.at("personal").indices.size(), 9U);
  std::set<int64_t> groups;
  for (const int64_t k : splits->sets.at("test").indices) groups.insert(k / 3);
  for (const int64_t k : splits->sets.at("train").indices) EXPECT_FALSE(groups.contains(k / 3));

  const int64_t kept = splits->sets.at("train").indices[0] / 3;
  std::ofstream(directory.path() / "list") << "f" << kept << "\n";
  options.forget = "files:" + (directory.path() / "list").string();
  const auto by_file = make_splits(options, {{"text:code", files}});
  ASSERT_TRUE(by_file.ok()) << by_file.error().message;
  EXPECT_EQ(by_file->sets.at("forget").indices, (std::vector<int64_t>{3 * kept, 3 * kept + 1, 3 * kept + 2}));
  std::ofstream(directory.path() / "list") << "stranger\n";
  EXPECT_NE(make_splits(options, {{"text:code", files}}).error().message.find("'stranger'"), std::string::npos);
}

TEST(Splits, RefuseWhatCannotBe) {
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  const std::map<std::string, Catalog> catalogs = {{"idx:data#train", flat_catalog(100)}};
  const auto message = [&](const std::string& forget) {
    options.forget = forget;
    const auto splits = make_splits(options, catalogs);
    return splits.ok() ? std::string() : splits.error().message;
  };
  EXPECT_EQ(message("class:3"), "");
  EXPECT_NE(message("class:4").find("class 4 does not exist"), std::string::npos);
  EXPECT_NE(message("random:0.001").find("empty"), std::string::npos);
  EXPECT_NE(message("classes:0,1,2,3").find("all of the data"), std::string::npos);
  EXPECT_NE(message("random:2").find("fraction"), std::string::npos);
  EXPECT_NE(message("everything").find("not a forget set"), std::string::npos);
  options.test = 101;
  EXPECT_NE(message("class:1").find("not enough samples for 'test'"), std::string::npos);
}

TEST(Splits, FilesAreCheckedWhenLoaded) {
  const TemporaryDirectory directory("splits");
  const auto path = directory.path() / "splits.json";
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  options.personal = 10, options.test = 10;
  const auto splits = make_splits(options, {{"idx:data#train", flat_catalog(100)}});
  ASSERT_TRUE(splits->save(path).ok());
  const auto loaded = Splits::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->sets.at("personal").indices, splits->sets.at("personal").indices);
  EXPECT_NE(loaded->get("nothing").error().message.find("personal-test"), std::string::npos);

  auto document = *read_json(path);
  document["sets"]["personal"]["indices"] = document["sets"]["forget"]["indices"];
  ASSERT_TRUE(write_json(path, document).ok());
  EXPECT_NE(Splits::load(path).error().message.find("'train' and 'personal' share samples"), std::string::npos);
}

TEST(DataSource, Words) {
  for (const char* text : {"idx:/a/b#train", "idx:/a#t10k+sketch", "images:c", "images:c+sketch", "text:d/e"}) {
    const auto source = DataSource::parse(text);
    ASSERT_TRUE(source.ok()) << text;
    EXPECT_EQ(source->text(), text);
  }
  for (const char* text : {"", "idx:/a", "idx:/a#", "images:", "text:d+sketch", "csv:d", "plain"})
    EXPECT_FALSE(DataSource::parse(text).ok()) << text;
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
