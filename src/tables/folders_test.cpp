#include "tables/folders.h"

#include "base/result_testing.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Folders, AreMadeRemovedAndSaidWhereTheyCannotBe) {
  const TemporaryDirectory directory("folders");
  const Path file = directory.path() / "file", folder = directory.path() / "a/b";
  ASSERT_TRUE(write_file(file, view("x")).ok());
  EXPECT_TRUE(make_folder(folder).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_NE(refusal(make_folder(file / "below")).find("cannot make the folder"), std::string::npos);
  EXPECT_TRUE(remove_tree(directory.path() / "a").ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(remove_tree(folder).ok());  // there is none
  EXPECT_NE(refusal(remove_tree("/proc/self/status")).find("cannot remove /proc/self/status"), std::string::npos);
}

TEST(Folders, FilesAreReplaced) {
  const TemporaryDirectory directory("folders");
  const Path from = directory.path() / "from", to = directory.path() / "new/to";
  ASSERT_TRUE(write_file(from, view("x")).ok());
  for (int round = 0; round < 2; ++round) EXPECT_TRUE(replace_file(from, to).ok());
  EXPECT_EQ(*read_file(to, 10), (Bytes{'x'}));
  EXPECT_NE(refusal(replace_file(directory.path() / "none", to)).find("cannot copy"), std::string::npos);
  EXPECT_NE(refusal(replace_file(from, from / "below")).find("cannot make the folder"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
