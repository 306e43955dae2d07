#include "argument/verdict.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace zkapex {
namespace {

TEST(Verdict, EveryReasonHasANameAndAdvice) {
  size_t count = 0;
  for (auto reason = Reason{}; name(reason) != "unknown"; reason = static_cast<Reason>(++count)) {
    const std::string_view sentence = advice(reason);
    EXPECT_GE(sentence.size(), 40U) << name(reason);
    EXPECT_TRUE(sentence.ends_with('.')) << name(reason);
    EXPECT_NE(sentence, advice(static_cast<Reason>(-1))) << name(reason);
    EXPECT_EQ(sentence.find('\n'), std::string_view::npos) << name(reason);
  }
  EXPECT_GE(count, 14U);
}

// The table that people read says what the program says, row by row and nothing else.
TEST(Verdict, DocumentedAsItIs) {
  const auto file = read_file("docs/reasons.md", 1 << 20);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::string text(file->begin(), file->end());
  size_t reasons = 0, rows = 0;
  for (; name(static_cast<Reason>(reasons)) != "unknown"; ++reasons) {
    const auto reason = static_cast<Reason>(reasons);
    const size_t row = text.find(fmt::format("\n| `{}` | ", name(reason)));
    ASSERT_NE(row, std::string::npos) << name(reason);
    const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
    EXPECT_TRUE(line.ends_with(fmt::format(" | {} |", advice(reason)))) << line;
  }
  for (size_t at = text.find("\n| `"); at != std::string::npos; at = text.find("\n| `", at + 1)) ++rows;
  EXPECT_EQ(rows, reasons);
}

}  // namespace
}  // namespace zkapex
