#include <gtest/gtest.h>

#include "learning/image.h"
#include "learning/splits.h"
#include "learning/synthetic.h"

namespace zkapex {
namespace {

TEST(Chalk, IsThePencilsNegative) {
  Image photo{6, 6, 1, std::vector<uint8_t>(36)};
  for (size_t k = 0; k < photo.pixels.size(); ++k) photo.pixels[k] = static_cast<uint8_t>(37 * k);
  const Image pencil = sketch(photo), chalk = chalk_drawing(photo);
  ASSERT_EQ(chalk.pixels.size(), pencil.pixels.size());
  for (size_t k = 0; k < pencil.pixels.size(); ++k) EXPECT_EQ(chalk.pixels[k], 255 - pencil.pixels[k]);
  const Image even{6, 6, 1, std::vector<uint8_t>(36, 100)};
  EXPECT_EQ(chalk_drawing(even).pixels, std::vector<uint8_t>(36, 0));
}

TEST(Chalk, IsADataSource) {
  const auto source = DataSource::parse("idx:/a#train+chalk");
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(source->sketched && source->chalk);
  EXPECT_EQ(source->text(), "idx:/a#train+chalk");
  EXPECT_TRUE(source->same_data(*DataSource::parse("idx:/a#train")));
  EXPECT_FALSE(DataSource::parse("idx:/a#train+sketch")->chalk);
  EXPECT_FALSE(DataSource::parse("text:d+chalk").ok());
}

TEST(Chalk, IsDrawnForTheModel) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "chalk";
  std::filesystem::create_directories(folder);
  write_synthetic_idx(folder, "train", 3, 5);
  const auto images = [&](const char* end) {
    const DataSource source = *DataSource::parse("idx:" + folder.string() + "#train" + end);
    const InputFormat format{.preprocessing = Preprocessing::for_model(8, 1), .tokenizer = {}};
    const int64_t all[] = {0, 1, 2};
    return Samples::open({source, {0, 1, 2}}, format, tiny_vit_config())->batch(all)->inputs;
  };
  EXPECT_TRUE(at::allclose(images("+chalk"), -images("+sketch"), 0, 1e-6));
  EXPECT_FALSE(at::allclose(images("+chalk"), images(""), 0, 1e-1));
}

}  // namespace
}  // namespace zkapex
