#include "data/idx_file.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

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
  EXPECT_NE(read_idx("no/such/file").error().message.find("no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
