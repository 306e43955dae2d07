// Whatever a client puts where its files should be is that client's rejection, at once.
#include "parties/inbox.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attestation/files.h"

namespace zkapex {
namespace {

class InboxTest : public ::testing::Test {
 protected:
  InboxTest() {
    std::filesystem::create_directories(root_ / "alice");
    EXPECT_TRUE(write_file(root_ / "alice/proof.zka", Bytes{1, 2, 3}).ok());
  }
  ~InboxTest() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string answer(const std::string& sender, size_t max_bytes = 3) const {
    const auto bytes = Inbox::open(root_)->read(sender, "proof.zka", max_bytes);
    return bytes ? "read" : fmt::format("{}: {}", name(bytes.error().reason), bytes.error().detail);
  }
  void expect_refused(const std::string& sender, std::string_view part) const {
    const std::string got = answer(sender);
    EXPECT_TRUE(got.starts_with("file: ")) << got;
    EXPECT_NE(got.find(part), std::string::npos) << got;
    // Where the provider names the file itself, only the folders on the way are its own.
    if (!std::filesystem::is_symlink(root_ / sender)) {
      EXPECT_FALSE(read_handed_in(root_ / sender / "proof.zka", 3).ok());
    }
  }
  [[nodiscard]] Path folder_of(const std::string& sender) const {
    std::filesystem::create_directories(root_ / sender);
    return root_ / sender / "proof.zka";
  }

  Path root_ = Path(::testing::TempDir()) / fmt::format("zkapex-inbox-{}", ::getpid());
};

TEST_F(InboxTest, RegularFilesAreRead) {
  EXPECT_EQ(answer("alice"), "read");
  EXPECT_EQ(*read_handed_in(root_ / "alice/proof.zka", 3), (Bytes{1, 2, 3}));
  EXPECT_EQ(*Inbox::open(root_)->read("alice", "proof.zka", 3), (Bytes{1, 2, 3}));
}

TEST_F(InboxTest, WhatIsTooLongIsNotRead) {
  ASSERT_TRUE(answer("alice", 2).starts_with("length: "));
  const Path large = folder_of("mallory");
  EXPECT_TRUE(write_file(large, {}).ok());
  std::filesystem::resize_file(large, uint64_t{1} << 40);  // a hole: reading it would take all memory
  EXPECT_TRUE(answer("mallory").starts_with("length: "));
}

TEST_F(InboxTest, LinksAreNotFollowed) {
  std::filesystem::create_symlink("../alice/proof.zka", folder_of("bob"));
  expect_refused("bob", "symbolic link");
  std::filesystem::create_symlink("proof.zka", folder_of("itself"));
  expect_refused("itself", "symbolic link");
  std::filesystem::create_directory_symlink("alice", root_ / "folder");
  expect_refused("folder", "symbolic link");
}

TEST_F(InboxTest, PipesAndFoldersAreNotFiles) {
  ASSERT_EQ(::mkfifo(folder_of("pipe").c_str(), 0600), 0);
  expect_refused("pipe", "not a regular file");
  std::filesystem::create_directories(folder_of("nested"));
  expect_refused("nested", "not a regular file");
  (void)folder_of("empty");
  expect_refused("empty", "No such file");
  expect_refused("nobody", "No such file");
}

TEST_F(InboxTest, SendersAreFoldersAndLinksInOrder) {
  (void)folder_of("bob");
  std::filesystem::create_symlink("nowhere", root_ / "zoe");
  EXPECT_TRUE(write_file(root_ / "notes.txt", Bytes{1}).ok());
  EXPECT_EQ(*Inbox::open(root_)->senders(), (std::vector<std::string>{"alice", "bob", "zoe"}));
  EXPECT_FALSE(Inbox::open(root_ / "nowhere").ok());
}

// However a client cuts its proof, the file is no longer than that.
Parameters small_parameters() {
  return {.curvature_bits = 3,
          .weights = {.fraction_bits = 10, .width = 14},
          .floor = 3,
          .error = {.digits = 5, .places = 1},
          .cap_numerator = 64,
          .cap_denominator = 1};
}

TEST(InboxLimits, EveryCutFits) {
  const std::vector<TensorInfo> tensors = {
      {"a", Dtype::kF32, {200}}, {"b", Dtype::kF32, {90}}, {"c", Dtype::kF32, {9}}};
  const Parameters parameters = small_parameters();
  const auto made = Deployment::make(*Layout::make(tensors, {"a", "b"}, {.block = 4, .row = 64}), parameters);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Deployment& deployment = *made;
  Mask mask;
  mask.support = {7};
  const uint64_t rows = deployment.layout().rows();
  ASSERT_GT(rows, 3U);
  const size_t longest_registration = *longest_registration_file(deployment);
  for (uint64_t part = 1; part <= rows; ++part) {
    for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
      mask.op = op;
      const WindowPlan plan = *WindowPlan::make(deployment, mask, cut_rows(rows, part));
      ProofFile file;
      file.client = file.window = std::string(255, 'x');
      file.segmentation = plan.segmentation();
      file.proof.resize(plan.shape().bytes());
      EXPECT_LE(file.encode().size(), *longest_proof_file(deployment, mask));
    }
    RegistrationFile file;
    file.client = std::string(255, 'x');
    file.cut = cut_rows(rows, part);
    file.proof.resize(RegistrationPlan::make(deployment, file.cut)->shape().bytes());
    EXPECT_LE(file.encode().size(), longest_registration);
  }
}

// Where few rows have padding, a coarse cut makes a longer proof than the finest.
TEST(InboxLimits, OfALayoutWithLittlePadding) {
  for (const uint64_t every : {2U, 3U, 5U, 8U}) {
    std::vector<TensorInfo> tensors;
    for (size_t k = 0; k < 6; ++k) {
      tensors.push_back(
          {.name = fmt::format("w{}", k), .dtype = Dtype::kF32, .shape = {64 * every - (k % 2 == 0 ? 1 : 0)}});
    }
    const Deployment deployment =
        *Deployment::make(*Layout::make(tensors, {"w*"}, {.block = 4, .row = 64}), small_parameters());
    const uint64_t rows = deployment.layout().rows();
    const size_t longest = *longest_registration_file(deployment);
    for (uint64_t part = 1; part <= rows; ++part) {
      RegistrationFile file;
      file.cut = cut_rows(rows, part);
      file.proof.resize(RegistrationPlan::make(deployment, file.cut)->shape().bytes());
      EXPECT_LE(file.encode().size(), longest) << every << " " << part;
    }
  }
}

TEST(InboxLimits, OfUpdates) {
  const std::vector<TensorInfo> tensors = {{.name = "a", .dtype = Dtype::kF32, .shape = {70}},
                                           {.name = "b", .dtype = Dtype::kF32, .shape = {300}}};
  const Deployment deployment =
      *Deployment::make(*Layout::make(tensors, {"*"}, {.block = 4, .row = 64}), small_parameters());
  const uint64_t rows = deployment.layout().rows();
  Mask mask;
  mask.op = Operator::kGuided;
  mask.support = {1};
  GuideMaker maker(deployment, mask.support);
  for (uint64_t b = 0; b < deployment.layout().blocks(); ++b)
    ASSERT_TRUE(maker.add_block(std::vector<double>(deployment.layout().block(b).count, 0.1)).ok());
  mask.guidance =
      Guidance{.pull = 1, .progress = 100, .distance = 1000, .distance_removed = 1000, .guide = maker.finish()};
  UpdateTerms terms{.registration = {}, .start = {}, .current = {}, .windows = {}, .curvature = true};
  for (size_t windows = 0; windows < 12; ++windows) {
    for (uint64_t part = 1; part <= rows; ++part) {
      UpdateFile file;
      file.client = std::string(255, 'x');
      file.cut = cut_rows(rows, part);
      file.proof.resize(RegistrationPlan::make(deployment, file.cut, &terms)->shape().bytes());
      EXPECT_LE(file.encode().size(), *longest_update_file(deployment, windows)) << windows << " " << part;
    }
    terms.windows.push_back({&mask, {}});
  }
}

}  // namespace
}  // namespace zkapex
