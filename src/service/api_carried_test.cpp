// Clients that carry their own state: what the provider asks for, and what it takes.
#include "parties/carried_state.h"
#include "parties/unlearn.h"
#include "service/api_testing.h"
#include "service/retention.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

using testing::ApiTest;
using testing::kApiDay;
using testing::refusal;

class CarriedApiTest : public ApiTest {
 protected:
  CarriedApiTest() : ApiTest(true) {
    if (!std::filesystem::exists(client_)) world_->begin(kDora);
    std::filesystem::create_directories(out_);
    be_registered(kDora, key_);
    publish(now_, now_ + 10 * kApiDay);
    const auto done = unlearn({.client = client_,
                               .mask = world_->folder / "psi.zka",
                               .model_out = out_ / "a.safetensors",
                               .proof_out = out_ / "a.zka",
                               .model = {},
                               .store = {}},
                              world_->settings);
    EXPECT_TRUE(done.ok()) << refusal(done);
    proof_ = *read_file(out_ / "a.zka", kMaxPublicFile);
    notice_.file = reference_to(proof_);
    notice_.client = kDora;
    notice_.window = world_->mask.window;
    notice_.deployment = provider_->notice().deployment;
    notice_.mask = world_->mask.digest();
    notice_.registration = RegistrationFile::decode(file_of(kDora, "registration.zka"))->digest();
    notice_.starts_from = (*store().client(kDora))->model->commitment;
    id_ = sha256(notice_.encode());
    state_ = *carried_state({client_});
  }

  UploadTicket announce() {
    const HttpResponse answer = post(paths::kSubmissions, statement(notice_, key_));
    EXPECT_LT(answer.status, 300U) << answer.body;
    return *UploadTicket::decode(answer.body);
  }
  HttpResponse put_state(const Bytes& file) { return put_at(paths::upload_state(id_, sha256(file)), file); }
  bool is_here(const Bytes& file) { return *provider_->blobs().has({sha256(file), file.size()}); }
  // All that may go by now.
  void clean() {
    Store records = store();
    for (int k = 0; k < 20; ++k) {
      const auto removed = remove_expired(records, provider_->blobs(), 90, [this] { return now_; });
      ASSERT_TRUE(removed.ok()) << refusal(removed);
      if (removed->done == 0) break;
    }
  }

  static inline const std::string kDora = std::string(32, 'd');
  Path client_ = world_->folder / kDora, out_ = folder_ / "out";
  SigningKey key_ = *SigningKey::generate();
  SubmissionNotice notice_;
  Digest id_{};
  Bytes proof_;
  std::vector<Bytes> state_;
};

TEST_F(CarriedApiTest, TheProviderKeepsDigestsAndTheClientTheFiles) {
  ASSERT_EQ(state_.size(), 2U);
  const ModelState model = *(*store().client(kDora))->model;
  EXPECT_EQ(model.record.sha256, sha256(state_[0]));
  EXPECT_EQ(model.model.sha256, sha256(state_[1]));
  for (const Bytes& file : state_) EXPECT_FALSE(is_here(file));
  const UploadTicket ticket = announce();
  ASSERT_EQ(ticket.state.size(), 2U);
  for (const Bytes& file : state_) EXPECT_NE(std::ranges::find(ticket.state, reference_to(file)), ticket.state.end());

  EXPECT_EQ(reason(put(id_, proof_)), "state");
  EXPECT_EQ(put_state(state_[0]).status, 200U);
  EXPECT_EQ(announce().state, (std::vector<FileReference>{reference_to(state_[1])}));
  EXPECT_EQ(reason(put(id_, proof_)), "state");
  EXPECT_EQ(put_state(state_[0]).status, 200U);  // once more is the same
  EXPECT_EQ(put_state(state_[1]).status, 200U);
  EXPECT_TRUE(announce().state.empty());
  const HttpResponse received = put(id_, proof_);
  ASSERT_EQ(received.status, 202U) << received.body;
  EXPECT_EQ(put(id_, proof_).body, received.body);
  now_ += 2 * kApiDay;
  clean();  // nothing of a client that waits
  for (const Bytes& file : state_) EXPECT_TRUE(is_here(file));
  work();
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id_)).body)->state, SubmissionState::kAccepted);
  clean();
  for (const Bytes& file : state_) EXPECT_FALSE(is_here(file));
  const ModelState next = *(*store().client(kDora))->model;
  EXPECT_EQ(next.version, 2U);
  EXPECT_FALSE(*provider_->blobs().has(next.model));
  // Whoever has not heard the answer asks again, and is asked for nothing that comes after it.
  EXPECT_TRUE(announce().state.empty());
  EXPECT_EQ(put(id_, proof_).body, received.body);
}

TEST_F(CarriedApiTest, WhatIsCarriedIsWhatWasAccepted) {
  announce();
  Bytes other = state_[1];
  other.back() ^= 1;
  const std::string target = paths::upload_state(id_, sha256(state_[1]));
  EXPECT_EQ(reason(put_at(target, other)), "digest");
  EXPECT_EQ(reason(put_at(target, Bytes(3))), "length");
  EXPECT_EQ(reason(put_state(other)), "not-found");  // a file that nobody asked for
  EXPECT_EQ(reason(put_state(file_of(kDora, "registration.zka"))), "not-found");
  EXPECT_EQ(reason(put_at(paths::upload_state({}, sha256(state_[1])), state_[1])), "not-found");
  EXPECT_EQ(reason(put_at(paths::upload(id_) + "/state/x", state_[1])), "not-found");
  EXPECT_FALSE(is_here(other));
  EXPECT_EQ(announce().state.size(), 2U);
  EXPECT_EQ(reason(put(id_, proof_)), "state");
}

// A rejection takes along what came with it; the next attempt brings it again.
TEST_F(CarriedApiTest, EachAttemptBringsItsOwn) {
  const Bytes right = proof_;
  ProofFile lie = *ProofFile::decode(proof_);
  lie.proof[lie.proof.size() - 32] ^= 1;
  proof_ = lie.encode();
  notice_.file = reference_to(proof_);
  id_ = sha256(notice_.encode());
  announce();
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  ASSERT_EQ(put(id_, proof_).status, 202U);
  work();
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id_)).body)->state, SubmissionState::kRejected);
  clean();
  for (const Bytes& file : state_) EXPECT_FALSE(is_here(file));

  proof_ = right;
  notice_.file = reference_to(proof_);
  id_ = sha256(notice_.encode());
  EXPECT_EQ(announce().state.size(), 2U);
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  ASSERT_EQ(put(id_, proof_).status, 202U);
  work();
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id_)).body)->state, SubmissionState::kAccepted);
}

// Nothing is written for a file that cannot be it, nor for what has its verdict.
TEST_F(CarriedApiTest, StateIsForWhatHasNoVerdict) {
  announce();
  const auto left = [&] {
    Store records = store();
    return *count_of(records.database(), "SELECT COUNT(*) FROM removals", {});
  };
  clean();
  const uint64_t before = left();
  EXPECT_EQ(reason(put_at(paths::upload_state(id_, sha256(state_[1])), Bytes(3))), "length");
  EXPECT_EQ(left(), before);
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  ASSERT_EQ(put(id_, proof_).status, 202U);
  EXPECT_EQ(put_state(state_[0]).status, 200U);
  work();
  const std::vector<Bytes> next = *carried_state({client_});
  for (const Bytes& file : next) EXPECT_EQ(reason(put_state(file)), "not-found");
  const ModelState model = *(*store().client(kDora))->model;
  EXPECT_EQ(reason(put_at(paths::upload_state(id_, model.record.sha256), Bytes(model.record.bytes))), "not-found");
}

// It came so late that its name was being removed: it counts as not sent.
TEST_F(CarriedApiTest, AnUploadThatOutlastsItsTimeIsRefused) {
  announce();
  HttpRequest request;
  request.method = "PUT";
  request.content_length = state_[0].size();
  auto upload = (*router_.find(paths::upload_state(id_, sha256(state_[0])), request))->receive(request);
  ASSERT_TRUE(upload.ok());
  EXPECT_TRUE((*upload)->write(state_[0]));
  now_ += kApiDay;
  clean();
  EXPECT_EQ((*upload)->finish().status, 503U);
  EXPECT_EQ(announce().state.size(), 2U);
  now_ += kApiDay;
  clean();
  EXPECT_FALSE(is_here(state_[0]));
}

// The provider has lost a file, or it was damaged: the client sends it once more.
TEST_F(CarriedApiTest, WhatWasLostIsAskedForAgain) {
  announce();
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  const HttpResponse received = put(id_, proof_);
  ASSERT_EQ(received.status, 202U);
  const auto state = [&] { return SubmissionAnswer::decode(get(paths::submission(id_)).body)->state; };
  EXPECT_EQ(state(), SubmissionState::kReceived);
  ASSERT_TRUE(provider_->blobs().remove({sha256(state_[1]), state_[1].size()}).ok());
  work();
  EXPECT_EQ(state(), SubmissionState::kAnnounced);
  EXPECT_EQ(announce().state, (std::vector<FileReference>{reference_to(state_[1])}));
  EXPECT_EQ(put_state(state_[1]).status, 200U);
  EXPECT_EQ(put(id_, proof_).body, received.body);
  EXPECT_EQ(state(), SubmissionState::kReceived);
  now_ += 60;
  work();
  EXPECT_EQ(state(), SubmissionState::kAccepted);
}

// It came when the provider had given up: nobody has to tell it to try again.
TEST_F(CarriedApiTest, WhatComesAfterTheLastAttemptIsVerified) {
  announce();
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  ASSERT_EQ(put(id_, proof_).status, 202U);
  for (const Bytes& file : state_) ASSERT_TRUE(provider_->blobs().remove({sha256(file), file.size()}).ok());
  for (int attempt = 0; attempt < 5; ++attempt) {
    work();
    now_ += 600;
  }
  EXPECT_EQ(store().dead_jobs(10)->size(), 1U);
  EXPECT_EQ(announce().state.size(), 2U);
  EXPECT_EQ(put_state(state_[0]).status, 200U);
  work();
  EXPECT_EQ(store().dead_jobs(10)->size(), 1U);
  EXPECT_EQ(put_state(state_[1]).status, 200U);
  work();
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id_)).body)->state, SubmissionState::kAccepted);
}

// Files that nothing follows go after a day; who comes later sends them again.
TEST_F(CarriedApiTest, WhatNothingFollowedGoes) {
  announce();
  for (const Bytes& file : state_) EXPECT_EQ(put_state(file).status, 200U);
  clean();
  for (const Bytes& file : state_) EXPECT_TRUE(is_here(file));
  now_ += kApiDay;
  clean();
  for (const Bytes& file : state_) EXPECT_FALSE(is_here(file));
  EXPECT_EQ(announce().state.size(), 2U);
  EXPECT_EQ(reason(put(id_, proof_)), "state");
}

}  // namespace

}  // namespace zkapex
