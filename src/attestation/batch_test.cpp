// Several clients at once: each gets the answer that it would get alone.
#include "attestation/batch.h"

#include "attestation/client_testing.h"
#include "attestation/secret_file.h"

namespace zkapex {
namespace {

using testing::World;

class BatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    world_->enroll("bob", false);
    world_->enroll("carol", true, Operator::kMaskOnly);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }

  static Path at(const std::string& name) { return world_->folder / name; }
  static Submission of(const std::string& client) {
    return {at(client) / "registration.zka", at(client) / "proof.zka", {}};
  }
  static std::vector<std::string> answers(const std::vector<Submission>& submissions,
                                          const JudgeOptions& options = {}) {
    WorkSettings settings = world_->settings;
    const auto judgements = judge(world_->deployment, world_->mask, submissions, options, settings);
    EXPECT_TRUE(judgements.ok());
    std::vector<std::string> out;
    for (const Judgement& judgement : *judgements) {
      out.emplace_back(judgement.rejection ? name(judgement.rejection->reason) : "accepted");
      EXPECT_TRUE(!judgement.rejection || !judgement.next);
    }
    return out;
  }
  using Answers = std::vector<std::string>;
  static Path changed(const std::string& name, const Bytes& bytes) {
    EXPECT_TRUE(write_file(at(name), bytes, {.overwrite = true}).ok());
    return at(name);
  }

  static Submission with_false_proof(const std::string& client) {
    ProofFile proof = *read_public_file<ProofFile>(of(client).proof);
    proof.proof[proof.proof.size() - 32] ^= 1;
    Submission out = of(client);
    out.proof = changed("false-proof.zka", proof.encode());
    return out;
  }

  static World* world_;
};
World* BatchTest::world_ = nullptr;

TEST_F(BatchTest, TheOperatorIsTheProvidersChoice) {
  EXPECT_EQ(answers({of("alice"), of("bob"), of("carol")}), (Answers{"accepted", "accepted", "operator"}));
  EXPECT_EQ(answers({of("alice"), of("carol")}, {.op = Operator::kMaskOnly}), (Answers{"operator", "accepted"}));
}

TEST_F(BatchTest, TheCertificateMayBeRequired) {
  EXPECT_EQ(answers({of("alice"), of("bob")}, {.require_certificate = true}), (Answers{"accepted", "certificate"}));
}

TEST_F(BatchTest, ABadFileIsItsOwnClientsRejection) {
  Submission missing = of("bob"), damaged = of("bob"), mixed = of("bob");
  missing.proof = at("nothing.zka");
  damaged.registration = changed("damaged.zka", {1, 2, 3});
  mixed.proof = of("alice").proof;
  EXPECT_EQ(answers({missing, of("alice"), damaged, mixed}), (Answers{"file", "accepted", "file", "client"}));
}

TEST_F(BatchTest, FalseProofsAreNamed) {
  EXPECT_EQ(answers({of("alice"), with_false_proof("bob")}, {.want_next = true}), (Answers{"accepted", "equation"}));
}

// A client whose range proof does not hold goes on to prove a window honestly.
TEST_F(BatchTest, ASoundWindowDoesNotSaveAFalseRegistration) {
  world_->begin("mallory");
  RegistrationFile file = *read_public_file<RegistrationFile>(of("mallory").registration);
  file.proof[file.proof.size() - 32] ^= 1;
  changed("mallory/registration.zka", file.encode());
  {
    const OpenSecret state = *OpenSecret::open(at("mallory/secret.zka"), world_->deployment);
    ClientSecret secret = *read_secret_header(at("mallory/secret.zka"));
    secret.registration = file.digest();
    SecretWriter writer =
        *SecretWriter::create(at("mallory/secret.zka"), secret, world_->deployment.parameters().weights.width, true);
    std::vector<int64_t> weights(world_->deployment.layout().coordinates());
    ASSERT_TRUE(state.read(0, weights).ok());
    ASSERT_TRUE(writer.write(weights).ok());
    ASSERT_TRUE(writer.commit().ok());
  }
  ASSERT_TRUE(world_->apply("mallory").ok());
  EXPECT_EQ(answers({of("alice"), of("mallory")}), (Answers{"accepted", "equation"}));
  EXPECT_EQ(answers({of("alice"), of("mallory")}, {.assume_registered = true}), (Answers{"accepted", "accepted"}));
}

TEST_F(BatchTest, AModelCommitmentIsTheStartingPoint) {
  Submission submission = of("alice");
  submission.commitment = changed("commitment.zka", world_->registered->model.encode());
  EXPECT_EQ(answers({submission}), Answers{"accepted"});
  ModelCommitment later = world_->registered->model;
  later.windows = {"w1"};
  submission.commitment = changed("commitment.zka", later.encode());
  EXPECT_EQ(answers({submission}), Answers{"window"});
  submission.commitment = changed("commitment.zka", {});
  EXPECT_EQ(answers({submission}), Answers{"file"});
}

TEST_F(BatchTest, OneClientIsAcceptedOnce) {
  // Copies of public files do the client no harm.
  EXPECT_EQ(answers({of("alice"), of("bob"), of("alice")}, {.want_next = true}),
            (Answers{"accepted", "accepted", "client"}));
  // Two registrations in one name: which of them is the client is not decided here.
  std::filesystem::rename(at("alice"), at("first"));
  world_->enroll("alice");
  EXPECT_EQ(answers({of("first"), of("bob"), of("alice")}, {.want_next = true}),
            (Answers{"client", "accepted", "client"}));
  std::filesystem::remove_all(at("alice"));
  std::filesystem::rename(at("first"), at("alice"));
}

TEST_F(BatchTest, SumsAreSettledInPartsWhereMemoryIsShort) {
  WorkSettings& settings = world_->settings;
  const uint64_t memory = settings.memory;
  settings.memory = 1;
  EXPECT_EQ(answers({with_false_proof("bob"), of("alice"), of("bob")}), (Answers{"equation", "accepted", "accepted"}));
  settings.memory = memory;
}

}  // namespace
}  // namespace zkapex
