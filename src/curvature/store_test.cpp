#include "curvature/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

namespace zkapex {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "zkapex-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "store.zka";
    partial_ = folder_ / "store.zka.partial";
    note_ = folder_ / "store.zka.partial.json";
    write_note(kRun);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static constexpr std::string_view kRun = "{\"fisher\": 1}";
  void write_note(std::string_view run) const { std::ofstream(note_) << run; }
  static StoreHeader header(uint32_t bits = 8) {
    StoreHeader out{.deployment = {}, .block = 5, .bits = bits, .floor = 3, .blocks = 4};
    out.deployment.fill(1);
    return out;
  }
  // Entries of block k.
  static std::vector<int16_t> factor(uint64_t k, uint32_t bits = 8) {
    std::mt19937_64 rng(k + 1);
    const int limit = 1 << (bits - 1);
    std::vector<int16_t> out(triangle_size(5));
    for (int16_t& v : out) v = static_cast<int16_t>(std::uniform_int_distribution<int>(-limit, limit - 1)(rng));
    return out;
  }
  void write_store(uint32_t bits = 8) const {
    std::filesystem::remove(path_);
    auto writer = StoreWriter::open(path_, header(bits), kRun);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    for (uint64_t k = writer->blocks(); k < 4; ++k) ASSERT_TRUE(writer->append(factor(k, bits)).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  void expect_complete(uint32_t bits = 8) const {
    const auto reader = StoreReader::open(path_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(reader->header(), header(bits));
    for (uint64_t k = 0; k < 4; ++k) {
      std::vector<int16_t> out(triangle_size(5));
      ASSERT_TRUE(reader->read(k, 1, std::span(out)).ok());
      EXPECT_EQ(out, factor(k, bits));
    }
  }
  static void cut(const Path& path, uint64_t bytes) { std::filesystem::resize_file(path, bytes); }
  static void flip(const Path& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  Path folder_, path_, partial_, note_;
};

TEST_F(StoreTest, WritesAndReadsBack) {
  for (const uint32_t bits : {2U, 8U, 9U, 12U, 16U}) {
    write_store(bits);
    expect_complete(bits);
    EXPECT_FALSE(std::filesystem::exists(partial_));
    EXPECT_FALSE(std::filesystem::exists(note_));
    EXPECT_EQ(std::filesystem::file_size(path_), StoreHeader::kBytes + 4 * (15U * (bits <= 8 ? 1 : 2) + 32));
  }
}

TEST_F(StoreTest, ReadsManyAndNarrow) {
  write_store();
  const auto reader = StoreReader::open(path_);
  ASSERT_TRUE(reader.ok());
  std::vector<int8_t> two(30);
  ASSERT_TRUE(reader->read(1, 2, std::span(two)).ok());
  for (size_t e = 0; e < 15; ++e) {
    EXPECT_EQ(two[e], factor(1)[e]);
    EXPECT_EQ(two[15 + e], factor(2)[e]);
  }
  EXPECT_FALSE(reader->read(3, 2, std::span(two)).ok());
  EXPECT_FALSE(reader->read(~uint64_t{0}, 2, std::span(two)).ok());
  EXPECT_FALSE(reader->read(0, 1, std::span(two)).ok());
  write_store(12);
  const auto wide = StoreReader::open(path_);
  EXPECT_FALSE(wide->read(0, 2, std::span(two)).ok());
}

TEST_F(StoreTest, GoesOnAfterACrashAnywhere) {
  write_store();
  const uint64_t whole = std::filesystem::file_size(path_), record = header().record_bytes();
  const Path copy = folder_ / "copy";
  std::filesystem::rename(path_, copy);
  for (uint64_t size = 0; size <= whole; size += 3) {
    std::filesystem::copy_file(copy, partial_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(path_);
    write_note(kRun);
    cut(partial_, size);
    {
      const auto writer = StoreWriter::open(path_, header(), kRun);
      ASSERT_TRUE(writer.ok()) << size << ": " << writer.error().message;
      EXPECT_EQ(writer->blocks(), size < StoreHeader::kBytes ? 0 : (size - StoreHeader::kBytes) / record);
    }
    write_store();
    expect_complete();
  }
}

TEST_F(StoreTest, CutsOffFromTheFirstDamagedBlock) {
  write_store();
  const uint64_t record = header().record_bytes();
  for (uint64_t k = 0; k < 4; ++k) {
    std::filesystem::rename(path_, partial_);
    write_note(kRun);
    flip(partial_, StoreHeader::kBytes + k * record + 7);
    {
      const auto writer = StoreWriter::open(path_, header(), kRun);
      ASSERT_TRUE(writer.ok());
      EXPECT_EQ(writer->blocks(), k);
    }
    write_store();
    expect_complete();
  }
}

TEST_F(StoreTest, EveryByteOfAStoreIsChecked) {
  write_store();
  const uint64_t whole = std::filesystem::file_size(path_);
  std::vector<int8_t> all(60);
  for (uint64_t at = 0; at < whole; ++at) {
    flip(path_, at);
    const auto reader = StoreReader::open(path_);
    EXPECT_FALSE(reader.ok() && reader->read(0, 4, std::span(all)).ok()) << at;
    flip(path_, at);
  }
  expect_complete();
  cut(path_, whole - 1);
  EXPECT_FALSE(StoreReader::open(path_).ok());
}

TEST_F(StoreTest, BlocksCannotChangePlaces) {
  write_store();
  const uint64_t record = header().record_bytes();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  std::string first(record, 0), second(record, 0);
  file.seekg(StoreHeader::kBytes);
  file.read(first.data(), static_cast<std::streamsize>(record));
  file.read(second.data(), static_cast<std::streamsize>(record));
  file.seekp(StoreHeader::kBytes);
  file << second << first;
  file.close();
  std::vector<int16_t> out(15);
  EXPECT_FALSE(StoreReader::open(path_)->read(0, 1, std::span(out)).ok());
}

TEST_F(StoreTest, RefusesOtherParametersExistingFilesAndASecondWriter) {
  {
    auto writer = StoreWriter::open(path_, header(), kRun);
    ASSERT_TRUE(writer.ok());
    EXPECT_NE(StoreWriter::open(path_, header(), kRun).error().message.find("another process"), std::string::npos);
    ASSERT_TRUE(writer->append(factor(0)).ok());
    EXPECT_FALSE(writer->finish().ok());
  }
  StoreHeader other = header();
  other.floor = 4;
  EXPECT_NE(StoreWriter::open(path_, other, kRun).error().message.find("another run"), std::string::npos);
  write_store();
  EXPECT_NE(StoreWriter::open(path_, header(), kRun).error().message.find("exists already"), std::string::npos);
  other.bits = 1;
  EXPECT_FALSE(StoreWriter::open(folder_ / "x", other, kRun).ok());
}

TEST_F(StoreTest, GoesOnOnlyFromTheSameInputs) {
  const auto begin = [&](std::string_view run, bool overwrite = false) {
    auto writer = StoreWriter::open(path_, header(), run, overwrite);
    return writer.ok() ? fmt::format("{} blocks", writer->blocks()) : writer.error().message;
  };
  const auto leave_two_blocks = [&] {
    auto writer = StoreWriter::open(path_, header(), "one", true);
    ASSERT_TRUE(writer.ok() && writer->append(factor(0)).ok() && writer->append(factor(1)).ok());
  };
  leave_two_blocks();
  EXPECT_EQ(begin("one"), "2 blocks");
  EXPECT_NE(begin("two").find("another run"), std::string::npos);
  EXPECT_EQ(begin("one"), "2 blocks");  // what was refused left it alone
  EXPECT_EQ(begin("two", true), "0 blocks");
  leave_two_blocks();
  EXPECT_EQ(begin("one", true), "0 blocks");
  leave_two_blocks();
  std::filesystem::remove(note_);
  EXPECT_NE(begin("one").find("another run"), std::string::npos);
}

TEST_F(StoreTest, RefusesEntriesThatDoNotFit) {
  auto writer = StoreWriter::open(path_, header(4), kRun);
  ASSERT_TRUE(writer.ok());
  std::vector<int16_t> entries(15, 7);
  ASSERT_TRUE(writer->append(entries).ok());
  entries[3] = 8;
  EXPECT_FALSE(writer->append(entries).ok());
  entries[3] = -8;
  EXPECT_TRUE(writer->append(entries).ok());
  entries.pop_back();
  EXPECT_FALSE(writer->append(entries).ok());
  EXPECT_FALSE(writer->append(std::vector<int16_t>(45, 0)).ok());
  EXPECT_EQ(writer->blocks(), 2U);
}

TEST_F(StoreTest, SaysWhatAFileOfAnotherKindIs) {
  std::ofstream(path_) << "ZKAPEXPS, a mask, is something else";
  EXPECT_EQ(StoreReader::open(path_).error().message, path_.string() + ": this is a mask, not a curvature store");
  write_store();
  cut(path_, StoreHeader::kBytes - 1);
  EXPECT_NE(StoreReader::open(path_).error().message.find("truncated"), std::string::npos);
}

TEST(Store, ExpandsToSquares) {
  const std::vector<int16_t> packed = {1, 2, 3, 4, 5, 6};
  std::vector<int16_t> square(16, 9);
  expand_factor<int16_t>(packed, 3, 4, square);
  EXPECT_EQ(square, (std::vector<int16_t>{1, 0, 0, 0, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace zkapex
