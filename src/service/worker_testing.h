// A worker over a store on either engine, and three clients who deliver what they sign.
#pragma once

#include <atomic>

#include "base/result_testing.h"
#include "exchange/statement.h"
#include "parties/carried_state.h"
#include "parties/client_testing.h"
#include "service/store_records.h"
#include "service/store_testing.h"
#include "service/worker.h"

namespace zkapex::testing {

inline const std::string kAnna(32, 'a'), kBert(32, 'b'), kCara(32, 'c');

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

class WorkerFixture : public OnBothEngines {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    for (const std::string& client : {kAnna, kBert, kCara}) world_->enroll(client);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  WorkerFixture() : store_(connect()), blobs_(*open_blob_folder(folder_ / "blobs")), key_(*SigningKey::generate()) {
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

  static inline World* world_ = nullptr;  // one for each suite
  Store store_;
  std::unique_ptr<Blobs> blobs_;
  SigningKey key_;
  std::atomic<UnixTime> now_ = 10;  // leases are renewed by a thread of their own
  bool carried_ = false;
  int brought_ = 0;
};

}  // namespace zkapex::testing
