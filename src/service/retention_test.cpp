// What is kept no longer goes, and nothing else; whoever is killed over it has lost nothing.
#include "service/retention.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/result_testing.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;
using testing::WatchedDatabase;

constexpr UnixTime kDayLong = 86'400;
constexpr uint64_t kDays = 90;
constexpr UnixTime kLater = 1000 + static_cast<UnixTime>(kDays) * kDayLong;  // when a verdict of time 1000 expires

class RetentionTest : public OnBothEngines {
 protected:
  RetentionTest() : store_(connect()), blobs_(*open_blob_folder(folder_ / "blobs")) {
    EXPECT_TRUE(store_.set_deployment(*put_blob(*blobs_, view("deployment")), bytes_of("deployment")).ok());
  }

  void keep(const std::string& text) { EXPECT_TRUE(put_blob(*blobs_, view(text)).ok()); }
  [[nodiscard]] bool kept(const std::string& text) { return *blobs_->has(blob_of(text)); }

  // Announced and uploaded at time 900, not handed in yet.
  Digest announce(DeliveryKind kind, const std::string& client, const std::string& file,
                  const std::string& window = "") {
    const Announcement wanted = announcement(kind, client, file, window);
    const auto taken = store_.announce(wanted, 900);
    EXPECT_TRUE(taken.ok()) << refusal(taken);
    EXPECT_EQ(name(taken->refusal), "none") << file;
    keep(file);
    return wanted.id;
  }
  Digest deliver(DeliveryKind kind, const std::string& client, const std::string& file,
                 const std::string& window = "") {
    const Digest id = announce(kind, client, file, window);
    EXPECT_EQ(name(store_.receive(id, bytes_of("receipt"), 900)->refusal), "none");
    sequence(store_);
    return id;
  }
  void decide(bool accepted, uint64_t from = 0, const std::string& commitment = "m") {
    const auto jobs = store_.claim("worker", 10, 1000);
    ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
    const auto written = store_.conclude(std::vector{conclusion(jobs->front(), accepted, from, commitment)}, 1000);
    ASSERT_TRUE(written.ok() && written->front());
  }
  // A registration that was rejected at time 1000: the client may try again.
  Digest rejected(const std::string& client, const std::string& file) {
    const Digest id = deliver(DeliveryKind::kRegistration, client, file);
    decide(false);
    return id;
  }
  size_t remove_at(UnixTime now, uint64_t days = kDays) {
    const auto removed = remove_expired(store_, *blobs_, days, now);
    EXPECT_TRUE(removed.ok()) << refusal(removed);
    return removed.ok() ? *removed : 0;
  }

  Store store_;
  std::unique_ptr<Blobs> blobs_;
};
ZKAPEX_ON_BOTH_ENGINES(RetentionTest);

TEST_P(RetentionTest, UploadsGoAndVerdictsStay) {
  enrol(store_, "a");
  const Digest id = rejected("a", "proof");
  EXPECT_EQ(remove_at(kLater - 1), 0U);
  EXPECT_TRUE(kept("proof"));
  EXPECT_EQ(remove_at(kLater), 1U);
  EXPECT_FALSE(kept("proof"));
  const auto delivery = *store_.delivery(id);
  ASSERT_TRUE(delivery && delivery->verdict && delivery->receipt);
  EXPECT_EQ(delivery->announced.file, blob_of("proof"));
  EXPECT_EQ(delivery->verdict->reason, "equation");
  EXPECT_EQ(remove_at(kLater), 0U);  // once
}

TEST_P(RetentionTest, NothingIsKeptWhereTheDeploymentSaysSo) {
  enrol(store_, "a");
  rejected("a", "proof");
  EXPECT_EQ(remove_at(1000, 0), 1U);
  EXPECT_FALSE(kept("proof"));
}

TEST_P(RetentionTest, SomeAtATime) {
  for (int k = 0; k < 20; ++k) {
    enrol(store_, fmt::format("c{}", k));
    rejected(fmt::format("c{}", k), fmt::format("file {}", k));
  }
  EXPECT_EQ(remove_at(kLater), 16U);
  EXPECT_EQ(remove_at(kLater), 4U);
  for (int k = 0; k < 20; ++k) EXPECT_FALSE(kept(fmt::format("file {}", k))) << k;
}

// Who uploads the provider's own files must not have them deleted.
TEST_P(RetentionTest, WhatTheProviderNeedsStays) {
  registered(store_, "b");
  ASSERT_EQ(name(store_.publish_window(window("w"))->refusal), "none");
  keep("psi of w");
  keep("model 1 of b");
  keep("record model 1 of b");
  for (const char* file : {"deployment", "psi of w", "model 1 of b", "record model 1 of b"}) {
    const std::string client = fmt::format("client with {}", file);
    enrol(store_, client);
    rejected(client, file);
  }
  EXPECT_EQ(remove_at(kLater), 5U);  // and the registration of b
  for (const char* file : {"deployment", "psi of w", "model 1 of b", "record model 1 of b"})
    EXPECT_TRUE(kept(file)) << file;
}

TEST_P(RetentionTest, AFileThatWasHandedInAgainStays) {
  enrol(store_, "a");
  enrol(store_, "b");
  rejected("a", "file");
  const Digest again = announce(DeliveryKind::kRegistration, "b", "file");
  // The verdict on the first has expired, and the second is being uploaded.
  const auto removed = store_.expire(
      {.decided = 1000, .announced = 0, .limit = 10}, [&](const BlobName& one) { return blobs_->remove(one); }, kLater);
  EXPECT_EQ(*removed, 1U);
  EXPECT_TRUE(kept("file"));
  ASSERT_EQ(name(store_.receive(again, bytes_of("receipt"), 901)->refusal), "none");
  sequence(store_);
  decide(false);
  EXPECT_EQ(remove_at(kLater), 1U);
  EXPECT_FALSE(kept("file"));
}

// A client knows which files a verdict will lead to, and could have uploaded one as something else: it stays until the
// verdict names it.
TEST_P(RetentionTest, NothingOfAClientThatWaitsForAVerdict) {
  enrol(store_, "a");
  rejected("a", "m");
  announce(DeliveryKind::kRegistration, "a", "record m");
  deliver(DeliveryKind::kRegistration, "a", "proof");
  EXPECT_EQ(remove_at(kLater), 0U);
  decide(true);
  EXPECT_EQ(remove_at(kLater), 3U);
  EXPECT_TRUE(kept("m"));
  EXPECT_TRUE(kept("record m"));
  EXPECT_FALSE(kept("proof"));
}

TEST_P(RetentionTest, AnAnnouncementThatNothingFollowedIsForgotten) {
  enrol(store_, "a");
  const Digest id = announce(DeliveryKind::kRegistration, "a", "proof");
  EXPECT_EQ(remove_at(900 + kDayLong - 1, 0), 0U);  // an upload may be under way
  EXPECT_EQ(remove_at(900 + kDayLong, 0), 1U);
  EXPECT_FALSE(kept("proof"));
  EXPECT_FALSE(store_.delivery(id)->has_value());
  EXPECT_EQ(name(store_.receive(id, bytes_of("receipt"), kLater)->refusal), "no-delivery");
  EXPECT_EQ(name(store_.announce(announcement(DeliveryKind::kRegistration, "a", "proof"), kLater)->refusal), "none");
}

TEST_P(RetentionTest, AFileThatCannotBeRemovedIsTriedAgain) {
  enrol(store_, "a");
  rejected("a", "proof");
  const auto failed = store_.expire(
      {.decided = 1000, .announced = 0, .limit = 10}, [](const BlobName&) -> Status { return error("no"); }, kLater);
  EXPECT_EQ(refusal(failed), "no");
  EXPECT_EQ(remove_at(kLater), 1U);
}

// Killed before or after any statement, commit or removal, and run again: all that expired is gone, all else is there.
TEST_P(RetentionTest, SurvivesAKillAnywhere) {
  for (const char* client : {"a", "b"}) enrol(store_, client);
  for (int fatal = 0, done = 0; done == 0; ++fatal) {
    ASSERT_LT(fatal, 30);  // a client has so many attempts
    for (const char* client : {"a", "b"}) rejected(client, fmt::format("{} {}", client, fatal));
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<int> left{fatal};
      const auto point = [&] {
        if (left-- == 0) ::kill(::getpid(), SIGKILL);
      };
      auto store = Store::over(std::make_unique<WatchedDatabase>(*open_database(address_), point));
      const auto removed = store->expire(
          {.decided = 1000, .announced = 0, .limit = 10},
          [&](const BlobName& one) {
            point();
            Status out = blobs_->remove(one);
            point();
            return out;
          },
          kLater);
      ::_exit(removed.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      done = 1;
    }
    remove_at(kLater);
    for (const char* client : {"a", "b"}) EXPECT_FALSE(kept(fmt::format("{} {}", client, fatal))) << fatal;
    EXPECT_TRUE(kept("deployment"));
    EXPECT_EQ(remove_at(kLater), 0U);
  }
}

}  // namespace
}  // namespace zkapex
