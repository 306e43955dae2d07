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
  for (const int number : {0, 3, 255}) {
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
  EXPECT_LT(bytes / static_cast<double>(support.size()), 1.05);
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

TEST(Mask, RefusesWellFormedFilesThatMeanNothing) {
  const auto refusal = [](const std::string& window, uint64_t coordinates) {
    ByteWriter out;
    out.raw(Bytes(32));
    out.text(window);
    out.raw(Bytes(64));
    out.u8(1);
    out.u64(coordinates);
    out.raw(Bytes(coordinates));
    const auto mask = Mask::parse(frame(Mask::kKind, out.bytes()));
    return mask.ok() ? "" : mask.error().message;
  };
  EXPECT_EQ(refusal("w", 1), "");
  EXPECT_NE(refusal("w", 0).find("empty"), std::string::npos);
  EXPECT_NE(refusal("a\x1b[2J", 1).find("window identifier"), std::string::npos);
}

TEST(Mask, RefusesLongFormsAndOverflow) {
  const auto with_gaps = [](uint64_t count, const Bytes& gaps) {
    ByteWriter out;
    out.raw(Bytes(32));
    out.text("w");
    out.raw(Bytes(64));
    out.u8(1);
    out.u64(count);
    out.raw(gaps);
    const auto mask = Mask::parse(frame(Mask::kKind, out.bytes()));
    return mask.ok() ? "" : mask.error().message;
  };
  EXPECT_EQ(with_gaps(1, {0}), "");
  EXPECT_NE(with_gaps(1, {0x80, 0x00}).find("shortest"), std::string::npos);
  EXPECT_NE(with_gaps(1, {0x85, 0x80, 0x00}).find("shortest"), std::string::npos);
  EXPECT_NE(with_gaps(1, Bytes(9, 0xff)).find("truncated"), std::string::npos);
  Bytes over(9, 0xff);
  over.push_back(2);
  EXPECT_NE(with_gaps(1, over).find("over 64 bits"), std::string::npos);
  over.back() = 1;
  EXPECT_NE(with_gaps(1, over).find("over 64 bits"), std::string::npos);  // 2^64 - 1 itself
  over[0] = 0xfe;
  EXPECT_EQ(with_gaps(1, over), "");
  over.push_back(0);
  EXPECT_NE(with_gaps(2, over).find("over 64 bits"), std::string::npos);
  EXPECT_NE(with_gaps(~uint64_t{0}, {0, 0}).find("do not fit"), std::string::npos);
  EXPECT_NE(with_gaps(0, {}).find("empty"), std::string::npos);
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
  mask.continue_from(earlier);
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

}  // namespace
}  // namespace zkapex
