#include "base/names.h"

#include <gtest/gtest.h>

#include <string>

namespace zkapex {
namespace {

bool fine(std::string_view name) { return check_name(name, "a name").ok(); }

TEST(Names, PrintableTextOfAnyLanguageIsFine) {
  for (const std::string_view name :
       {"alice", "2026-11", "a b", "Zo\xc3\xab", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc2\xa0"}) {
    EXPECT_TRUE(fine(name)) << name;
  }
  EXPECT_TRUE(fine(std::string(kMaxName, 'x')));
}

TEST(Names, LengthsAreBounded) {
  EXPECT_FALSE(fine(""));
  EXPECT_FALSE(fine(std::string(kMaxName + 1, 'x')));
}

TEST(Names, ControlCharactersAreRefused) {
  for (const std::string_view name : {"a\nb", "\x1b[31m", "\x7f",
                                      "\xc2\x9b"
                                      "31m",
                                      "\xc2\x80", "\x01"})
    EXPECT_FALSE(fine(name));
  EXPECT_FALSE(fine(std::string_view("a\0b", 3)));
}

TEST(Names, WhatIsNoUtf8IsRefused) {
  for (const std::string_view name : {"m\xff", "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xe2(\xac"}) {
    EXPECT_FALSE(fine(name));
  }
  // First bytes that begin nothing, before continuations that would make a letter of their low bits.
  for (const std::string_view name : {"\x81\x90\x80\x80", "\xc1\x90\x80\x80", "\xf9\x90\x80\x80"})
    EXPECT_FALSE(fine(name));
  // The rest of the letter is there, but behind the end of the name.
  EXPECT_FALSE(fine(std::string_view("\xc3\xab").substr(0, 1)));
}

TEST(Names, FileNamesAreSafeAndDifferent) {
  EXPECT_EQ(file_name_of("2026-11_a.b"), "2026-11_a.b");
  EXPECT_EQ(file_name_of("../x"), "%2E.%2Fx");
  EXPECT_EQ(file_name_of(".."), "%2E.");
  EXPECT_EQ(file_name_of("a%2Fb"), "a%252Fb");
  EXPECT_EQ(file_name_of("=abc"), "%3Dabc");
  EXPECT_EQ(file_name_of("\xc3\xa9 "), "%C3%A9%20");
  EXPECT_EQ(file_name_of(std::string(200, 'a')), std::string(200, 'a'));
  const std::string digest = file_name_of(std::string(201, 'a'));
  EXPECT_EQ(digest.size(), 65U);
  EXPECT_EQ(digest[0], '=');
  EXPECT_NE(digest, file_name_of(std::string(202, 'a')));
  EXPECT_EQ(file_name_of("").size(), 65U);
}

TEST(Names, QuotesAreEscaped) {
  EXPECT_EQ(in_quotes("alice"), "\"alice\"");
  EXPECT_EQ(in_quotes("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(in_quotes("\xe2\x80\xae\n"), "\"\\xe2\\x80\\xae\\x0a\"");
}

}  // namespace
}  // namespace zkapex
