#include "unlearning/mask.h"

#include <gtest/gtest.h>

#include <random>

#include "unlearning/deployment.h"

namespace zkapex {
namespace {

Mask sample(std::vector<uint64_t> support) {
  Mask mask;
  mask.deployment.fill(3);
  mask.nonce.fill(9);
  mask.window = "2026-11";
  mask.support = std::move(support);
  return mask;
}

std::vector<uint64_t> random_support(std::mt19937_64& rng, uint64_t d, double density) {
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < d; ++i)
    if (std::uniform_real_distribution<double>()(rng) < density) out.push_back(i);
  return out;
}

TEST(Mask, RoundTrips) {
  std::mt19937_64 rng(1);
  std::vector<std::vector<uint64_t>> supports = {
      {0}, {1}, {127}, {128}, {0, 1, 2}, {~uint64_t{0} - 1}, {5, uint64_t{1} << 63}};
  for (const double density : {0.001, 0.04, 0.5, 1.0}) supports.push_back(random_support(rng, 3000, density));
  for (const auto& support : supports) {
    if (support.empty()) continue;
    const Mask mask = sample(support);
    ASSERT_TRUE(mask.check().ok());
    const auto back = Mask::parse(mask.serialize());
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, mask);
    EXPECT_EQ(back->digest(), mask.digest());
  }
}

TEST(Mask, HasOneOperator) {
  Mask mask = sample({3, 8});
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    mask.op = op;
    const auto back = Mask::parse(mask.serialize());
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->op, op);
    EXPECT_EQ(*operator_named(name(op)), op);
  }
  EXPECT_FALSE(operator_named("magic").ok());
  for (const int number : {0, 4, 255}) {
    mask.op = static_cast<Operator>(number);
    const auto back = Mask::parse(mask.serialize());
    ASSERT_FALSE(back.ok());
    EXPECT_NE(back.error().message.find("operator"), std::string::npos);
  }
}

TEST(Mask, IsSmall) {
  std::mt19937_64 rng(2);
  const auto support = random_support(rng, 200'000, 0.04);
  const double bytes = static_cast<double>(sample(support).serialize().size());
  EXPECT_LT(bytes / static_cast<double>(support.size()), 0.79);
}

TEST(Mask, EveryChangedByteIsRefused) {
  const Bytes file = sample({3, 4, 500, 70'000}).serialize();
  for (size_t at = 0; at < file.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = file;
      changed[at] = static_cast<uint8_t>(changed[at] ^ (1 << bit));
      EXPECT_FALSE(Mask::parse(changed).ok());
    }
  }
}

// Behind a right digest: other contents are refused, or are the one encoding of another mask.
TEST(Mask, HasOneEncoding) {
  const Bytes file = sample({3, 4, 500, 70'000}).serialize();
  const Bytes content(file.begin() + 12, file.end() - 32);
  const auto try_content = [](const Bytes& c) {
    const Bytes framed = frame(Mask::kKind, c);
    const auto mask = Mask::parse(framed);
    if (mask.ok()) {
      EXPECT_EQ(mask->serialize(), framed);
    }
    return mask.ok();
  };
  EXPECT_TRUE(try_content(content));
  for (size_t at = 0; at < content.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      Bytes changed = content;
      changed[at] = static_cast<uint8_t>(value);
      try_content(changed);
    }
    EXPECT_FALSE(try_content(Bytes(content.begin(), content.begin() + static_cast<ptrdiff_t>(at))));
  }
  Bytes longer = content;
  longer.push_back(0);
  EXPECT_FALSE(try_content(longer));
}

// A file with these gaps, and what is said of it.
std::string refusal_of(const std::string& window, uint64_t count, unsigned low_bits, const Bytes& gaps) {
  ByteWriter out;
  out.raw(Bytes(32));
  out.text(window);
  out.raw(Bytes(64));
  out.u8(1);
  out.u64(count);
  out.u8(static_cast<uint8_t>(low_bits));
  out.u64(gaps.size());
  out.raw(gaps);
  const auto mask = Mask::parse(frame(Mask::kKind, out.bytes()));
  return mask.ok() ? "" : mask.error().message;
}

TEST(Mask, RefusesWellFormedFilesThatMeanNothing) {
  EXPECT_EQ(refusal_of("w", 1, 0, {0}), "");
  EXPECT_NE(refusal_of("w", 0, 0, {}).find("empty"), std::string::npos);
  EXPECT_NE(refusal_of("a\x1b[2J", 1, 0, {0}).find("window identifier"), std::string::npos);
}

TEST(Mask, RefusesOtherCodesOfItsGaps) {
  const auto with_gaps = [](uint64_t count, unsigned low_bits, const Bytes& gaps) {
    return refusal_of("w", count, low_bits, gaps);
  };
  const auto says = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(with_gaps(1, 2, {0b01011}), "");      // coordinate 9: two ones, a zero, 01
  says(with_gaps(1, 1, {0b101111}), "one code");  // with one low bit
  says(with_gaps(1, 2, {0b101011}), "bits follow");
  says(with_gaps(1, 2, {0b01011, 0}), "end before their bytes do");
  says(with_gaps(1, 0, {0xff}), "end early");
  says(with_gaps(8, 0, {0, 0}), "end before");
  says(with_gaps(17, 0, {0, 0}), "do not fit");
  says(with_gaps(~uint64_t{0}, 0, {0, 0}), "do not fit");
  says(with_gaps(1, 64, Bytes(9)), "more than 63");
  says(with_gaps(0, 0, {}), "empty");
  // 2^64 − 1 and more: a one, a zero, 63 low bits; or two ones first.
  Bytes last(9, 0xff);
  last[0] = 0xfd;
  last[8] = 0x01;
  says(with_gaps(1, 63, last), "over 64 bits");
  last[0] = 0xf9;  // its lowest bit is not set
  EXPECT_EQ(with_gaps(1, 63, last), "");
  Bytes over(9);
  over[0] = 0b011;
  says(with_gaps(1, 63, over), "over 64 bits");
}

TEST(Mask, HasNoMoreCoordinatesThanThereCanBe) {
  const Bytes file = sample({0, 1, 2}).serialize();
  EXPECT_TRUE(Mask::parse(file, 3).ok());
  const auto mask = Mask::parse(file, 2);
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.error().message, "the mask names 3 coordinates, the layout has 2");
}

TEST(Mask, SaysWhichRulesAreLoose) {
  Mask mask = sample({1});
  EXPECT_TRUE(mask.loose().empty());
  mask.op = Operator::kGuided;
  mask.guidance = {1, 1, 10'000, 10'000, {}};
  EXPECT_TRUE(mask.loose().empty());
  mask.guidance = {1, 0, 10'001, 0, {}};
  EXPECT_EQ(mask.loose().size(), 2U);
  mask.guidance = {1, 1, 0, 10'001, {}};
  EXPECT_EQ(mask.loose().size(), 1U);
}

TEST(Mask, ChecksItsFields) {
  EXPECT_FALSE(sample({}).check().ok());
  EXPECT_FALSE(sample({1, 1}).check().ok());
  EXPECT_FALSE(sample({2, 1}).check().ok());
  EXPECT_FALSE(sample({~uint64_t{0}}).check().ok());
  for (const std::string& window : {std::string(), std::string(256, 'a'), std::string("a\nb"), std::string("\x7f")}) {
    Mask mask = sample({1});
    mask.window = window;
    EXPECT_FALSE(mask.check().ok());
  }
}

TEST(Mask, HasAGuideExactlyIfItsOperatorHas) {
  Mask mask = sample({1});
  mask.guidance.emplace();
  EXPECT_FALSE(mask.check().ok());
  mask.op = Operator::kGuided;
  EXPECT_TRUE(mask.check().ok());
  mask.support.clear();  // all there is, is the guide
  EXPECT_TRUE(mask.check().ok());
  EXPECT_EQ(*Mask::parse(mask.serialize()), mask);
  mask.guidance.reset();
  EXPECT_FALSE(mask.check().ok());
}

TEST(Mask, ChecksItsRules) {
  const auto accepts = [](const Guidance& guidance) {
    Mask mask = sample({1});
    mask.op = Operator::kGuided;
    mask.guidance = guidance;
    return mask.check().ok() && Mask::parse(mask.serialize()).ok();
  };
  EXPECT_TRUE(accepts({uint64_t{1} << 40, 1000, 1'000'000, 1'000'000, {}}));
  EXPECT_FALSE(accepts({(uint64_t{1} << 40) + 1, 0, 0, 0, {}}));
  EXPECT_FALSE(accepts({0, 1001, 0, 0, {}}));
  EXPECT_FALSE(accepts({0, 0, 1'000'001, 0, {}}));
  EXPECT_FALSE(accepts({0, 0, 0, 1'000'001, {}}));
  EXPECT_TRUE(accepts({0, 0, 0, 0, {}, "NegGrad+"}));
  for (const std::string& method : {std::string(), std::string(256, 'a'), std::string("a\nb")})
    EXPECT_FALSE(accepts({0, 0, 0, 0, {}, method}));
}

TEST(Mask, ContainsEarlierOnes) {
  const Mask earlier = sample({3, 70, 500});
  EXPECT_TRUE(sample({1, 3, 70, 499, 500}).contains(earlier));
  EXPECT_TRUE(earlier.contains(earlier));
  EXPECT_FALSE(sample({3, 70}).contains(earlier));
  EXPECT_FALSE(sample({3, 71, 500, 501}).contains(earlier));
}

TEST(Mask, ContinuesFromAnother) {
  const Mask earlier = sample({3, 70, 500});
  Mask mask = sample({1, 70, 600});
  const Status same = mask.continue_from(earlier);
  ASSERT_FALSE(same.ok());
  EXPECT_NE(same.error().message.find("itself"), std::string::npos);
  mask.window = "next";
  ASSERT_TRUE(mask.continue_from(earlier).ok());
  EXPECT_EQ(mask.support, (std::vector<uint64_t>{1, 3, 70, 500, 600}));
  EXPECT_EQ(mask.predecessor, earlier.digest());
  EXPECT_EQ(*Mask::parse(mask.serialize()), mask);
}

TEST(Mask, BelongsToItsDeployment) {
  const auto layout = Layout::make({{"w", Dtype::kF32, {1000}}}, {"w"}, {.block = 16, .row = 256});
  const auto deployment = Deployment::make(*layout, {});
  ASSERT_TRUE(deployment.ok());
  Mask mask = sample({1, 999});
  EXPECT_FALSE(mask.check_for(*deployment).ok());
  mask.deployment = deployment->digest();
  EXPECT_TRUE(mask.check_for(*deployment).ok());
  mask.support.push_back(1000);
  EXPECT_FALSE(mask.check_for(*deployment).ok());
}

TEST(Mask, ItsGuideFitsItsDeployment) {
  const auto layout = Layout::make({{"w", Dtype::kF32, {1000}}}, {"w"}, {.block = 8, .row = 128});
  Parameters coarse;
  coarse.error = {.digits = 1, .places = 1};
  const auto deployment = Deployment::make(*layout, coarse);
  ASSERT_TRUE(deployment.ok()) << deployment.error().message;
  Mask mask = sample({1, 999});
  mask.deployment = deployment->digest();
  mask.op = Operator::kGuided;
  mask.guidance = {1000, 0, 0, 0, {{5}, std::vector<uint8_t>(125, 15), std::vector<uint8_t>(200)}};
  EXPECT_TRUE(mask.check_for(*deployment).ok());
  mask.guidance->guide.levels.pop_back();
  EXPECT_FALSE(mask.check_for(*deployment).ok());
  mask.guidance->guide.levels.push_back(15);
  mask.guidance->pull = Guidance::kMaxPull;  // ((2^40 + 4) · 0.1 · 2^36)² has no room in a row
  const Status fits = mask.check_for(*deployment);
  ASSERT_FALSE(fits.ok());
  EXPECT_NE(fits.error().message.find("a request with a pull of 1099511627776"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
