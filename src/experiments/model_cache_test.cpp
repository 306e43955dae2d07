#include "experiments/model_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

class ModelCacheTest : public ::testing::Test {
 protected:
  Result<Path> get(uint64_t seed) {
    return cache_.get({{"seed", seed}}, [&]() -> Result<std::unique_ptr<Model>> {
      ++made_;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return tiny_vit(seed);
    });
  }
  TemporaryDirectory folder_{"model_cache"};
  ModelCache cache_{folder_.path()};
  std::atomic<int> made_ = 0;
};

TEST_F(ModelCacheTest, AModelIsMadeOnceAndFoundAgain) {
  const auto first = get(1), again = get(1), other = get(2);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(made_, 2);
  const auto loaded = load_model(*first);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE(at::equal((*loaded)->parameters().all()[0].value, tiny_vit(1)->parameters().all()[0].value));
}

TEST_F(ModelCacheTest, WhoComesMeanwhileWaitsForIt) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int k = 0; k < 4; ++k) threads.emplace_back([&] { good += get(1).ok() ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(made_, 1);
}

TEST_F(ModelCacheTest, AFailureLeavesNothingBehind) {
  const auto failed = cache_.get_folder({{"seed", 1}}, [](const Path& folder) -> Status {
    ZKAPEX_CHECK(write_text(folder / "half", "of a model"));
    return error("no luck");
  });
  EXPECT_EQ(testing::refusal(failed), "no luck");
  const auto made = get(1);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made_, 1);
  EXPECT_FALSE(std::filesystem::exists(*made / "half"));
}

}  // namespace
}  // namespace zkapex
