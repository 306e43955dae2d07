#include "unlearning/deployment.h"

#include <gtest/gtest.h>

#include <array>

namespace zkapex {
namespace {

Layout layout_of(uint64_t count, Geometry geometry) {
  return *Layout::make({{"w", Dtype::kF32, {count}}, {"other", Dtype::kF32, {3}}}, {"w"}, geometry);
}
Layout small() { return layout_of(1000, {.block = 16, .row = 256}); }

// Every tensor near a base model whose weights are 1/8 in size; f is 36.
Anchor some_anchor(const Layout& layout) {
  Anchor out;
  out.base.fill(5);
  for (const LayoutTensor& tensor : layout.tensors()) {
    out.tensors.push_back(Anchored::kNear);
    out.squares.push_back(Wide(tensor.count) * Wide::power_of_two(66));
  }
  return out;
}

std::string reason(Layout layout, const Parameters& parameters) {
  const auto made = Deployment::make(std::move(layout), parameters);
  return made.ok() ? "" : made.error().message;
}

TEST(Deployment, ComputesTheResidualBoundExactly) {
  Parameters p;
  p.floor = 3;
  p.error = *Decimal::parse("1e-5");
  p.weights = {.fraction_bits = 36, .width = 40};
  EXPECT_EQ(Deployment::make(small(), p)->residual_bound().decimal(), "4250129834582");
  p.floor = 4;
  p.error = *Decimal::parse("0.0000025");
  EXPECT_EQ(Deployment::make(small(), p)->residual_bound().decimal(), "472236648286");
  p.floor = 1;
  p.error = *Decimal::parse("1");
  p.weights.fraction_bits = 10;
  EXPECT_EQ(Deployment::make(small(), p)->residual_bound(), Wide::power_of_two(20));
}

TEST(Deployment, SlackBitsHoldTheLargestMask) {
  Parameters p;
  const auto deployment = Deployment::make(small(), p);
  ASSERT_TRUE(deployment.ok());
  EXPECT_EQ(deployment->slack_bits(), (Wide(4) * Wide(1000) * Wide::power_of_two(80)).bit_length());
}

// The exact edges of the two inequalities of docs/formats.md.
TEST(Deployment, NoWrapHoldsUpToTheLastInteger) {
  const auto fits = [](Geometry geometry, Parameters p, uint64_t padded_size, uint32_t slack_bits) {
    const Rule rules[] = {cap_rule(p)};
    return check_no_wrap(geometry, p, padded_size, slack_bits, 0, rules).ok();
  };
  const auto wide = [](uint32_t width, uint64_t floor = 4) {
    Parameters p;
    p.weights.width = width;
    p.floor = floor;
    p.weight_chunk = p.curvature_chunk = 1;
    return p;
  };
  Parameters chunks = wide(40);
  chunks.curvature_chunk = 1 << 16;
  chunks.weight_chunk = 1 << 16;  // 56 bits
  EXPECT_TRUE(fits({256, 1 << 17}, chunks, 1, 200));
  chunks.weights.width = 41;
  EXPECT_FALSE(fits({256, 1 << 17}, chunks, 1, 200));
  chunks.weight_chunk = 1 << 15;
  EXPECT_TRUE(fits({256, 1 << 17}, chunks, 1, 200));
  chunks.curvature_chunk = 1 << 17;
  EXPECT_FALSE(fits({256, 1 << 17}, chunks, 1, 200));
  Parameters tight = wide(94, 1073741815);
  tight.curvature_bits = 2;
  EXPECT_TRUE(fits({1, 1}, tight, 1, 10));
  tight.floor += 1;
  EXPECT_FALSE(fits({1, 1}, tight, 1, 10));

  Parameters cap = wide(89);
  cap.cap_numerator = ~uint64_t{0} >> 1;
  cap.curvature_bits = 2;
  EXPECT_TRUE(fits({1, 1}, cap, 64, 200));
  EXPECT_FALSE(fits({1, 1}, cap, 128, 200));
  EXPECT_FALSE(fits({1, 1}, wide(40), 1, 251));
}

TEST(Deployment, SlackMustHaveRoom) {
  Parameters p;
  p.floor = Deployment::kMaxFloor;
  p.error = *Decimal::parse("1e15");
  EXPECT_NE(reason(small(), p).find("bits, more than 240"), std::string::npos);
  // Rows shorter than the slack's bits have no place for it.
  EXPECT_NE(reason(layout_of(10, {.block = 8, .row = 64}), {}).find("more than 64"), std::string::npos);
}

TEST(Deployment, SomeWindowMustBePossible) {
  Parameters p;
  p.weights = {.fraction_bits = 2, .width = 4};
  p.error = *Decimal::parse("1");
  EXPECT_NE(reason(layout_of(10, {.block = 2, .row = 32}), p).find("shorter than 64"), std::string::npos);
  EXPECT_EQ(reason(layout_of(10, {.block = 2, .row = 64}), p), "");
  // 92 bits of slack, one to a plane where blocks have one weight
  EXPECT_EQ(reason(layout_of(1000, {.block = 4, .row = 128}), {}), "");
  EXPECT_NE(reason(layout_of(1000, {.block = 1, .row = 128}), {}).find("bit planes"), std::string::npos);
}

// √16 · (2^8 - 1) / 2^2 = 255
TEST(Deployment, AnErrorThatEveryModelMeetsIsRefused) {
  Parameters p;
  p.weights = {.fraction_bits = 2, .width = 8};
  p.error = *Decimal::parse("254.999");
  EXPECT_EQ(reason(small(), p), "");
  p.error = *Decimal::parse("255");
  EXPECT_NE(reason(small(), p).find("says nothing"), std::string::npos);
  Parameters otherwise_as_usual;
  otherwise_as_usual.error = *Decimal::parse("1e12");
  EXPECT_NE(reason(small(), otherwise_as_usual).find("says nothing"), std::string::npos);
}

TEST(Deployment, TellsWhatIsLoose) {
  const auto loose = [](std::string_view error, uint64_t numerator, uint64_t denominator) {
    Parameters p;
    p.error = *Decimal::parse(error);
    p.cap_numerator = numerator;
    p.cap_denominator = denominator;
    return Deployment::make(small(), p, some_anchor(small()))->loose();
  };
  EXPECT_TRUE(loose("1e-5", 4, 1).empty());
  EXPECT_TRUE(loose("1e-2", 100, 1).empty());
  EXPECT_TRUE(loose("0.01", 200, 2).empty());
  ASSERT_EQ(loose("0.010001", 100, 1).size(), 1U);
  EXPECT_NE(loose("3", 4, 1)[0].find("certified error 3 "), std::string::npos);
  ASSERT_EQ(loose("1e-2", 201, 2).size(), 1U);
  EXPECT_NE(loose("1e-2", 201, 2)[0].find("cap 201/2 "), std::string::npos);
  EXPECT_EQ(loose("1", Deployment::kMaxCap, 1).size(), 2U);
}

TEST(Deployment, RefusesUnsupportedParameters) {
  const auto with = [](auto change) {
    Parameters p;
    change(p);
    return reason(small(), p);
  };
  EXPECT_EQ(with([](Parameters&) {}), "");
  EXPECT_NE(with([](Parameters& p) { p.curvature_bits = 1; }).find("curvature bits"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.curvature_bits = 17; }).find("curvature bits"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.weights.width = 54; }).find("54 bits"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.weights.fraction_bits = 54; }).find("fraction"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.floor = 0; }).find("floor"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.floor = Deployment::kMaxFloor + 1; }).find("floor"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.cap_denominator = 0; }).find("cap"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.cap_numerator = Deployment::kMaxCap + 1; }).find("cap"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.error = *Decimal::parse("1e-18"); }).find("below one unit"), std::string::npos);
}

TEST(Deployment, ChunksTakeTheFewestBitsOfThoseThatDoNotWrap) {
  const auto chosen = [](uint64_t block, const Parameters& given) {
    const Geometry geometry{.block = block, .row = std::max<uint64_t>(uint64_t{1} << 17, block * block)};
    const std::vector<TensorInfo> tensors = {{.name = "w", .dtype = Dtype::kF32, .shape = {1 << 20}}};
    const Parameters p = Deployment::make(*Layout::make(tensors, {"w"}, geometry), given)->parameters();
    return std::array<uint64_t, 3>{p.curvature_range_bits(), p.weight_bits(), p.other_chunk};
  };
  EXPECT_EQ(chosen(256, {}), (std::array<uint64_t, 3>{24, 56, 1024}));
  EXPECT_EQ(chosen(512, {}), (std::array<uint64_t, 3>{24, 53, 1024}));
  EXPECT_EQ(chosen(1024, {}), (std::array<uint64_t, 3>{24, 51, 1024}));
  Parameters given;
  given.weight_chunk = 1 << 9;
  EXPECT_EQ(chosen(256, given), (std::array<uint64_t, 3>{24, 49, 1024}));
  // Where both cannot be long, the curvature's are shorter than they could be alone.
  Parameters fine;
  fine.curvature_bits = 16;
  EXPECT_EQ(chosen(256, fine), (std::array<uint64_t, 3>{28, 48, 1024}));
}

TEST(Deployment, RefusesProjectionsThatProveLittle) {
  const auto with = [&](auto change) {
    Parameters p;
    change(p);
    return reason(small(), p);
  };
  EXPECT_EQ(with([](Parameters& p) { p.projections = 256; }), "");
  EXPECT_NE(with([](Parameters& p) { p.projections = 191; }).find("191 projections"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.projections = 257; }).find("257 projections"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.weight_chunk = 3; }).find("chunks of 3"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.curvature_chunk = 1 << 12; }).find("chunks of 4096"), std::string::npos);
  EXPECT_NE(with([](Parameters& p) { p.other_chunk = 24; }).find("chunks of 24"), std::string::npos);
}

TEST(Deployment, FileIsCanonical) {
  Parameters p;
  p.error = *Decimal::parse("2.5e-6");
  p.floor = 7;
  Anchor anchor = some_anchor(small());
  anchor.tensors[0] = Anchored::kAdded;
  anchor.squares[0] = Wide();
  const auto deployment = Deployment::make(small(), p, anchor);
  ASSERT_TRUE(deployment.ok());
  const Bytes file = deployment->serialize();
  const auto back = Deployment::parse(file);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->parameters(), deployment->parameters());
  EXPECT_EQ(back->anchor(), deployment->anchor());
  EXPECT_EQ(back->digest(), deployment->digest());
  EXPECT_EQ(back->serialize(), file);
  for (size_t at = 0; at < file.size(); ++at) {
    Bytes changed = file;
    changed[at] ^= 1;
    EXPECT_FALSE(Deployment::parse(changed).ok()) << at;
  }
}

// A content that is framed properly but is not what serialize writes.
TEST(Deployment, RefusesOtherContents) {
  const Bytes file = Deployment::make(small(), {}, some_anchor(small()))->serialize();
  const Bytes content(file.begin() + 12, file.end() - 32);
  const auto parse = [](const Bytes& c) { return Deployment::parse(frame(Deployment::kKind, c)); };
  ASSERT_TRUE(parse(content).ok());
  Bytes longer = content;
  longer.push_back(0);
  EXPECT_FALSE(parse(longer).ok());
  Bytes neither = Deployment::make(small(), {})->serialize();  // with an anchor nor without
  neither = Bytes(neither.begin() + 12, neither.end() - 32);
  ASSERT_TRUE(parse(neither).ok());
  neither.back() = 2;
  EXPECT_FALSE(parse(neither).ok());
  Bytes unknown(content.begin(), content.end() - 24);  // the last tensor of another kind, which has no squares
  unknown.back() = 4;
  EXPECT_FALSE(parse(unknown).ok());
  // A chunk of 0 would be chosen, and the file would be another.
  for (const size_t chunk : {52U, 60U, 68U}) {
    Bytes changed = content;
    std::fill_n(changed.begin() + static_cast<ptrdiff_t>(chunk), 8, uint8_t{0});
    EXPECT_FALSE(parse(changed).ok()) << chunk;
  }
  for (size_t size = 0; size < content.size(); ++size)
    EXPECT_FALSE(parse(Bytes(content.begin(), content.begin() + static_cast<ptrdiff_t>(size))).ok());
  for (size_t at = 0; at < content.size(); ++at) {
    Bytes changed = content;
    changed[at] ^= 1;
    const auto other = parse(changed);
    if (other.ok()) {
      EXPECT_EQ(other->serialize(), frame(Deployment::kKind, changed)) << at;
    }
  }
}

}  // namespace
}  // namespace zkapex
