// What a verifier compares before it looks at a proof, each with its typed reason.
#include "attestation/provider.h"

#include "attestation/client_testing.h"

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
    Registered registered = *world_->registered;
    ModelCommitment current = registered.model;
    Mask mask = world_->mask;
    ProofFile file = world_->proof;
    change(registered, current, mask, file);
    return answer(
        verify_window_file(world_->deployment, registered, current, mask, file, world_->generators, world_->pool));
  }
  template <class Change>
  static std::string registration(bool proved, const Change& change) {
    RegistrationFile file = world_->registration;
    change(file);
    return answer(open_registration(world_->deployment, file, proved, world_->generators, world_->pool));
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
  EXPECT_EQ(window([](auto&, auto&, Mask& mask, ProofFile& file) {
              mask.deployment[0] ^= 1;
              file.mask = mask.digest();
            }),
            "mask");
  EXPECT_EQ(window([](auto&, auto&, Mask& mask, ProofFile& file) {
              mask.support.push_back(25);  // the layout has 25 weights
              file.mask = mask.digest();
            }),
            "mask");
}

TEST_F(ProviderTest, AProofForAnotherMaskIsRefused) {
  EXPECT_EQ(window([](auto&, auto&, Mask& mask, auto&) { mask.nonce[0] ^= 1; }), "mask");
  EXPECT_EQ(window([](auto&, auto&, auto&, ProofFile& file) { file.mask[0] ^= 1; }), "mask");
  EXPECT_EQ(window([](auto&, auto&, auto&, ProofFile& file) { file.window = "w2"; }), "mask");
}

TEST_F(ProviderTest, AProofOfAnotherDeploymentIsRefused) {
  EXPECT_EQ(window([](auto&, auto&, auto&, ProofFile& file) { file.deployment[0] ^= 1; }), "deployment");
}

TEST_F(ProviderTest, AProofOfAnotherClientIsRefused) {
  EXPECT_EQ(window([](Registered& registered, auto&...) { registered.client = "bob"; }), "client");
}

TEST_F(ProviderTest, AProofUnderAnotherRegistrationIsRefused) {
  EXPECT_EQ(window([](auto&, auto&, auto&, ProofFile& file) { file.registration[0] ^= 1; }), "registration");
  EXPECT_EQ(window([](auto&, ModelCommitment& current, auto&, ProofFile& file) {
              current.registration[0] ^= 1;
              file.model = current.digest();
            }),
            "registration");
}

TEST_F(ProviderTest, AWindowIsAppliedOnce) {
  EXPECT_EQ(window([](auto&, ModelCommitment& current, auto&, ProofFile& file) {
              current.windows = {"w0", "w1"};
              file.model = current.digest();
            }),
            "window");
}

TEST_F(ProviderTest, AProofStartsFromTheCurrentModel) {
  EXPECT_EQ(window([](auto&, ModelCommitment& current, auto&...) { current.windows = {"w0"}; }), "model");
  // Even where the file is made to name it.
  EXPECT_EQ(window([](auto&, ModelCommitment& current, auto&, ProofFile& file) {
              current.rows[0] = world_->registered->curvature[0];
              file.model = current.digest();
            }),
            "equation");
}

TEST_F(ProviderTest, SegmentationsMustCoverEveryRowOnce) {
  for (const Segmentation& parts : {Segmentation{}, Segmentation{0}, Segmentation{2}, Segmentation{1, 1}}) {
    EXPECT_EQ(window([&](auto&, auto&, auto&, ProofFile& file) { file.segmentation = parts; }), "statement");
  }
}

// Also where the proof itself is taken to have been verified before.
TEST_F(ProviderTest, RegistrationsThatDoNotFitAreRefused) {
  for (const bool proved : {false, true}) {
    EXPECT_EQ(registration(proved, [](auto& file) { file.deployment[0] ^= 1; }), "deployment");
    EXPECT_EQ(registration(proved, [](auto& file) { file.cut.model.push_back(1); }), "statement");
    EXPECT_EQ(registration(proved, [](auto& file) { file.certificate = false; }), "statement");
    EXPECT_EQ(registration(proved, [](auto& file) { file.proof.pop_back(); }), "length");
    EXPECT_EQ(registration(proved, [](auto& file) { file.unchanged.pop_back(); }), "statement");
    EXPECT_EQ(registration(proved, [](auto& file) { file.curvature.push_back(file.unchanged[0]); }), "statement");
    EXPECT_EQ(registration(proved, [](auto& file) { file.unchanged[0] = {}; }), "point");
  }
  EXPECT_EQ(registration(true, [](auto& file) { file.client = "bob"; }), "equation");
}

// Bit rows that cancel, 1 + 2 − … = 0 with the weights of two's complement: a value row that is the identity.
TEST_F(ProviderTest, ValueRowsMustNotBeTheIdentity) {
  const auto with_rows = [](const auto& file, size_t width) {
    Bytes proof = file.proof;
    const Point base = world_->generators.blinding();
    const auto put = [&](size_t plane, const Point& row) {
      const EncodedPoint bytes = row.encode();
      std::copy(bytes.begin(), bytes.end(), proof.begin() + 8 + 32 * static_cast<ptrdiff_t>(plane));
    };
    for (size_t k = 0; k < width; ++k) put(k, base);  // Σ_{k < w−1} 2^k − 2^(w−1) = −1
    put(0, base + base);
    return proof;
  };
  EXPECT_EQ(registration(false, [&](auto& file) { file.proof = with_rows(file, 14); }), "point");
  ProofFile file = world_->proof;
  file.proof = with_rows(file, 14);
  EXPECT_EQ(answer(next_model(world_->deployment, world_->registered->model, world_->mask, file, world_->pool)),
            "point");
}

}  // namespace
}  // namespace zkapex
