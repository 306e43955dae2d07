// What a verifier compares before it looks at a proof, each with its typed reason.
#include "parties/provider.h"

#include "parties/client_testing.h"

namespace zkapex {
namespace {

using testing::World;

class ProviderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }

  template <class Value>
  static std::string answer(const Result<Value, Rejection>& result) {
    return result.ok() ? "accepted" : std::string(name(result.error().reason));
  }
  // Of the window, from another point of view of the verifier.
  template <class Change>
  static std::string window(const Change& change) {
    ClientRecord client{*world_->registered, world_->registered->model, {}};
    Mask mask = world_->mask;
    ProofFile file = world_->proof;
    change(client, mask, file);
    return answer(verify_window_file(world_->deployment, client, mask, file, world_->generators, world_->pool));
  }
  template <class Change>
  static std::string registration(bool proved, const Change& change) {
    RegistrationFile file = world_->registration;
    change(file);
    if (!proved) return answer(assume_registration(world_->deployment, file));
    return answer(verify_registration_file(world_->deployment, &world_->base, file, world_->generators, world_->pool));
  }

  static World* world_;
};
World* ProviderTest::world_ = nullptr;

TEST_F(ProviderTest, HonestFilesAreAccepted) {
  EXPECT_EQ(window([](auto&...) {}), "accepted");
  EXPECT_EQ(registration(true, [](auto&) {}), "accepted");
  EXPECT_EQ(registration(false, [](auto&) {}), "accepted");
}

TEST_F(ProviderTest, AMaskOfAnotherDeploymentIsRefused) {
  EXPECT_EQ(window([](auto&, Mask& mask, ProofFile& file) {
              mask.deployment[0] ^= 1;
              file.mask = mask.digest();
            }),
            "mask");
  EXPECT_EQ(window([](auto&, Mask& mask, ProofFile& file) {
              mask.support.push_back(25);  // the layout has 25 weights
              file.mask = mask.digest();
            }),
            "mask");
}

TEST_F(ProviderTest, AProofForAnotherMaskIsRefused) {
  EXPECT_EQ(window([](auto&, Mask& mask, auto&) { mask.nonce[0] ^= 1; }), "mask");
  EXPECT_EQ(window([](auto&, auto&, ProofFile& file) { file.mask[0] ^= 1; }), "mask");
  EXPECT_EQ(window([](auto&, auto&, ProofFile& file) { file.window = "w2"; }), "mask");
}

TEST_F(ProviderTest, AProofOfAnotherDeploymentIsRefused) {
  EXPECT_EQ(window([](auto&, auto&, ProofFile& file) { file.deployment[0] ^= 1; }), "deployment");
}

TEST_F(ProviderTest, AProofOfAnotherClientIsRefused) {
  EXPECT_EQ(window([](ClientRecord& client, auto&...) { client.registered.client = "bob"; }), "client");
}

TEST_F(ProviderTest, AProofUnderAnotherRegistrationIsRefused) {
  EXPECT_EQ(window([](auto&, auto&, ProofFile& file) { file.registration[0] ^= 1; }), "registration");
  EXPECT_EQ(window([](ClientRecord& client, auto&, ProofFile& file) {
              client.current.registration[0] ^= 1;
              file.model = client.current.digest();
            }),
            "registration");
}

// A client whose history the verifier believes, and whose proof is made to name it.
void name_history(ClientRecord& client, const Mask& last, const History& windows, ProofFile& file) {
  client.current.windows = windows;
  client.last_mask = last;
  file.model = client.current.digest();
}

TEST_F(ProviderTest, AWindowIsAppliedOnce) {
  EXPECT_EQ(window([](ClientRecord& client, Mask& mask, ProofFile& file) {
              name_history(client, mask, {{"w0", {}}, {"w1", mask.digest()}}, file);
            }),
            "window");
}

// What is longer could not be read again, by whoever has the ledger.
TEST_F(ProviderTest, AHistoryHasRoomForSoManyWindows) {
  const auto after = [](size_t windows) {
    return window([&](ClientRecord& client, Mask& mask, ProofFile& file) {
      name_history(client, mask, History(windows, {"w0", {}}), file);
    });
  };
  EXPECT_EQ(after(kMaxWindows), "window");
  EXPECT_EQ(after(kMaxWindows - 1), "mask");  // what follows is looked at: the last mask is not known
}

TEST_F(ProviderTest, AMaskContainsTheOneBefore) {
  const auto with_last = [](std::vector<uint64_t> support, bool known) {
    return window([&](ClientRecord& client, Mask& mask, ProofFile& file) {
      Mask last = mask;
      last.support = support;
      name_history(client, last, {{"w0", last.digest()}}, file);
      if (!known) client.last_mask.reset();
    });
  };
  EXPECT_EQ(with_last({0, 7}, true), "equation");  // comes as far as the proof, which starts from another history
  EXPECT_EQ(with_last({0, 6}, true), "mask");
  EXPECT_EQ(with_last({0, 7}, false), "mask");
  EXPECT_EQ(window([](ClientRecord& client, Mask& mask, ProofFile& file) {
              name_history(client, mask, {{"w0", {}}}, file);  // not the mask that the history names
            }),
            "mask");
}

TEST_F(ProviderTest, AProofStartsFromTheCurrentModel) {
  EXPECT_EQ(window([](ClientRecord& client, Mask& mask, auto&) {
              client.current.windows = {{"w0", mask.digest()}};
              client.last_mask = mask;
            }),
            "model");
  // Even where the file is made to name it.
  EXPECT_EQ(window([](ClientRecord& client, auto&, ProofFile& file) {
              client.current.rows[0] = client.registered.model.rows[0] = client.registered.curvature[0];
              file.model = client.current.digest();
            }),
            "equation");
}

// The same rows under another history are another start, and the transcript says so.
TEST_F(ProviderTest, AProofIsBoundToTheHistory) {
  EXPECT_EQ(window([](ClientRecord& client, Mask& mask, ProofFile& file) {
              name_history(client, mask, {{"w0", mask.digest()}}, file);
            }),
            "equation");
}

TEST_F(ProviderTest, AModelWithoutWindowsIsTheRegisteredOne) {
  EXPECT_EQ(window([](ClientRecord& client, auto&, ProofFile& file) {
              client.current.rows[0] = client.registered.curvature[0];
              file.model = client.current.digest();
            }),
            "model");
}

TEST_F(ProviderTest, SegmentationsMustCoverEveryRowOnce) {
  for (const Segmentation& parts : {Segmentation{}, Segmentation{0}, Segmentation{2}, Segmentation{1, 1}}) {
    EXPECT_EQ(window([&](auto&, auto&, ProofFile& file) { file.segmentation = parts; }), "statement");
  }
}

// Also where the proof itself is taken to have been verified before.
TEST_F(ProviderTest, RegistrationsThatDoNotFitAreRefused) {
  for (const bool proved : {false, true}) {
    EXPECT_EQ(registration(proved, [](auto& file) { file.deployment[0] ^= 1; }), "deployment");
    EXPECT_EQ(registration(proved, [](auto& file) { file.cut.push_back(1); }), "statement");
    EXPECT_EQ(registration(proved, [](auto& file) { file.proof.pop_back(); }), "length");
  }
  EXPECT_EQ(registration(true, [](auto& file) { file.proof[8] ^= 1; }), "point");
  EXPECT_EQ(registration(true, [](auto& file) { file.client = "bob"; }), "equation");
}

// The next window would have nothing to start from.
TEST_F(ProviderTest, RowsOfTheNewModelMustNotBeTheIdentity) {
  EXPECT_EQ(window([&](auto&, auto&, ProofFile& file) { std::fill_n(file.proof.begin() + 8, 32, uint8_t{0}); }),
            "point");
}

}  // namespace
}  // namespace zkapex
