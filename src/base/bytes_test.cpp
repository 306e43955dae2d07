#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Bytes, HexBothWays) {
  const Bytes bytes{0x00, 0x0f, 0xa5, 0xff};
  EXPECT_EQ(to_hex(bytes), "000fa5ff");
  EXPECT_EQ(*from_hex("000fa5ff"), bytes);
  EXPECT_EQ(*from_hex("000FA5Ff"), bytes);
  EXPECT_EQ(to_hex({}), "");
  EXPECT_TRUE(from_hex("")->empty());
}

TEST(Bytes, BadHexIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal(from_hex("abc")), "hexadecimal text has an odd number of digits (3)");
  EXPECT_EQ(refusal(from_hex("0g")), "not a hexadecimal digit at position 1");
  EXPECT_EQ(refusal(from_hex("00 1")), "not a hexadecimal digit at position 2");
  // The characters just outside each range of digits.
  for (const auto* text : {"/0", ":0", "@0", "G0", "`0", "g0"}) EXPECT_FALSE(from_hex(text).ok()) << text;
}

TEST(Bytes, IntegersAreLittleEndian) {
  ByteWriter out;
  out.u8(0x01);
  out.u16(0x0302);
  out.u32(0x07060504);
  out.u64(0x0f0e0d0c0b0a0908);
  EXPECT_EQ(to_hex(out.bytes()), "0102030405060708090a0b0c0d0e0f");
}

TEST(Bytes, EverythingComesBack) {
  ByteWriter out;
  out.u8(0xff);
  out.u16(0xffff);
  out.u32(0xffffffff);
  out.u64(0xffffffffffffffff);
  out.text("name");
  out.sized({});
  out.raw(Bytes{1, 2, 3});
  const Bytes bytes = out.take();

  ByteReader in(bytes);
  EXPECT_EQ(*in.u8(), 0xff);
  EXPECT_EQ(*in.u16(), 0xffff);
  EXPECT_EQ(*in.u32(), 0xffffffff);
  EXPECT_EQ(*in.u64(), 0xffffffffffffffff);
  EXPECT_EQ(*in.text(4), "name");
  EXPECT_TRUE(in.sized(0)->empty());
  EXPECT_EQ(in.left(), 3U);
  EXPECT_EQ(*in.array<3>(), (std::array<uint8_t, 3>{1, 2, 3}));
  EXPECT_TRUE(in.finish().ok());
}

TEST(Bytes, EveryReadPastTheEndIsAnError) {
  const Bytes bytes(7, 0);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const ByteView part = ByteView(bytes).first(length);
    EXPECT_EQ(ByteReader(part).u8().ok(), length >= 1);
    EXPECT_EQ(ByteReader(part).u16().ok(), length >= 2);
    EXPECT_EQ(ByteReader(part).u32().ok(), length >= 4);
    EXPECT_FALSE(ByteReader(part).u64().ok());
    EXPECT_EQ(ByteReader(part).array<5>().ok(), length >= 5);
    EXPECT_EQ(ByteReader(part).raw(3).ok(), length >= 3);
  }
  EXPECT_EQ(refusal(ByteReader(bytes).raw(8)), "truncated: 8 bytes are needed, 7 are left");
  EXPECT_FALSE(ByteReader(bytes).raw(SIZE_MAX).ok());
}

TEST(Bytes, AFailedReadTakesNothing) {
  const Bytes bytes{1, 2};
  ByteReader in(bytes);
  EXPECT_FALSE(in.u32().ok());
  const auto both = in.u16();
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(*both, 0x0201);
}

TEST(Bytes, LengthsAreCheckedAgainstTheLimitAndTheRest) {
  ByteWriter out;
  out.u32(0xffffffff);
  EXPECT_EQ(refusal(ByteReader(out.bytes()).sized(100)), "a length of 4294967295 is over the limit of 100");
  EXPECT_EQ(refusal(ByteReader(out.bytes()).text(SIZE_MAX)), "truncated: 4294967295 bytes are needed, 0 are left");
}

TEST(Bytes, TrailingBytesAreRefused) {
  const Bytes bytes{1, 2, 3};
  ByteReader in(bytes);
  ASSERT_TRUE(in.u8().ok());
  EXPECT_EQ(refusal(in.finish()), "2 bytes after the end");
}

}  // namespace
}  // namespace zkapex
