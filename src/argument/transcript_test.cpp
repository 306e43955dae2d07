#include "argument/transcript.h"

#include <gtest/gtest.h>

#include "argument/argument_testing.h"
#include "base/hash.h"

namespace zkapex {
namespace {

std::array<uint8_t, 32> draw(Transcript& t) { return t.challenge("c").to_bytes(); }

TEST(Transcript, ChainIsAsSpecified) {
  // state ← SHA-512(state ‖ kind ‖ u32 |label| ‖ label ‖ u64 |data| ‖ data), written out by hand.
  const auto step = [](const std::array<uint8_t, 64>& state, uint8_t kind, std::string_view label,
                       std::string_view data) {
    ByteWriter out;
    out.raw(state);
    out.u8(kind);
    out.u32(static_cast<uint32_t>(label.size()));
    out.raw(view(label));
    out.u64(data.size());
    out.raw(view(data));
    return sha512(out.bytes());
  };
  std::array<uint8_t, 64> state{};
  state = step(state, 1, "protocol", "p");
  state = step(state, 1, "label", "data");
  state = step(state, 2, "c", "");
  Transcript transcript("p");
  transcript.absorb("label", std::string_view("data"));
  EXPECT_EQ(transcript.challenge("c"), Scalar::from_bytes_wide(state));
  state = step(state, 3, "part 7", "");
  EXPECT_TRUE(std::ranges::equal(transcript.fork("part", 7).state(), state));
}

TEST(Transcript, EverythingAbsorbedChangesWhatFollows) {
  const auto run = [](std::string_view protocol, std::string_view label, std::string_view data, bool twice) {
    Transcript t(protocol);
    t.absorb(label, data);
    if (twice) t.absorb(label, data);
    return draw(t);
  };
  const auto base = run("p", "l", "d", false);
  EXPECT_EQ(base, run("p", "l", "d", false));
  EXPECT_NE(base, run("q", "l", "d", false));
  EXPECT_NE(base, run("p", "m", "d", false));
  EXPECT_NE(base, run("p", "l", "e", false));
  EXPECT_NE(base, run("p", "l", "d", true));
  EXPECT_NE(run("p", "ab", "c", false), run("p", "a", "bc", false));  // lengths keep label and data apart
}

TEST(Transcript, OrderAndBoundariesMatter) {
  Transcript a("p"), b("p"), c("p");
  a.absorb("x", std::string_view("1"));
  a.absorb("y", std::string_view("2"));
  b.absorb("y", std::string_view("2"));
  b.absorb("x", std::string_view("1"));
  c.absorb("x", std::string_view("12"));
  EXPECT_NE(draw(a), draw(b));
  EXPECT_NE(draw(a), draw(c));
}

TEST(Transcript, ForksDifferFromEachOtherAndFromTheirParent) {
  Transcript parent("p");
  Transcript a = parent.fork("segment", 0), b = parent.fork("segment", 1), again = parent.fork("segment", 0);
  const auto drawn = draw(a);
  EXPECT_EQ(drawn, draw(again));
  EXPECT_NE(drawn, draw(b));
  EXPECT_NE(drawn, draw(parent));
}

TEST(Transcript, ParentBindsTheFinalStateOfAFork) {
  const auto run = [](std::string_view message) {
    Transcript parent("p");
    Transcript fork = parent.fork("segment", 0);
    fork.absorb("message", message);
    parent.absorb("fork", fork);
    return draw(parent);
  };
  EXPECT_EQ(run("a"), run("a"));
  EXPECT_NE(run("a"), run("b"));
}

TEST(Transcript, ManifestRecordsOrderAcrossForks) {
  testing::Manifest manifest;
  Transcript t("p", &manifest);
  t.absorb("a", std::string_view(""));
  Transcript fork = t.fork("segment", 3);
  (void)fork.challenges("x", 2);
  t.absorb("fork", fork);
  using Kind = TranscriptStep;
  const std::vector<testing::Manifest::Event> expected{
      {"main", Kind::kAbsorb, "protocol"},     {"main", Kind::kAbsorb, "a"},
      {"segment 3", Kind::kFork, "segment 3"}, {"segment 3", Kind::kChallenge, "x[0]"},
      {"segment 3", Kind::kChallenge, "x[1]"}, {"main", Kind::kAbsorb, "fork"}};
  EXPECT_EQ(manifest.events, expected);
}

TEST(Transcript, RemembersAZeroChallenge) {
  class Zero : public Tamper {
   public:
    Scalar challenge(const std::string&, std::string_view label, const Scalar&) override {
      return label == "zero" ? Scalar::zero() : Scalar::one();
    }
  } oracle;
  Transcript t("p", &oracle);
  EXPECT_EQ(t.challenge("one"), Scalar::one());
  EXPECT_FALSE(t.drew_zero());
  Transcript fork = t.fork("part", 0);
  (void)fork.challenge("zero");
  EXPECT_TRUE(fork.drew_zero());
  EXPECT_FALSE(t.drew_zero());
  t.absorb("fork", fork);
  EXPECT_TRUE(t.drew_zero());
}

}  // namespace
}  // namespace zkapex
