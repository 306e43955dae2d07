#include "argument/generators.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "base/hash.h"

namespace zkapex {
namespace {

class GeneratorsTest : public ::testing::Test {
 protected:
  GeneratorsTest() { std::filesystem::remove_all(directory_); }
  ~GeneratorsTest() override { std::filesystem::remove_all(directory_); }

  static std::vector<std::array<uint8_t, 32>> encodings(const Generators& g) {
    std::vector<std::array<uint8_t, 32>> out;
    for (const AffinePoint& p : g.positions()) out.push_back(Point(p).encode());
    out.push_back(g.blinding().encode());
    out.push_back(g.value().encode());
    return out;
  }
  // SHA-512 of the label, the kind and the index, through the one-way map.
  static Point by_hand(std::string_view kind, uint64_t index) {
    ByteWriter out;
    out.text("zkapex generator 1");
    out.text(kind);
    out.u64(index);
    return Point::from_uniform_bytes(sha512(out.bytes()));
  }
  [[nodiscard]] Path file(size_t count) const { return directory_ / fmt::format("generators-{}.zkapex", count); }
  [[nodiscard]] Bytes cache(size_t count) const { return read_file(file(count), 1 << 20).value(); }
  void write(size_t count, ByteView bytes) const {
    ASSERT_TRUE(write_file(file(count), bytes, {.overwrite = true}).ok());
  }
  static void redo_digest(Bytes& bytes) {
    const auto digest = sha256(ByteView(bytes).first(bytes.size() - 32));
    std::copy(digest.begin(), digest.end(), bytes.end() - 32);
  }

  const Path directory_ = std::filesystem::temp_directory_path() / fmt::format("zkapex-generators-{}", getpid());
  ThreadPool pool_{2};
};

TEST_F(GeneratorsTest, KnownAnswers) {
  const auto all = encodings(Generators::derive(3, pool_));
  const std::vector<std::string> expected{"6c357aa65e16293d5fe9c3f2a24c8995829310926014d0ee4be19fd273311309",
                                          "b076c63047050bc42f274a6c7d0d0f2a07b2f590078bd3a8cf57b23071be9218",
                                          "22f8c41d1c5cca37c29c8154f0064ded77eaeffe5966750c69ab55db6ce84647",
                                          "8a9e6d44235e65a121ade421244620ae8d251e5715e2858ac8358ab0cdbf7454",
                                          "683cc42998507db27c4588175474d7247b63ae5b0c25dc3f5cac3feab1539e7b"};
  ASSERT_EQ(all.size(), expected.size());
  for (size_t k = 0; k < all.size(); ++k) EXPECT_EQ(to_hex(all[k]), expected[k]);
}

TEST_F(GeneratorsTest, DefinedByHashing) {
  const Generators g = Generators::derive(20, pool_);
  for (size_t k = 0; k < 20; ++k) EXPECT_EQ(Point(g.positions()[k]), by_hand("position", k));
  EXPECT_EQ(g.blinding(), by_hand("blinding", 0));
  EXPECT_EQ(g.value(), by_hand("value", 0));
}

TEST_F(GeneratorsTest, AllDifferentAndAPrefixOfEachOther) {
  const auto few = encodings(Generators::derive(10, pool_)), many = encodings(Generators::derive(300, pool_));
  EXPECT_TRUE(std::equal(few.begin(), few.begin() + 10, many.begin()));
  EXPECT_EQ(std::set(many.begin(), many.end()).size(), 302U);
}

// As many as large proofs use, 2^17 positions and their pads: all different, as defined, and pinned as a whole.
// Sanitizers take too long for that and see the beginning.
TEST_F(GeneratorsTest, AsManyAsLargeProofsUse) {
#ifdef ZKAPEX_CHECK_BOUNDS
  constexpr size_t kCount = size_t{1} << 12;
  const std::string expected = "579f231a58ceac2a8d96fc36ef48692907b6d0c5bac6a44fdc39c6e8ed10862d";
#else
  constexpr size_t kCount = (size_t{1} << 17) + (size_t{1} << 12);
  const std::string expected = "940dc1e1612f68067e9e543968c34c12960d4e1615bf19066e4947aa54b0a4b0";
#endif
  const Generators g = Generators::derive(kCount, pool_);
  const std::vector<Point> points(g.positions().begin(), g.positions().end());
  const auto encoded = encode_batch(points, &pool_);
  EXPECT_EQ(std::set(encoded.begin(), encoded.end()).size(), kCount);
  for (const size_t k : {size_t{399}, size_t{400}, kCount / 2, kCount - 1})
    EXPECT_EQ(points[k], by_hand("position", k));
  Sha256 hash;
  for (const auto& bytes : encoded) hash.update(bytes);
  EXPECT_EQ(to_hex(hash.finish()), expected);
}

TEST_F(GeneratorsTest, CacheIsWrittenAndRead) {
  const auto expected = encodings(Generators::derive(5, pool_));
  EXPECT_EQ(encodings(Generators::cached(5, directory_, pool_)), expected);
  const Bytes written = cache(5);
  EXPECT_EQ(written.size(), 8 + 8 + 5 * 64 + 32U);
  // What the second call returns comes from the file: one that holds other points, digest and all, is believed.
  Bytes other = written;
  std::swap_ranges(other.begin() + 16, other.begin() + 16 + 64, other.begin() + 16 + 64);
  redo_digest(other);
  write(5, other);
  const auto read = encodings(Generators::cached(5, directory_, pool_));
  EXPECT_EQ(read[0], expected[1]);
  EXPECT_EQ(read[1], expected[0]);
}

TEST_F(GeneratorsTest, ADamagedCacheIsRebuilt) {
  const auto expected = encodings(Generators::cached(5, directory_, pool_));
  const Bytes sound = cache(5);
  const auto rebuilt = [&](Bytes damaged) {
    write(5, damaged);
    EXPECT_EQ(encodings(Generators::cached(5, directory_, pool_)), expected);
    EXPECT_EQ(cache(5), sound);
  };
  for (size_t at = 0; at < sound.size(); at += 7) {
    Bytes damaged = sound;
    damaged[at] ^= 1;
    rebuilt(damaged);
  }
  for (const size_t length : {size_t{0}, size_t{8}, size_t{16}, sound.size() - 1}) {
    rebuilt({sound.begin(), sound.begin() + static_cast<ptrdiff_t>(length)});
  }
  Bytes longer = sound;
  longer.push_back(0);
  rebuilt(longer);
  redo_digest(longer);
  rebuilt(longer);
  rebuilt(Bytes(10000, 0xff));
  // Sound digest, wrong magic, wrong count, a coordinate that is not reduced.
  Bytes magic = sound, count = sound, coordinate = sound;
  magic[7] ^= 1;
  count[8] = 6;
  std::fill_n(coordinate.begin() + 16, 32, uint8_t{0xff});
  for (Bytes* damaged : {&magic, &count, &coordinate}) {
    redo_digest(*damaged);
    rebuilt(*damaged);
  }
}

TEST_F(GeneratorsTest, EachCountHasItsOwnFile) {
  (void)Generators::cached(5, directory_, pool_);
  EXPECT_EQ(encodings(Generators::cached(6, directory_, pool_)), encodings(Generators::derive(6, pool_)));
  write(7, cache(5));
  EXPECT_EQ(encodings(Generators::cached(7, directory_, pool_)), encodings(Generators::derive(7, pool_)));
}

TEST_F(GeneratorsTest, ADirectoryThatCannotBeMadeIsNoError) {
  // A file stands where the directory would have to be.
  ASSERT_TRUE(write_file(directory_, view("in the way")).ok());
  EXPECT_EQ(encodings(Generators::cached(4, directory_ / "below", pool_)), encodings(Generators::derive(4, pool_)));
}

}  // namespace
}  // namespace zkapex
