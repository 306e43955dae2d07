// From what clients hand in to signed verdicts, whatever happens to the worker.
#include "service/worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/result_testing.h"
#include "exchange/statement.h"
#include "parties/carried_state.h"
#include "parties/client_testing.h"
#include "parties/settle.h"
#include "parties/unlearn.h"
#include "parties/update.h"
#include "service/retention.h"
#include "service/store_records.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;
using testing::WatchedDatabase;
using testing::World;

const std::string kAnna(32, 'a'), kBert(32, 'b'), kCara(32, 'c');

// Calls `point` before and after each blob is written, and `reading` before one is read.
class WatchedBlobs : public Blobs {
 public:
  WatchedBlobs(Blobs& blobs, std::function<void()> point, std::function<void(const BlobName&)> reading)
      : blobs_(blobs), point_(std::move(point)), reading_(std::move(reading)) {}
  Result<std::unique_ptr<BlobWriter>> write(const BlobName& promised) override {
    point_();
    return blobs_.write(promised);
  }
  Result<Bytes> read(const BlobName& name) override {
    reading_(name);
    return blobs_.read(name);
  }
  Result<bool> has(const BlobName& name) override { return blobs_.has(name); }
  Status remove(const BlobName& name) override { return blobs_.remove(name); }

 private:
  Blobs& blobs_;
  std::function<void()> point_;
  std::function<void(const BlobName&)> reading_;
};

class WorkerTest : public OnBothEngines {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    for (const std::string& client : {kAnna, kBert, kCara}) world_->enroll(client);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  WorkerTest() : store_(connect()), blobs_(*open_blob_folder(folder_ / "blobs")), key_(*SigningKey::generate()) {
    const BlobName deployment = *put_blob(*blobs_, world_->deployment.serialize());
    EXPECT_TRUE(store_.set_deployment(deployment, bytes_of("deployment")).ok());
  }

  [[nodiscard]] Result<Worker> worker(Store store, Blobs& blobs, ThreadPool& pool) {
    WorkerSettings settings;
    settings.store = address_;
    settings.base = world_->base_file();
    settings.work = world_->settings;
    settings.work.pool = &pool;
    settings.carried = carried_;
    return Worker::open(std::move(store), blobs, key_, settings, [this] { return now_.load(); });
  }
  // Places what is queued, and verifies all that is due.
  void work() {
    sequence(store_);
    Worker mine = *worker(connect(), *blobs_, world_->pool);
    for (int round = 0; round < 20; ++round) {
      const auto done = mine.run_once();
      ASSERT_TRUE(done.ok()) << done.error().message;
      if (*done == 0) break;
    }
    sequence(store_);
  }

  // What a client signs of a file; of one that cannot be read it says anything. `slant` has it say something else.
  template <class Notice>
  using Slant = std::function<void(Notice&)>;
  template <class Notice>
  static Bytes said(const std::string& client, const Bytes& file, const Slant<Notice>& slant) {
    Notice notice{};
    notice.file = reference_to(file);
    notice.client = client;
    notice.deployment = world_->deployment.digest();
    if constexpr (std::is_same_v<Notice, RegistrationNotice>) {
      if (const auto decoded = RegistrationFile::decode(file)) notice.registration = decoded->digest();
    } else {
      using File = std::conditional_t<std::is_same_v<Notice, UpdateNotice>, UpdateFile, ProofFile>;
      const auto decoded = File::decode(file);
      if (decoded) notice.registration = decoded->registration;
      if (decoded) notice.starts_from = decoded->model;
      if constexpr (std::is_same_v<Notice, UpdateNotice>) {
        if (decoded) notice.update = decoded->digest();
        if (decoded) notice.curvature = decoded->curvature;
      }
    }
    if constexpr (std::is_same_v<Notice, SubmissionNotice>) {
      notice.window = "w1";
      notice.mask = world_->mask.digest();
    }
    if (slant) slant(notice);
    return notice.encode();
  }
  Digest deliver(DeliveryKind kind, const std::string& client, const Bytes& file, const std::string& window = "") {
    if (kind == DeliveryKind::kRegistration)
      return deliver_as(kind, client, file, window, said<RegistrationNotice>(client, file, {}));
    if (kind == DeliveryKind::kUpdate)
      return deliver_as(kind, client, file, window, said<UpdateNotice>(client, file, {}));
    return deliver_as(kind, client, file, window, said<SubmissionNotice>(client, file, {}));
  }
  // Announces and uploads.
  Digest deliver_as(DeliveryKind kind, const std::string& client, const Bytes& file, const std::string& window,
                    Bytes payload) {
    Announcement wanted = announcement(kind, client, to_hex(sha256(file)), window);
    wanted.file = *put_blob(*blobs_, file);
    const Envelope envelope = *sign_envelope(std::move(payload), key_);
    wanted.id = envelope.payload_digest();
    wanted.entry = bytes_of(envelope.encode());
    const auto announced = store_.announce(wanted, now_);
    EXPECT_TRUE(announced.ok()) << refusal(announced);
    EXPECT_EQ(name(announced->refusal), "none");
    if (carried_) bring_state(wanted);
    const auto received = store_.receive(wanted.id, bytes_of("receipt"), now_);
    EXPECT_EQ(name(received->refusal), "none");
    return wanted.id;
  }
  // What the provider asks for, of what the client's folder has; without it nothing is received.
  void bring_state(const Announcement& wanted) {
    const auto missing = store_.missing_state(wanted);
    ASSERT_TRUE(missing.ok()) << refusal(missing);
    if (missing->empty()) return;
    EXPECT_EQ(name(store_.receive(wanted.id, bytes_of("receipt"), now_)->refusal), "no-state");
    const auto own = carried_state({world_->folder / wanted.client});
    ASSERT_TRUE(own.ok()) << refusal(own);
    for (const BlobName& file : *missing) {
      const auto found = std::ranges::find_if(*own, [&](const Bytes& one) { return sha256(one) == file.sha256; });
      ASSERT_NE(found, own->end());
      const auto expected = store_.expect_state(wanted.id, file, now_);
      EXPECT_EQ(name(expected->refusal), "none");
      EXPECT_EQ(*put_blob(*blobs_, *found), expected->file);
      EXPECT_EQ(name(*store_.receive_state(wanted.client, file, now_)), "none");
      ++brought_;
    }
  }
  static Bytes file_of(const std::string& client, const std::string& file) {
    return *read_file(world_->folder / client / file, kMaxPublicFile);
  }
  static Bytes false_proof(const std::string& client) {
    ProofFile proof = *read_public_file<ProofFile>(world_->folder / client / "proof.zka");
    proof.proof[proof.proof.size() - 32] ^= 1;
    return proof.encode();
  }
  void publish(const Mask& mask) {
    WindowInfo window;
    window.id = mask.window;
    window.psi = *put_blob(*blobs_, mask.serialize());
    window.mask = mask.digest();
    window.opens = now_;
    window.deadline = now_ + 100'000;
    window.published = now_;
    window.entry = bytes_of("window " + mask.window);
    ASSERT_EQ(name(store_.publish_window(window)->refusal), "none");
    sequence(store_);
  }
  // All three are registered and w1 is open.
  void begin() {
    for (const std::string& client : {kAnna, kBert, kCara}) {
      enrol(store_, client);
      deliver(DeliveryKind::kRegistration, client, file_of(client, "registration.zka"));
    }
    work();
    publish(world_->mask);
  }
  std::string verdict(const Digest& id) {
    const auto delivery = store_.delivery(id);
    EXPECT_TRUE(delivery.ok() && delivery->has_value());
    if (!(*delivery)->verdict) return "none";
    return (*delivery)->verdict->accepted ? "accepted" : (*delivery)->verdict->reason;
  }
  ClientRecord record_of(const std::string& client) {
    const auto found = StoreRecords(store_, *blobs_, world_->deployment).find(client);
    EXPECT_TRUE(found.ok() && found->has_value()) << refusal(found);
    return found.ok() && *found ? **found : ClientRecord{};
  }
  VerdictNotice statement(const Digest& id) {
    if (verdict(id) == "none") {
      ADD_FAILURE() << "there is no verdict";
      return {};
    }
    const Bytes entry = (*store_.delivery(id))->verdict->entry;
    const auto envelope = Envelope::decode(std::string(entry.begin(), entry.end()));
    EXPECT_TRUE(envelope.ok()) << refusal(envelope);
    auto notice = open_statement<VerdictNotice>(*envelope, key_.public_key());
    EXPECT_TRUE(notice.ok()) << refusal(notice);
    return *std::move(notice);
  }

  static inline World* world_ = nullptr;
  Store store_;
  std::unique_ptr<Blobs> blobs_;
  SigningKey key_;
  std::atomic<UnixTime> now_ = 10;  // leases are renewed by a thread of their own
  bool carried_ = false;
  int brought_ = 0;

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

class KilledWorker : public WorkerTest {
 protected:
  // All that is due, in a process of its own, which is killed at its write number `fatal`, or when it reads that file.
  // True if it was.
  bool killed(int fatal, const std::optional<BlobName>& poison, const JobRules& rules) {
    const pid_t child = ::fork();
    if (child == 0) {
      int at = 0;
      const auto point = [&] {
        if (at++ == fatal) ::raise(SIGKILL);
      };
      ThreadPool pool{1};
      WatchedBlobs blobs(*blobs_, point, [&](const BlobName& name) {
        if (poison == name) ::raise(SIGKILL);
      });
      auto database = open_database(address_);
      auto store = Store::over(std::make_unique<WatchedDatabase>(*std::move(database), point));
      store->set_rules(rules);
      auto mine = worker(*std::move(store), blobs, pool);
      Result<size_t> done = size_t{1};
      while (mine && done && *done > 0) done = mine->run_once();
      ::_exit(mine && done ? 0 : 3);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }
};
INSTANTIATE_TEST_SUITE_P(Sqlite, KilledWorker, ::testing::Values("sqlite"));

TEST_P(KilledWorker, AtEveryWriteLeavesOneVerdict) {
  begin();
  const Digest good = deliver(DeliveryKind::kSubmission, kAnna, file_of(kAnna, "proof.zka"), "w1");
  const Digest lie = deliver(DeliveryKind::kSubmission, kBert, false_proof(kBert), "w1");
  sequence(store_);
  // Tries again at once, for ever; alone from the second time on.
  const JobRules tireless{.first_delay = 0, .attempts = 1'000'000};
  int fatal = 0;
  while (fatal < 300 && killed(fatal, std::nullopt, tireless)) {
    ++fatal;
    now_ += 100;  // the lease runs out
  }
  EXPECT_GT(fatal, 20);
  EXPECT_LT(fatal, 300);
  sequence(store_);
  EXPECT_EQ(verdict(good), "accepted");
  EXPECT_EQ(verdict(lie), "equation");
  EXPECT_EQ(store_.models(kAnna)->size(), 2U);
  EXPECT_EQ(store_.models(kBert)->size(), 1U);
  LogTables log(store_.database());
  // deployment, three clients, registrations and their verdicts, the window, two submissions and their verdicts
  EXPECT_EQ(*log.size(), 1U + 9U + 1U + 4U);
}

TEST_P(KilledWorker, AProofThatCrashesWorkersIsNeverARejection) {
  begin();
  const Bytes poison = false_proof(kBert);
  const Digest good = deliver(DeliveryKind::kSubmission, kAnna, file_of(kAnna, "proof.zka"), "w1");
  const Digest bad = deliver(DeliveryKind::kSubmission, kBert, poison, "w1");
  const Digest fine = deliver(DeliveryKind::kSubmission, kCara, file_of(kCara, "proof.zka"), "w1");
  sequence(store_);
  int crashes = 0;
  for (int round = 0; round < 12; ++round, now_ += 1000)
    crashes += killed(-1, BlobName{sha256(poison), poison.size()}, store_.rules()) ? 1 : 0;
  EXPECT_EQ(crashes, 5);
  EXPECT_EQ(verdict(good), "accepted");
  EXPECT_EQ(verdict(fine), "accepted");
  EXPECT_EQ(verdict(bad), "none");
  const auto dead = *store_.dead_jobs(10);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].delivery.announced.id, bad);
  // Once the verifier is mended, an operator has it tried again.
  ASSERT_TRUE(*store_.revive(dead[0].id, now_));
  work();
  EXPECT_EQ(verdict(bad), "equation");
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
