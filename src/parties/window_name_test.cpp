#include "parties/window_name.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

const Sha256::Digest kMask = [] {
  Sha256::Digest out{};
  out[0] = 0xab;
  return out;
}();

TEST(WindowName, PlainNamesAreKept) { EXPECT_EQ(window_folder_name("2026-07_aB", kMask), "2026-07_aB"); }

TEST(WindowName, WhatAFileSystemMightReadOtherwiseIsEscaped) {
  EXPECT_EQ(window_folder_name("a/b", kMask), "a%2Fb");
  EXPECT_EQ(window_folder_name("..", kMask), "%2E%2E");
  EXPECT_EQ(window_folder_name("july 26 %", kMask), "july%2026%20%25");
  EXPECT_EQ(window_folder_name("\xc3\xa9\n", kMask), "%C3%A9%0A");
}

TEST(WindowName, TheMaskStandsForANameThatIsTooLong) {
  EXPECT_EQ(window_folder_name(std::string(200, 'a'), kMask), std::string(200, 'a'));
  EXPECT_EQ(window_folder_name(std::string(201, 'a'), kMask), "ab" + std::string(62, '0'));
  EXPECT_EQ(window_folder_name("", kMask), "ab" + std::string(62, '0'));
}

}  // namespace
}  // namespace zkapex
