#include "agent/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/result_testing.h"

namespace zkapex {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(journal_.open().ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& window, WindowState state) const {
    const Path at = journal_.at(window, state).folder;
    ASSERT_TRUE(std::filesystem::create_directory(at));
    ASSERT_TRUE(write_file(at / "psi.zka", view(window)).ok());
  }

  Path folder_ = Path(::testing::TempDir()) / fmt::format("zkapex-journal-{}", ::getpid());
  Journal journal_{folder_};
};

TEST_F(JournalTest, AWindowIsFoundInWhateverState) {
  for (const WindowState state : kWindowStates) add(fmt::format("w {}", name(state)), state);
  const auto windows = journal_.windows();
  ASSERT_TRUE(windows.ok());
  ASSERT_EQ(windows->size(), kWindowStates.size());
  for (const WindowState state : kWindowStates) {
    const auto found = journal_.find(fmt::format("w {}", name(state)));
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->state, state);
    EXPECT_EQ((*found)->folder, folder_ / name(state) / fmt::format("w%20{}", name(state)));
  }
  EXPECT_FALSE(journal_.find("another")->has_value());
}

TEST_F(JournalTest, AChangeOfStateTakesAllFilesAlong) {
  add("w1", WindowState::kSeen);
  WindowFolder window = **journal_.find("w1");
  ASSERT_TRUE(journal_.move(window, WindowState::kComputed).ok());
  EXPECT_EQ(window.state, WindowState::kComputed);
  EXPECT_EQ(*read_file(window.psi(), 100), Bytes({'w', '1'}));
  EXPECT_EQ((*journal_.find("w1"))->state, WindowState::kComputed);
  EXPECT_EQ(journal_.windows()->size(), 1U);
}

TEST_F(JournalTest, WhatIsNotThereIsNotMoved) {
  WindowFolder window = journal_.at("w1", WindowState::kSeen);
  EXPECT_NE(testing::refusal(journal_.move(window, WindowState::kComputed)).find("cannot rename"), std::string::npos);
  EXPECT_EQ(window.state, WindowState::kSeen);
}

TEST_F(JournalTest, WhatKilledProcessesLeftIsNoWindow) {
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "seen/w1.tmp-0123456789abcdef"));
  EXPECT_TRUE(journal_.windows()->empty());
  ASSERT_TRUE(journal_.open().ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "seen/w1.tmp-0123456789abcdef"));
}

TEST_F(JournalTest, AFolderThatCannotBeReadIsAnError) {
  std::filesystem::remove_all(folder_ / "received");
  EXPECT_NE(testing::refusal(journal_.windows()).find("received"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
