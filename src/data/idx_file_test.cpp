#include "data/idx_file.h"

#include <zlib.h>

#include "base/files.h"
#include "base/result_testing.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Idx, ReadsShapeAndBytesAndRefusesTheRest) {
  const Bytes good = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
  const auto array = parse_idx(good);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array->values.back(), 6);
  for (size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(parse_idx(ByteView(good).first(length)).ok());
  Bytes long_one = good, floats = good, huge = good;
  long_one.push_back(7);
  floats[2] = 0x0D;
  huge[4] = huge[8] = 0xFF;
  for (const Bytes& bad : {long_one, floats, huge}) EXPECT_FALSE(parse_idx(bad).ok());
  EXPECT_NE(refusal(read_idx("no/such/file")).find("no/such/file cannot be opened"), std::string::npos);
}

TEST(Idx, RefusesOtherHeaders) {
  const Bytes good = {0, 0, 8, 1, 0, 0, 0, 1, 5};
  ASSERT_TRUE(parse_idx(good).ok());
  for (const size_t at : {0, 1}) {
    Bytes other = good;
    other[at] = 1;
    EXPECT_NE(refusal(parse_idx(other)).find("not an IDX file"), std::string::npos);
  }
  // No dimension at all, five of them, and four whose product is 2^64.
  Bytes five = {0, 0, 8, 5}, wrapping = {0, 0, 8, 4};
  for (int k = 0; k < 5; ++k) five.insert(five.end(), {0, 0, 0, 1});
  five.push_back(1);
  for (int k = 0; k < 4; ++k) wrapping.insert(wrapping.end(), {0, 1, 0, 0});
  EXPECT_NE(refusal(parse_idx(Bytes{0, 0, 8, 0, 1})).find("header"), std::string::npos);
  EXPECT_NE(refusal(parse_idx(five)).find("header"), std::string::npos);
  EXPECT_NE(refusal(parse_idx(wrapping)).find("claims more than"), std::string::npos);
}

TEST(Idx, CompressedFilesAreCheckedToo) {
  const TemporaryDirectory directory("idx");
  const std::string path = (directory.path() / "a.gz").string();
  const Bytes good = {0, 0, 8, 1, 0, 0, 0, 1, 5};
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzwrite(file, good.data(), static_cast<unsigned>(good.size())), static_cast<int>(good.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  EXPECT_TRUE(read_idx(path).ok());
  Bytes packed = *read_file(path, 1000);
  packed[packed.size() - 5] ^= 1;  // of the checksum
  ASSERT_TRUE(write_file(path, packed, {.overwrite = true}).ok());
  EXPECT_NE(refusal(read_idx(path)).find("its compression is damaged"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
