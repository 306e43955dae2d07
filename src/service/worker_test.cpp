// From what clients hand in to signed verdicts.
#include "service/worker.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "parties/settle.h"
#include "parties/unlearn.h"
#include "parties/update.h"
#include "service/retention.h"
#include "service/worker_testing.h"

namespace zkapex {
namespace {

using testing::kAnna;
using testing::kBert;
using testing::kCara;
using testing::refusal;
using testing::WatchedBlobs;
using testing::WorkerFixture;

class WorkerTest : public WorkerFixture {
 protected:
  void follow_a_client_that_learns_on();
};
ZKAPEX_ON_BOTH_ENGINES(WorkerTest);

TEST_P(WorkerTest, GivesEachClientItsOwnVerdict) {
  begin();
  const Digest good = deliver(DeliveryKind::kSubmission, kAnna, file_of(kAnna, "proof.zka"), "w1");
  const Digest lie = deliver(DeliveryKind::kSubmission, kBert, false_proof(kBert), "w1");
  const Digest stolen = deliver(DeliveryKind::kSubmission, kCara, file_of(kBert, "proof.zka"), "w1");
  now_ = 20;
  work();
  EXPECT_EQ(verdict(good), "accepted");
  EXPECT_EQ(verdict(lie), "equation");
  EXPECT_EQ(verdict(stolen), "client");

  const VerdictNotice passed = statement(good), failed = statement(lie);
  const auto models = *store_.models(kAnna);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_TRUE(passed.passed());
  EXPECT_EQ(passed.id, good);
  EXPECT_EQ(passed.client, kAnna);
  EXPECT_EQ(passed.deployment, world_->deployment.digest());
  EXPECT_EQ(passed.starts_from, models[0].commitment);
  EXPECT_EQ(passed.leads_to->commitment, models[1].commitment);
  EXPECT_EQ(passed.leads_to->file.sha256, models[1].model.sha256);
  EXPECT_EQ(passed.window, "w1");
  EXPECT_EQ(passed.mask, world_->mask.digest());
  EXPECT_EQ(passed.op, Operator::kGroupObs);
  EXPECT_EQ(passed.certified_error, world_->deployment.parameters().error.text());
  EXPECT_EQ(passed.submission, (*store_.delivery(good))->index);
  EXPECT_EQ(passed.window_index, (*store_.window("w1"))->index);
  EXPECT_EQ(passed.received, 10);
  EXPECT_EQ(passed.time, 20);
  EXPECT_EQ(failed.rejection->reason, Reason::kEquation);
  EXPECT_EQ(failed.starts_from, store_.models(kBert)->front().commitment);
  const ClientRecord record = record_of(kAnna);
  EXPECT_EQ(passed.registration, record.registered.digest);
  EXPECT_EQ(record.current.windows, (History{{"w1", world_->mask.digest()}}));
  EXPECT_EQ(*record.last_mask, world_->mask);

  // Who was rejected may try again, and who was accepted is done.
  const Digest again = deliver(DeliveryKind::kSubmission, kBert, file_of(kBert, "proof.zka"), "w1");
  work();
  EXPECT_EQ(verdict(again), "accepted");
  EXPECT_EQ(store_.models(kBert)->size(), 2U);
  EXPECT_EQ(store_.models(kCara)->size(), 1U);
}

TEST_P(WorkerTest, AdmitsRegistrationsThatHold) {
  for (const std::string& client : {kAnna, kBert}) enrol(store_, client);
  const Digest stolen = deliver(DeliveryKind::kRegistration, kAnna, file_of(kBert, "registration.zka"));
  const Digest garbage = deliver(DeliveryKind::kRegistration, kBert, Bytes{1, 2, 3});
  work();
  EXPECT_EQ(verdict(stolen), "client");
  EXPECT_EQ(verdict(garbage), "file");
  EXPECT_EQ(statement(garbage).of, StatementKind::kRegistration);
  const Digest right = deliver(DeliveryKind::kRegistration, kAnna, file_of(kAnna, "registration.zka"));
  work();
  EXPECT_EQ(verdict(right), "accepted");
  EXPECT_EQ(statement(right).registration,
            read_public_file<RegistrationFile>(world_->folder / kAnna / "registration.zka")->digest());
  EXPECT_EQ(statement(right).leads_to->commitment, store_.models(kAnna)->front().commitment);
}

// A guided window and then an update, whose verdict rests on the model before the window.
void WorkerTest::follow_a_client_that_learns_on() {
  const std::string dora(32, 'd');
  const Path at = world_->folder / dora, out = folder_ / "out";
  std::filesystem::remove_all(at);
  std::filesystem::create_directories(out);
  world_->begin(dora);
  enrol(store_, dora);
  deliver(DeliveryKind::kRegistration, dora, file_of(dora, "registration.zka"));
  work();
  Mask mask = world_->mask;
  mask.window = "g1";
  mask.op = Operator::kGuided;
  mask.guidance = world_->some_guidance(0.1);
  ASSERT_TRUE(write_file(out / "g1.zka", mask.serialize()).ok());
  publish(mask);
  const auto done = unlearn({.client = at,
                             .mask = out / "g1.zka",
                             .model_out = out / "a.safetensors",
                             .proof_out = out / "a.zka",
                             .model = {},
                             .store = {}},
                            world_->settings);
  ASSERT_TRUE(done.ok()) << refusal(done);
  const Digest window = deliver(DeliveryKind::kSubmission, dora, *read_file(out / "a.zka", kMaxPublicFile), "g1");
  work();
  ASSERT_EQ(verdict(window), "accepted");
  ASSERT_TRUE(settle({.client = at, .accepted = true, .window = "", .proof = {}, .all = true}).ok());

  const OpenSecret state = *OpenSecret::open(at / "secret.zka", world_->deployment);
  std::vector<int64_t> integers(world_->deployment.layout().coordinates());
  ASSERT_TRUE(state.read(0, integers).ok());
  std::vector<double> weights;
  for (const int64_t v : integers) weights.push_back(static_cast<double>(v) / 1024);
  world_->write_model("learned.safetensors", weights, {1, 2, 2.9375});
  const auto updated = update({.client = at,
                               .model = world_->folder / "learned.safetensors",
                               .store = {},
                               .base = world_->base_file(),
                               .out = out / "u.zka"},
                              world_->settings);
  ASSERT_TRUE(updated.ok()) << refusal(updated);
  const Bytes file = *read_file(out / "u.zka", kMaxPublicFile);
  const Digest first = deliver(DeliveryKind::kUpdate, dora, file);
  work();
  EXPECT_EQ(verdict(first), "accepted");
  EXPECT_EQ(store_.models(dora)->size(), 3U);
  ASSERT_TRUE(settle_update({.client = at, .accepted = true, .update = out / "u.zka"}).ok());
  // A statement about another update than the file; then the same file under another statement, which is no second one.
  const Slant<UpdateNotice> other = [](UpdateNotice& notice) { notice.update[0] ^= 1; };
  const Digest another = deliver_as(DeliveryKind::kUpdate, dora, file, "", said(dora, file, other));
  work();
  EXPECT_EQ(verdict(another), "file");
  const Slant<UpdateNotice> richer = [](UpdateNotice& notice) { notice.curvature = !notice.curvature; };
  const Digest claimed = deliver_as(DeliveryKind::kUpdate, dora, file, "", said(dora, file, richer));
  work();
  EXPECT_EQ(verdict(claimed), "file");
  Bytes payload = said<UpdateNotice>(dora, file, {});
  payload.insert(payload.end() - 1, ' ');
  const Digest again = deliver_as(DeliveryKind::kUpdate, dora, file, "", payload);
  work();
  EXPECT_EQ(verdict(again), "model");
  EXPECT_EQ(store_.models(dora)->size(), 3U);
}

TEST_P(WorkerTest, FollowsAClientThatLearnsOn) {
  follow_a_client_that_learns_on();
  const ClientRecord record = record_of(std::string(32, 'd'));
  EXPECT_NE(record.current.update, Digest{});
  EXPECT_EQ(record.current.update, record.registered.model.update);
}

// The same where the client keeps the files: two for the window, three for each update, which also rests on the model
// before the window.
TEST_P(WorkerTest, FollowsAClientThatCarriesItsState) {
  carried_ = true;
  follow_a_client_that_learns_on();
  EXPECT_EQ(brought_, 2 + 4 * 3);
  for (int round = 0; round < 20; ++round) ASSERT_TRUE(remove_expired(store_, *blobs_, 90, [] { return 10; }).ok());
  const std::vector<ModelState> models = *store_.models(std::string(32, 'd'));
  for (const ModelState& model : models) {
    EXPECT_FALSE(*blobs_->has(model.model));
    EXPECT_FALSE(*blobs_->has(model.record));
  }
}

// Whoever holds a verdict against its statement finds the same in both, whatever the client signed.
TEST_P(WorkerTest, AVerdictRepeatsWhatWasSigned) {
  begin();
  const Bytes file = file_of(kAnna, "proof.zka");
  const Digest other{7};
  const Slant<SubmissionNotice> elsewhere = [&](SubmissionNotice& notice) { notice.registration = other; };
  const Digest first = deliver_as(DeliveryKind::kSubmission, kAnna, file, "w1", said(kAnna, file, elsewhere));
  work();
  EXPECT_EQ(verdict(first), "registration");
  EXPECT_EQ(statement(first).registration, other);
  const Slant<SubmissionNotice> stale = [&](SubmissionNotice& notice) { notice.starts_from = other; };
  const Digest second = deliver_as(DeliveryKind::kSubmission, kAnna, file, "w1", said(kAnna, file, stale));
  work();
  EXPECT_EQ(verdict(second), "model");
  EXPECT_EQ(statement(second).starts_from, other);
  EXPECT_EQ(store_.models(kAnna)->size(), 1U);
}

TEST_P(WorkerTest, AFaultOfTheProvidersIsNoRejection) {
  begin();
  const Bytes file = file_of(kAnna, "proof.zka");
  const Digest lost = deliver(DeliveryKind::kSubmission, kAnna, file, "w1");
  const Digest fine = deliver(DeliveryKind::kSubmission, kBert, file_of(kBert, "proof.zka"), "w1");
  const std::string hex = to_hex(sha256(file));
  const Path path = folder_ / "blobs/sha256" / hex.substr(0, 2) / hex.substr(2, 2) / hex;
  std::filesystem::remove(path);
  work();
  EXPECT_EQ(verdict(lost), "none");
  EXPECT_EQ(verdict(fine), "accepted");
  ASSERT_TRUE(put_blob(*blobs_, file).ok());
  now_ += 5;
  work();
  EXPECT_EQ(verdict(lost), "accepted");
  // Nor are records that cannot be read a reason to reject.
  const Digest waits = deliver(DeliveryKind::kSubmission, kCara, file_of(kCara, "proof.zka"), "w1");
  const BlobName model = store_.models(kCara)->front().model;
  const std::string name = to_hex(model.sha256);
  const Path record = folder_ / "blobs/sha256" / name.substr(0, 2) / name.substr(2, 2) / name;
  const Bytes kept = *read_file(record, kMaxPublicFile);
  ASSERT_TRUE(write_file(record, Bytes{1}, {.overwrite = true}).ok());
  work();
  EXPECT_EQ(verdict(waits), "none");
  ASSERT_TRUE(write_file(record, kept, {.overwrite = true}).ok());
  now_ += 5;
  work();
  EXPECT_EQ(verdict(waits), "accepted");
}

// Verification takes longer than a lease, and nobody else gets the job.
TEST_P(WorkerTest, KeepsItsLeaseWhileItVerifies) {
  begin();
  const Bytes file = file_of(kAnna, "proof.zka");
  const Digest slow = deliver(DeliveryKind::kSubmission, kAnna, file, "w1");
  sequence(store_);
  const JobRules rules{.lease = 10, .heartbeat = 0, .first_delay = 0};
  const auto lease_until = [&] {
    const auto rows = store_.database().run("SELECT lease_until FROM jobs WHERE state = 'leased'", {});
    return rows.ok() && rows->size() == 1 ? std::get<int64_t>(rows->front().front()) : 0;
  };
  bool stolen = false;
  WatchedBlobs blobs(
      *blobs_, [] {},
      [&](const BlobName& name) {
        if (name.sha256 != sha256(file)) return;
        now_ += 8;
        for (int k = 0; k < 500 && lease_until() < now_ + 10; ++k)
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        now_ += 8;
        store_.set_rules(rules);
        stolen = !store_.claim("thief", 64, now_)->empty();
      });
  Store store = connect();
  store.set_rules(rules);
  ASSERT_EQ(*worker(std::move(store), blobs, world_->pool)->run_once(), 1U);
  EXPECT_FALSE(stolen);
  EXPECT_EQ(verdict(slow), "accepted");
}

TEST(WorkerOpens, OnlyAStoreWithADeployment) {
  const Path folder = Path(::testing::TempDir()) / fmt::format("zkapex-empty-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto blobs = *open_blob_folder(folder / "blobs");
  const auto opened = Worker::open(*Store::open((folder / "store").string()), *blobs, *SigningKey::generate(), {},
                                   [] { return UnixTime{0}; });
  EXPECT_NE(refusal(opened).find("no deployment"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace zkapex
