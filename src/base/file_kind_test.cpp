#include "base/file_kind.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

ByteView bytes(std::string_view text) { return view(text); }

TEST(FileKind, ToldByTheFirstBytes) {
  EXPECT_EQ(kind_of_file(bytes("ZKAPEXDP....")), "a deployment");
  EXPECT_EQ(kind_of_file(bytes("ZKAPEXDP")), "a deployment");
  EXPECT_EQ(kind_of_file(bytes("ZKAPEXD")), "");
  using namespace std::string_view_literals;
  EXPECT_EQ(kind_of_file(bytes("\x02\0\0\0\0\0\0\0{}"sv)), "a checkpoint");
  EXPECT_EQ(kind_of_file(bytes("\x02\0\0\0\0\0\0\1{}"sv)), "");
  EXPECT_EQ(kind_of_file(bytes("\x02\0\0\0\0\0\0\0[]"sv)), "");
  EXPECT_EQ(kind_of_file(bytes("\x02\0\0\0\0\0\0\0"sv)), "");
  EXPECT_EQ(kind_of_file(bytes("{\"weight_map\": {}}")), "a JSON document");
  EXPECT_EQ(kind_of_file(bytes("{\n  \"forget\": \"class:3\",\n  \"format\": \"zkapex-splits\"")), "a split file");
  EXPECT_TRUE(kind_of_file(bytes("PK\3\4...")).starts_with("a zip archive"));
  EXPECT_EQ(kind_of_file(bytes("plain text")), "");
  EXPECT_EQ(kind_of_file({}), "");
}

TEST(FileKind, ALengthThatLooksLikeAMagicIsALength) {
  using namespace std::string_view_literals;
  EXPECT_EQ(kind_of_file(bytes("\x80\x02\0\0\0\0\0\0{\"fc1\""sv)), "a checkpoint");
  EXPECT_EQ(kind_of_file(bytes("\x1f\x8b\x01\0\0\0\0\0{\"fc1\""sv)), "a checkpoint");
  EXPECT_TRUE(kind_of_file(bytes("\x80\x02}q\0(X\x05\0\0\0"sv)).starts_with("a Python pickle"));
  EXPECT_EQ(kind_of_file(bytes("\x1f\x8b\x08\0\0\0\0\0\x02\x03"sv)), "a gzip file");
}

TEST(FileKind, SaysWhatItIsAndWhatItIsNot) {
  EXPECT_EQ(wrong_kind(bytes("ZKAPEXDP"), "a mask").message, "this is a deployment, not a mask");
  EXPECT_EQ(wrong_kind(bytes("noise"), "a mask").message, "this is not a mask");
  EXPECT_EQ(wrong_kind(bytes("{}"), "a split file").message, "this is a JSON document, not a split file");
}

}  // namespace
}  // namespace zkapex
