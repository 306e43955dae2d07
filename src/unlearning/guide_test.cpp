#include "unlearning/guide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/result_testing.h"
#include "unlearning/deployment.h"

namespace zkapex {
namespace {

using testing::refusal;

// Two covered tensors of 40 and 77 weights in blocks of 8, the last of them with 5.
class GuideTest : public ::testing::Test {
 protected:
  GuideTest() {
    auto made =
        Deployment::make(*Layout::make({{"a", Dtype::kF32, {40}}, {"b", Dtype::kF32, {3}}, {"c", Dtype::kF32, {7, 11}}},
                                       {"a", "c"}, {.block = 8, .row = 256}),
                         {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    deployment_.emplace(*std::move(made));
  }
  [[nodiscard]] const Layout& layout() const { return deployment_->layout(); }

  [[nodiscard]] Guide made(std::span<const double> displacement) const {
    GuideMaker maker(*deployment_, masked_);
    for (uint64_t b = 0; b < layout().blocks(); ++b) {
      const Layout::Block block = layout().block(b);
      EXPECT_TRUE(maker.add_block(displacement.subspan(block.first_coordinate, block.count)).ok());
    }
    return maker.finish();
  }
  [[nodiscard]] std::vector<int64_t> all(const Guide& guide) const {
    const GuideReader reader(layout(), masked_, guide);
    std::vector<int64_t> out(layout().coordinates());
    for (uint64_t b = 0; b < layout().blocks(); ++b) {
      const Layout::Block block = layout().block(b);
      reader.read(b, std::span(out).subspan(block.first_coordinate, block.count));
    }
    return out;
  }
  [[nodiscard]] std::vector<double> random_displacement(uint64_t seed) const {
    std::mt19937_64 rng(seed);
    std::normal_distribution<double> normal;
    std::vector<double> out(layout().coordinates());
    for (size_t k = 0; k < out.size(); ++k) out[k] = std::ldexp(normal(rng), -8 - static_cast<int>(k / 16));
    return out;
  }

  std::optional<Deployment> deployment_;
  std::vector<uint64_t> masked_ = {0, 9, 10, 39, 40, 116};
};

TEST_F(GuideTest, PointsWhereTheDisplacementDoes) {
  const std::vector<double> displacement = random_displacement(1);
  const Guide guide = made(displacement);
  ASSERT_TRUE(guide.check_for(*deployment_, masked_).ok());
  const std::vector<int64_t> delta = all(guide);
  const GuideReader reader(layout(), masked_, guide);
  std::vector<Wide> squares(2);
  for (uint64_t k = 0; k < delta.size(); ++k) {
    const bool masked = std::ranges::binary_search(masked_, k);
    EXPECT_TRUE(!masked || delta[k] == 0) << k;
    EXPECT_GE(static_cast<double>(delta[k]) * displacement[k], 0) << k;
    squares[k < 40 ? 0 : 1] += Wide::square_of(delta[k]);
  }
  EXPECT_EQ(reader.squares(), squares);
  // Of each block the sizes that count, as one: within half a level of their mean.
  for (uint64_t b = 0; b < layout().blocks(); ++b) {
    const Layout::Block block = layout().block(b);
    double sum = 0, count = 0;
    for (uint64_t k = block.first_coordinate; k < block.first_coordinate + block.count; ++k) {
      if (delta[k] == 0) continue;
      sum += std::ldexp(std::fabs(displacement[k]), 36);
      ++count;
    }
    ASSERT_GT(count, 0);
    EXPECT_NEAR(std::log2(static_cast<double>(reader.magnitude(b)) / (sum / count)), 0, 0.26) << b;
  }
}

// With any mask: trit by trit, in the order of the weights that it leaves.
TEST_F(GuideTest, SignsAreTheTritsAroundTheMask) {
  std::mt19937_64 rng(4);
  for (const uint64_t one_in : {1, 2, 3, 10, 1000}) {
    for (int again = 0; again < 10; ++again) {
      masked_.clear();
      for (uint64_t c = 0; c < layout().coordinates(); ++c)
        if (rng() % one_in == 0) masked_.push_back(c);
      const uint64_t left = layout().coordinates() - masked_.size();
      Guide guide{std::vector<uint64_t>(2, 7), std::vector<uint8_t>(layout().blocks(), 15), {}};
      std::vector<int64_t> trits;
      constexpr int64_t kDelta[] = {0, 7, -7};
      for (uint64_t k = 0; k < left; k += 5) {
        unsigned byte = 0, place = 1;
        for (uint64_t t = k; t < std::min(k + 5, left); ++t, place *= 3) {
          const auto trit = static_cast<unsigned>(rng() % 3);
          byte += trit * place;
          trits.push_back(kDelta[trit]);
        }
        guide.trits.push_back(static_cast<uint8_t>(byte));
      }
      ASSERT_TRUE(guide.check_for(*deployment_, masked_).ok());
      std::vector<int64_t> expected;
      for (uint64_t c = 0, next = 0; c < layout().coordinates(); ++c) {
        expected.push_back(std::ranges::binary_search(masked_, c) ? 0 : trits[next++]);
      }
      EXPECT_EQ(all(guide), expected);
    }
  }
}

TEST_F(GuideTest, LevelsAreHalfPowersOfTwo) {
  EXPECT_EQ(Guide::magnitude(1 << 20, 0), 0U);
  EXPECT_EQ(Guide::magnitude(1 << 20, 15), 1U << 20);
  EXPECT_EQ(Guide::magnitude(1 << 20, 13), 1U << 19);
  EXPECT_EQ(Guide::magnitude(1 << 20, 1), 1U << 13);
  EXPECT_NEAR(static_cast<double>(Guide::magnitude(1 << 20, 14)), (1 << 20) / std::sqrt(2), 200);
}

TEST_F(GuideTest, NothingIsAGuideToo) {
  const Guide guide = made(std::vector<double>(layout().coordinates()));
  EXPECT_TRUE(guide.check_for(*deployment_, masked_).ok());
  EXPECT_EQ(all(guide), std::vector<int64_t>(layout().coordinates()));
}

TEST_F(GuideTest, ReadsExactlyWhatItWrites) {
  const Guide guide = made(random_displacement(2));
  ByteWriter out;
  guide.serialize(out);
  EXPECT_EQ(out.bytes().size(), 4 + 8 + 8 + 2 * 8 + (layout().blocks() + 1) / 2 + (117 - 6 + 4) / 5);
  ByteReader in(out.bytes());
  const auto again = Guide::parse(in);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, guide);
  EXPECT_TRUE(in.finish().ok());
  for (size_t size = 0; size < out.bytes().size(); ++size) {
    ByteReader cut(ByteView(out.bytes()).first(size));
    EXPECT_FALSE(Guide::parse(cut).ok()) << size;
  }
  // 15 blocks: the last level has no neighbour.
  ASSERT_EQ(layout().blocks(), 15U);
  Bytes other = out.bytes();
  other[20 + 16 + 7] |= 0x10;
  ByteReader stray(other);
  EXPECT_EQ(refusal(Guide::parse(stray)), "a level follows the last block");
}

TEST_F(GuideTest, RefusesWhatDoesNotFit) {
  const Guide honest = made(random_displacement(3));
  const auto reason = [&](const auto& change) {
    Guide guide = honest;
    change(guide);
    return refusal(guide.check_for(*deployment_, masked_));
  };
  EXPECT_EQ(reason([](Guide&) {}), "(accepted)");
  const auto says = [&](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(reason([](Guide& g) { g.scales.pop_back(); }), "1 scales");
  says(reason([](Guide& g) { g.levels.push_back(0); }), "16 levels");
  says(reason([](Guide& g) { g.scales[0] = uint64_t{1} << 39; }), "over the largest weight");
  says(reason([](Guide& g) { g.levels[3] = 16; }), "level of 16");
  says(reason([](Guide& g) { g.trits.push_back(0); }), "bytes of trits");
  says(reason([](Guide& g) { g.trits[2] = 243; }), "below 243");
  says(reason([](Guide& g) { g.trits.back() = static_cast<uint8_t>(g.trits.back() % 3 + 3); }), "after its last");
}

TEST_F(GuideTest, RefusesDisplacementsThatAreNone) {
  const auto reason = [&](size_t size, double value) {
    return refusal(GuideMaker(*deployment_, masked_).add_block(std::vector<double>(size, value)));
  };
  EXPECT_EQ(reason(8, 0.1), "(accepted)");
  EXPECT_EQ(reason(7, 0.1), "block 0 has 8 weights, not 7");
  for (const double value : {std::nan(""), HUGE_VAL, 100.0})
    EXPECT_EQ(reason(8, value), "the displacement of block 0 is not finite, or larger than any weight");
}

}  // namespace
}  // namespace zkapex
