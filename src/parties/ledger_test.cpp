// What a provider keeps: entries that nobody but a verified file makes, and that move on once.
#include "parties/ledger.h"

#include "parties/admission.h"
#include "parties/client_testing.h"

namespace zkapex {
namespace {

using testing::World;

class LedgerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override { std::filesystem::remove_all(folder()); }

  static Path folder() { return world_->folder / "ledger"; }
  static Ledger ledger() { return *Ledger::open_or_create(folder(), world_->deployment); }
  static std::string answer(const Ledger& ledger, const Result<Bytes, Rejection>& file) {
    const Result<Admission> admission = admit(ledger, &world_->base, file, world_->settings);
    if (!admission) return "error: " + admission.error().message;
    if (admission->rejection) return std::string(name(admission->rejection->reason));
    return admission->known ? "known" : "admitted";
  }
  static Bytes registration(const std::string& client = "alice") {
    return *read_file(world_->folder / client / "registration.zka", kMaxPublicFile);
  }
  static ModelCommitment next() {
    const ClientRecord alice{*world_->registered, world_->registered->model, {}};
    return check_window_file(world_->deployment, alice, world_->mask, world_->proof, world_->pool)->next;
  }

  // Nothing where there is no entry, and after a failure.
  static std::optional<ClientRecord> record(const Ledger& ledger, const std::string& client) {
    const auto found = ledger.find(client);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *found : std::nullopt;
  }

  static World* world_;
};
World* LedgerTest::world_ = nullptr;

TEST_F(LedgerTest, AVerifiedRegistrationIsFoundAgain) {
  const Ledger made = ledger();
  EXPECT_FALSE(made.find("alice")->has_value());
  EXPECT_EQ(answer(made, registration()), "admitted");
  const ClientRecord found = **made.find("alice");
  EXPECT_EQ(found.registered.digest, world_->registration.digest());
  EXPECT_EQ(found.registered.encode(), world_->registered->encode());
  EXPECT_EQ(found.current.encode(), world_->registered->model.encode());
  EXPECT_FALSE(found.last_mask);
  EXPECT_FALSE(made.find("bob")->has_value());
}

TEST_F(LedgerTest, ANameIsTakenByItsFirstRegistration) {
  const Ledger made = ledger();
  EXPECT_EQ(answer(made, registration()), "admitted");
  EXPECT_EQ(answer(made, registration()), "known");
  std::filesystem::rename(world_->folder / "alice", world_->folder / "first");
  world_->begin("alice");
  EXPECT_EQ(answer(made, registration()), "client");
  std::filesystem::remove_all(world_->folder / "alice");
  std::filesystem::rename(world_->folder / "first", world_->folder / "alice");
  const auto found = record(made, "alice");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->registered.digest, world_->registration.digest());
}

TEST_F(LedgerTest, NothingIsAddedThatWasNotVerified) {
  const Ledger made = ledger();
  RegistrationFile file = world_->registration;
  file.proof[file.proof.size() - 32] ^= 1;
  EXPECT_EQ(answer(made, file.encode()), "equation");
  file = world_->registration;
  file.deployment[0] ^= 1;
  EXPECT_EQ(answer(made, file.encode()), "deployment");
  EXPECT_EQ(answer(made, Bytes{1, 2, 3}), "file");
  EXPECT_EQ(answer(made, Rejection{Reason::kLength, "too long"}), "length");
  EXPECT_FALSE(made.find("alice")->has_value());
}

TEST_F(LedgerTest, AClientMovesOn) {
  const Ledger made = ledger();
  ASSERT_EQ(answer(made, registration()), "admitted");
  ASSERT_TRUE(made.advance("alice", world_->mask, next()).ok());
  const auto found = record(made, "alice");
  ASSERT_TRUE(found && found->last_mask);
  EXPECT_EQ(found->current.encode(), next().encode());
  EXPECT_EQ(*found->last_mask, world_->mask);
  // The registration that it came with is still known, and does not set it back.
  EXPECT_EQ(answer(made, registration()), "known");
  EXPECT_EQ((*made.find("alice"))->current.encode(), next().encode());
}

TEST_F(LedgerTest, AnEntryBegunAndNotFinishedIsMadeAnew) {
  const Ledger made = ledger();
  ASSERT_EQ(answer(made, registration()), "admitted");
  ASSERT_TRUE(write_file(folder() / "clients/alice/registered.zka", Bytes{1}, {.overwrite = true}).ok());
  EXPECT_FALSE(made.find("alice").ok());  // damaged: said, not passed over
  std::filesystem::remove(folder() / "clients/alice/model.zka");
  EXPECT_FALSE(record(made, "alice"));
  EXPECT_EQ(answer(made, registration()), "admitted");
  EXPECT_TRUE(record(made, "alice"));
}

// What a first admission left that was killed does not keep the folder from becoming a ledger.
TEST_F(LedgerTest, IsMadeWhereMakingItWasCutShort) {
  std::filesystem::create_directories(folder() / "clients");
  ASSERT_TRUE(write_file(folder() / "x", Bytes{1}).ok());
  EXPECT_FALSE(Ledger::open_or_create(folder(), world_->deployment).ok());
  std::filesystem::rename(folder() / "x", folder() / "deployment.zka.tmp-0123456789abcdef");
  EXPECT_TRUE(Ledger::open_or_create(folder(), world_->deployment).ok());
}

TEST_F(LedgerTest, AModelOfAnotherRegistrationIsAnError) {
  const Ledger made = ledger();
  ASSERT_EQ(answer(made, registration()), "admitted");
  ModelCommitment other = world_->registered->model;
  other.registration[0] ^= 1;
  ASSERT_TRUE(write_file(folder() / "clients/alice/model.zka", other.encode(), {.overwrite = true}).ok());
  EXPECT_FALSE(made.find("alice").ok());
}

TEST_F(LedgerTest, EntriesAreOfTheirClientAndDeployment) {
  {
    const Ledger made = ledger();
    ASSERT_EQ(answer(made, registration()), "admitted");
    std::filesystem::rename(folder() / "clients/alice", folder() / "clients/bob");
    EXPECT_FALSE(made.find("bob").ok());
  }
  Parameters other = world_->deployment.parameters();
  other.floor += 1;
  const Deployment deployment = *Deployment::make(world_->deployment.layout(), other);
  const auto opened = Ledger::open_or_create(folder(), deployment);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("another deployment"), std::string::npos);
}

TEST_F(LedgerTest, OneCommandAtATimeAndOnlyInAFolderOfItsOwn) {
  EXPECT_FALSE(Ledger::open(folder()).ok());
  {
    const Ledger made = ledger();
    EXPECT_FALSE(Ledger::open(folder()).ok());
  }
  EXPECT_TRUE(Ledger::open(folder()).ok());
  std::filesystem::create_directories(world_->folder / "full");
  ASSERT_TRUE(write_file(world_->folder / "full/notes", Bytes{1}).ok());
  EXPECT_FALSE(Ledger::open_or_create(world_->folder / "full", world_->deployment).ok());
}

}  // namespace
}  // namespace zkapex
