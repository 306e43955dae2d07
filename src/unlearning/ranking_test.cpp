#include "unlearning/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

ScoreSource in_pieces(const std::vector<double>& scores, size_t piece) {
  return [&scores, piece](const ScoreVisitor& visit) -> Status {
    for (size_t k = 0; k < scores.size(); k += piece)
      ZKAPEX_CHECK(visit(std::span(scores).subspan(k, std::min(piece, scores.size() - k))));
    return Done{};
  };
}

std::vector<uint64_t> by_sorting(const std::vector<double>& scores, size_t count) {
  std::vector<uint64_t> order(scores.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) { return scores[a] > scores[b]; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Ranking, AgreesWithSorting) {
  std::mt19937_64 rng(1);
  const double infinity = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> scores(1 + rng() % 400);
    for (double& s : scores) {
      switch (trial % 4) {
        case 0:
          s = std::normal_distribution<double>()(rng);
          break;
        case 1:
          s = static_cast<double>(rng() % 5) - 2;
          break;  // many ties, 0 among them
        case 2:
          s = std::ldexp(1.0, static_cast<int>(rng() % 2000) - 1070);
          break;
        default:
          s = std::vector{0.0, -0.0, 1e-310, -1e-310, infinity, -infinity}[rng() % 6];
          break;
      }
    }
    const size_t count = 1 + rng() % scores.size();
    const auto top = top_coordinates(in_pieces(scores, 1 + rng() % 50), scores.size(), count);
    ASSERT_TRUE(top.ok()) << top.error().message;
    EXPECT_EQ(*top, by_sorting(scores, count)) << trial;
  }
}

TEST(Ranking, RefusesBadScores) {
  const std::vector<double> with_nan = {1, std::nan(""), 2}, good = {1, 2, 3};
  const auto bad = top_coordinates(in_pieces(with_nan, 2), 3, 1);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("coordinate 1"), std::string::npos);
  EXPECT_NE(refusal(top_coordinates(in_pieces(good, 2), 4, 1)).find("3 scores for 4"), std::string::npos);
  EXPECT_NE(refusal(top_coordinates(in_pieces(good, 2), 2, 1)).find("more scores than the 2"), std::string::npos);
  EXPECT_FALSE(top_coordinates(in_pieces(good, 2), 3, 0).ok());
  EXPECT_FALSE(top_coordinates(in_pieces(good, 2), 3, 4).ok());
}

TEST(Ranking, ScoresThatChangeMeanwhileAreRefused) {
  int pass = 0;
  const ScoreSource fading = [&pass](const ScoreVisitor& visit) -> Status {
    return visit(++pass < 5 ? std::vector<double>{1, 2, 3} : std::vector<double>{0, 0, 0});
  };
  EXPECT_NE(refusal(top_coordinates(fading, 3, 1)).find("changed while they were read"), std::string::npos);
}

TEST(Ranking, SizeIsRoundedFromTheExactRatio) {
  const auto size = [](const char* ratio, uint64_t d) {
    const auto k = mask_size(*Decimal::parse(ratio), d);
    return k.ok() ? *k : 0;
  };
  EXPECT_NE(refusal(mask_size(*Decimal::parse("0.1"), 4)).find("selects none of 4"), std::string::npos);
  EXPECT_EQ(size("0.04", 56'623'104), 2'264'924U);
  EXPECT_EQ(size("0.5", 3), 2U);
  EXPECT_EQ(size("1", 7), 7U);
  EXPECT_EQ(size("0.1", 5), 1U);
  EXPECT_EQ(size("0.1", 4), 0U);
  EXPECT_EQ(size("1.01", 100), 0U);
  EXPECT_EQ(size("0.999999999999999", uint64_t{1} << 40), uint64_t{1} << 40);
}

TEST(Ranking, ReadsTheScoresOfCoveredTensorsInLayoutOrder) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("zkapex-ranking-{}.safetensors", ::getpid());
  Bytes a, b, c;
  ASSERT_TRUE(append_elements(Dtype::kF32, std::vector<double>{1, 9, 3}, a).ok());
  ASSERT_TRUE(append_elements(Dtype::kF64, std::vector<double>{8, 2}, b).ok());
  ASSERT_TRUE(append_elements(Dtype::kF32, std::vector<double>{99}, c).ok());
  ASSERT_TRUE(
      write_checkpoint(path,
                       {TensorSource::of({"m.1", Dtype::kF32, {3}}, a), TensorSource::of({"m.0", Dtype::kF64, {2}}, b),
                        TensorSource::of({"other", Dtype::kF32, {1}}, c)},
                       {}, {.overwrite = true})
          .ok());
  const auto checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok());
  const auto layout_of = [](uint64_t size) {
    return Layout::make({{"m.0", Dtype::kF32, {2}}, {"m.1", Dtype::kF32, {size}}, {"o", Dtype::kF32, {1}}}, {"m.{i}"},
                        {.block = 2, .row = 4});
  };
  const auto scores = checkpoint_scores(*layout_of(3), *checkpoint);
  ASSERT_TRUE(scores.ok());
  EXPECT_EQ(*top_coordinates(*scores, 5, 2), (std::vector<uint64_t>{0, 3}));
  EXPECT_FALSE(checkpoint_scores(*layout_of(4), *checkpoint).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace zkapex
