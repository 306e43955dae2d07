#include "learning/adaptformer.h"

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(AdaptFormer, RefusesFilesThatDoNotFit) {
  const TemporaryDirectory directory("adaptformer");
  const auto model = tiny_vit(1);
  ASSERT_TRUE(add_adaptformer(*model, {.bottleneck = 1}).ok());
  ASSERT_TRUE(save_model(*model, directory.path()).ok());
  const auto with_bottleneck = [&](int64_t size) {
    const nlohmann::json description = {{"bottleneck", size}, {"scale", 0.1}};
    EXPECT_TRUE(write_json(directory.path() / "adaptformer.json", description).ok());
    return refusal(load_model(directory.path()));
  };
  EXPECT_EQ(with_bottleneck(1), "(accepted)");
  EXPECT_NE(with_bottleneck(0).find("adaptformer.json: a bottleneck of 0 is not a size"), std::string::npos);
  EXPECT_NE(with_bottleneck((1 << 20) + 1).find("a bottleneck of 1048577 is not a size"), std::string::npos);
  // One row would be spread over two.
  EXPECT_NE(with_bottleneck(2).find("'adaptformer.0.down.weight' does not fit adaptformer.json"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
