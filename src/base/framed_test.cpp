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
  EXPECT_NE(refusal(unframe({"ZKAPELSE", 3, "a mask"}, file)).find("not a mask"), std::string::npos);
  EXPECT_EQ(refusal(unframe({"ZKAPEXPS", 1, "a mask"}, frame({"ZKAPEXDP", 1, "a deployment"}, {}))),
            "this is a deployment, not a mask");
  EXPECT_EQ(refusal(unframe(kKind, ByteView(file).first(40))), "a test of 40 bytes: the file is truncated");
  EXPECT_NE(refusal(unframe({"ZKAPTEST", 4, "a test"}, file)).find("version 3"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
