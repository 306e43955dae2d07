// Several clients at once: each gets the answer that it would get alone.
#include "parties/judge.h"

#include "parties/admission.h"
#include "parties/client_testing.h"
#include "parties/ledger.h"

namespace zkapex {
namespace {

using testing::World;

class JudgeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    world_->enroll("bob");
    world_->enroll("carol", Operator::kMaskOnly);
    world_->enroll("dave", Operator::kGuided);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  // A ledger in which all of them are registered and nobody has done a window.
  JudgeTest() : ledger_(new_ledger()) {
    for (const char* client : {"alice", "bob", "carol", "dave"}) {
      const auto admission =
          admit(ledger_, &world_->base, *read_file(at(client) / "registration.zka", kMaxPublicFile), work());
      EXPECT_TRUE(admission.ok() && !admission->rejection) << client;
    }
  }

  static Ledger new_ledger() {
    std::filesystem::remove_all(at("ledger"));
    return *Ledger::open_or_create(at("ledger"), world_->deployment);
  }
  static const WorkSettings& work() { return world_->settings; }
  static Path at(const std::string& name) { return world_->folder / name; }
  static Submission of(const std::string& client) {
    return [client]() -> Result<Bytes, Rejection> { return *read_file(at(client) / "proof.zka", kMaxPublicFile); };
  }
  static Submission bytes(const Bytes& file) {
    return [file]() -> Result<Bytes, Rejection> { return file; };
  }
  static Submission with_false_proof(const std::string& client) {
    ProofFile proof = *read_public_file<ProofFile>(at(client) / "proof.zka");
    proof.proof[proof.proof.size() - 32] ^= 1;
    return bytes(proof.encode());
  }

  using Answers = std::vector<std::string>;
  Answers answers(const std::vector<Submission>& submissions, Operator op = Operator::kGroupObs) {
    Mask mask = world_->mask;
    mask.op = op;
    if (op == Operator::kGuided) mask.guidance = world_->some_guidance(0.1);
    judgements_ = *judge(ledger_, mask, submissions, work());
    Answers out;
    for (const Judgement& judgement : judgements_) {
      out.emplace_back(judgement.rejection ? name(judgement.rejection->reason) : "accepted");
      EXPECT_EQ(judgement.rejection.has_value(), !judgement.next.has_value());
    }
    return out;
  }

  static World* world_;
  Ledger ledger_;
  std::vector<Judgement> judgements_;
};
World* JudgeTest::world_ = nullptr;

TEST_F(JudgeTest, TheOperatorIsTheProvidersChoice) {
  EXPECT_EQ(answers({of("alice"), of("bob"), of("carol")}), (Answers{"accepted", "accepted", "mask"}));
  EXPECT_EQ(answers({of("alice"), of("carol")}, Operator::kMaskOnly), (Answers{"mask", "accepted"}));
  EXPECT_EQ(answers({of("dave"), of("bob")}, Operator::kGuided), (Answers{"accepted", "mask"}));
}

TEST_F(JudgeTest, ABadFileIsItsOwnClientsRejection) {
  const Submission late = []() -> Result<Bytes, Rejection> { return Rejection{Reason::kLength, "too long"}; };
  EXPECT_EQ(answers({bytes({}), of("alice"), bytes({1, 2, 3}), late}), (Answers{"file", "accepted", "file", "length"}));
}

TEST_F(JudgeTest, FalseProofsAreNamed) {
  EXPECT_EQ(answers({of("alice"), with_false_proof("bob")}), (Answers{"accepted", "equation"}));
}

TEST_F(JudgeTest, WhoWasNotAdmittedIsRejected) {
  world_->enroll("dora");
  EXPECT_EQ(answers({of("dora")}), Answers{"registration"});
  EXPECT_FALSE(judgements_[0].registration);
  // Nor does a registration count that is not the one in the ledger, whatever it says.
  ProofFile proof = *read_public_file<ProofFile>(at("dora") / "proof.zka");
  proof.client = "alice";
  EXPECT_EQ(answers({bytes(proof.encode())}), Answers{"registration"});
  EXPECT_EQ(*judgements_[0].registration, world_->registration.digest());
}

TEST_F(JudgeTest, JudgementsNameWhatTheyRestOn) {
  const Bytes file = *read_file(at("alice") / "proof.zka", kMaxPublicFile);
  ASSERT_EQ(answers({of("alice")}), Answers{"accepted"});
  const Judgement& judgement = judgements_[0];
  EXPECT_EQ(judgement.client, "alice");
  EXPECT_EQ(*judgement.registration, world_->registration.digest());
  EXPECT_EQ(*judgement.start, world_->registered->model.digest());
  EXPECT_EQ(judgement.proof, sha256(file));
  EXPECT_EQ(judgement.proof_bytes, file.size());
  EXPECT_EQ(judgement.next->windows, (History{{"w1", world_->mask.digest()}}));
}

TEST_F(JudgeTest, OneModelHasOneSuccessor) {
  std::filesystem::copy(at("alice") / "proof.zka", at("first-proof.zka"));
  const Submission first = [] { return Result<Bytes, Rejection>(*read_file(at("first-proof.zka"), kMaxPublicFile)); };
  // In one batch, where public files can be copied too,
  EXPECT_EQ(answers({of("alice"), of("bob"), first}), (Answers{"accepted", "accepted", "window"}));
  ASSERT_TRUE(record(ledger_, world_->mask, judgements_).ok());
  EXPECT_EQ((*ledger_.find("alice"))->current.digest(), judgements_[0].next->digest());
  // and in calls of their own.
  EXPECT_EQ(answers({first, of("alice")}), (Answers{"window", "window"}));
  Mask other = world_->mask;
  other.window = "w1 again";
  EXPECT_EQ(name((*judge(ledger_, other, std::vector{of("alice")}, work()))[0].rejection->reason), "mask");
}

TEST_F(JudgeTest, AWindowHasOneRequest) {
  Mask other = world_->mask;
  other.support.pop_back();
  ASSERT_TRUE(*ledger_.publish(world_->mask));
  const auto name = at("ledger/windows/w1");
  EXPECT_EQ(
      ledger_.publish(other).error().message,
      fmt::format("another request was published for the window \"w1\" ({} says which): give this one a name that "
                  "was never used",
                  name.string()));
  other.window = "w2";
  EXPECT_TRUE(*ledger_.publish(other));
  // A run that ended between the name and the number is made good.
  std::filesystem::remove(at("ledger/published") / to_hex(world_->mask.digest()));
  EXPECT_TRUE(*ledger_.publish(world_->mask));
  EXPECT_FALSE(*ledger_.publish(world_->mask));
  // So is a name that is lost.
  std::filesystem::remove(name);
  EXPECT_FALSE(*ledger_.publish(world_->mask));
  EXPECT_TRUE(std::filesystem::exists(name));
}

TEST_F(JudgeTest, AModelComesBeforeTheRequest) {
  Mask other = world_->mask;
  other.window = "w0";
  ASSERT_TRUE(*ledger_.publish(other));
  EXPECT_FALSE(*ledger_.publish(other));
  EXPECT_EQ(answers({of("alice")}), Answers{"accepted"}) << "of a request that is not published";
  ASSERT_TRUE(*ledger_.publish(world_->mask));
  EXPECT_EQ(answers({of("alice")}), Answers{"accepted"});
  // Registered when the request was there, among others.
  ASSERT_TRUE(
      write_file(at("ledger/clients/alice/admitted") / std::string(64, '0'), view("2\n"), {.overwrite = true}).ok());
  EXPECT_EQ(answers({of("alice"), of("bob")}), (Answers{"order", "accepted"}));
  EXPECT_FALSE(judgements_[0].next);
  for (const std::string_view damaged : {"", "2", "x\n", "2 \n", "99999999999999999999\n"}) {
    ASSERT_TRUE(
        write_file(at("ledger/clients/alice/admitted") / std::string(64, '0'), view(damaged), {.overwrite = true})
            .ok());
    EXPECT_FALSE(judge(ledger_, world_->mask, std::vector{of("alice")}, work()).ok()) << damaged;
  }
}

TEST_F(JudgeTest, WhatIsRejectedIsNotRecorded) {
  const Sha256::Digest before = (*ledger_.find("alice"))->current.digest();
  EXPECT_EQ(answers({with_false_proof("alice")}), Answers{"equation"});
  ASSERT_TRUE(record(ledger_, world_->mask, judgements_).ok());
  EXPECT_EQ((*ledger_.find("alice"))->current.digest(), before);
}

TEST_F(JudgeTest, ALedgerThatCannotBeReadIsAnError) {
  ASSERT_TRUE(write_file(at("ledger/clients/alice/registered.zka"), Bytes{1}, {.overwrite = true}).ok());
  EXPECT_FALSE(judge(ledger_, world_->mask, std::vector{of("alice")}, work()).ok());
}

TEST_F(JudgeTest, SumsAreSettledInPartsWhereMemoryIsShort) {
  WorkSettings& settings = world_->settings;
  const std::optional<uint64_t> memory = settings.memory;
  settings.memory = 1;
  EXPECT_EQ(answers({with_false_proof("bob"), of("alice"), of("bob")}), (Answers{"equation", "accepted", "accepted"}));
  settings.memory = memory;
}

}  // namespace
}  // namespace zkapex
