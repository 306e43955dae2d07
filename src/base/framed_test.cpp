#include "base/framed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

constexpr FileKind kKind{"ZKAPTEST", 3, "a test"};

TEST(Framed, GivesTheContentBack) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{100}}) {
    const Bytes content(size, 7), file = frame(kKind, content);
    const auto back = unframe(kKind, file);
    ASSERT_TRUE(back.ok());
    EXPECT_TRUE(std::ranges::equal(*back, content));
    EXPECT_TRUE(std::ranges::equal(frame_digest(kKind, content), ByteView(file).last(32)));
  }
}

TEST(Framed, EveryByteAndTheLengthMatter) {
  const Bytes file = frame(kKind, Bytes(20, 7));
  for (size_t at = 0; at < file.size(); ++at) {
    Bytes changed = file;
    changed[at] ^= 0x10;
    EXPECT_FALSE(unframe(kKind, changed).ok()) << at;
    EXPECT_FALSE(unframe(kKind, ByteView(file).first(at)).ok()) << at;
  }
  Bytes longer = file;
  longer.push_back(0);
  EXPECT_FALSE(unframe(kKind, longer).ok());
}

TEST(Framed, SaysWhatItIsNot) {
  const Bytes file = frame(kKind, {});
  EXPECT_EQ(refusal(unframe({"ZKAPELSE", 3, "a mask"}, file)), "this is not a mask file");
  EXPECT_EQ(refusal(unframe({"ZKAPTEST", 4, "a test"}, file)),
            "this is a test file of version 3; version 4 is supported");
}

}  // namespace
}  // namespace zkapex
