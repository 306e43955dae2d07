// What is kept no longer goes, and nothing else; whoever is killed over it has lost nothing.
#include "service/retention.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/result_testing.h"
#include "service/store_rows.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;
using testing::WatchedDatabase;

constexpr UnixTime kDayLong = 86'400;
constexpr uint64_t kDays = 90;
constexpr UnixTime kLater = 1000 + static_cast<UnixTime>(kDays) * kDayLong;  // when a verdict of time 1000 expires

Clock at(UnixTime time) {
  return [time] { return time; };
}

// Calls `removing` before a file is removed; an error of it is the removal's.
class WatchedRemovals : public Blobs {
 public:
  WatchedRemovals(Blobs& blobs, std::function<Status()> removing) : blobs_(blobs), removing_(std::move(removing)) {}
  Result<std::unique_ptr<BlobWriter>> write(const BlobName& promised) override { return blobs_.write(promised); }
  Result<Bytes> read(const BlobName& name) override { return blobs_.read(name); }
  Result<bool> has(const BlobName& name) override { return blobs_.has(name); }
  Status remove(const BlobName& name) override {
    ZKAPEX_CHECK(removing_());
    return blobs_.remove(name);
  }

 private:
  Blobs& blobs_;
  std::function<Status()> removing_;
};

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
  // Until nothing is left to do.
  void clean(UnixTime now, uint64_t days = kDays) {
    for (int round = 0; round < 20; ++round) {
      const auto removed = remove_expired(store_, *blobs_, days, at(now));
      ASSERT_TRUE(removed.ok()) << refusal(removed);
      if (removed->done == 0) return;
    }
    ADD_FAILURE() << "there is no end of it";
  }
  std::string announced(const std::string& client, const std::string& file, UnixTime now) {
    return std::string(name(store_.announce(announcement(DeliveryKind::kRegistration, client, file), now)->refusal));
  }

  Store store_;
  std::unique_ptr<Blobs> blobs_;
};
ZKAPEX_ON_BOTH_ENGINES(RetentionTest);

TEST_P(RetentionTest, UploadsGoAndVerdictsStay) {
  enrol(store_, "a");
  const Digest id = rejected("a", "proof");
  clean(kLater - 1);
  EXPECT_TRUE(kept("proof"));
  clean(kLater);
  EXPECT_FALSE(kept("proof"));
  const auto delivery = *store_.delivery(id);
  ASSERT_TRUE(delivery && delivery->verdict && delivery->receipt);
  EXPECT_EQ(delivery->announced.file, blob_of("proof"));
  EXPECT_EQ(delivery->verdict->reason, "equation");
}

TEST_P(RetentionTest, NothingIsKeptWhereTheDeploymentSaysSo) {
  enrol(store_, "a");
  rejected("a", "proof");
  clean(1000, 0);
  EXPECT_FALSE(kept("proof"));
}

TEST_P(RetentionTest, SomeAtATime) {
  for (int k = 0; k < 20; ++k) {
    enrol(store_, fmt::format("c{}", k));
    rejected(fmt::format("c{}", k), fmt::format("file {}", k));
  }
  EXPECT_EQ(remove_expired(store_, *blobs_, kDays, at(kLater))->done, 32U);  // 16 verdicts and their files
  clean(kLater);
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
  clean(kLater);
  for (const char* file : {"deployment", "psi of w", "model 1 of b", "record model 1 of b"})
    EXPECT_TRUE(kept(file)) << file;
}

// What is needed is looked at and forgotten, which is no reason to rest while there is more.
// Three times what is looked at in one go: whichever has the file, another one finds nothing to remove.
TEST_P(RetentionTest, WhatIsNeededHoldsNothingUp) {
  for (int k = 0; k < 40; ++k) {
    const std::string client = fmt::format("c{}", k);
    registered(store_, client);
    keep("model 1 of " + client);
    ASSERT_TRUE(store_.let_go(blob_of("model 1 of " + client), client, 1000).ok());
  }
  keep("file");
  ASSERT_TRUE(store_.let_go(blob_of("file"), "c0", 1000).ok());
  clean(1000);
  EXPECT_FALSE(kept("file"));
  EXPECT_TRUE(kept("model 1 of c0"));
  EXPECT_EQ(*count_of(store_.database(), "SELECT COUNT(*) FROM removals", {}), 0U);
}

TEST_P(RetentionTest, AFileThatWasHandedInAgainStays) {
  enrol(store_, "a");
  enrol(store_, "b");
  rejected("a", "file");
  // The verdict on the first has expired, and the second is being uploaded.
  const Announcement again = announcement(DeliveryKind::kRegistration, "b", "file");
  ASSERT_EQ(name(store_.announce(again, kLater)->refusal), "none");
  clean(kLater);
  EXPECT_TRUE(kept("file"));
  ASSERT_EQ(name(store_.receive(again.id, bytes_of("receipt"), kLater)->refusal), "none");
  sequence(store_);
  clean(kLater);
  EXPECT_TRUE(kept("file"));
}

// A client knows which files a verdict will lead to, and could have uploaded one as something else: it stays until the
// verdict names it.
TEST_P(RetentionTest, NothingOfAClientThatWaitsForAVerdict) {
  enrol(store_, "a");
  rejected("a", "m");
  announce(DeliveryKind::kRegistration, "a", "record m");
  deliver(DeliveryKind::kRegistration, "a", "proof");
  clean(kLater);
  clean(kLater + kDayLong);
  EXPECT_TRUE(kept("m"));
  EXPECT_TRUE(kept("record m"));
  decide(true);
  clean(kLater + kDayLong);
  EXPECT_TRUE(kept("m"));
  EXPECT_TRUE(kept("record m"));
  EXPECT_FALSE(kept("proof"));
}

// However long uploads are kept: this was never one.
TEST_P(RetentionTest, AnAnnouncementThatNothingFollowedIsForgotten) {
  enrol(store_, "a");
  const Digest id = announce(DeliveryKind::kRegistration, "a", "proof");
  clean(900 + kDayLong - 1);
  EXPECT_TRUE(store_.delivery(id)->has_value());
  clean(900 + kDayLong);
  EXPECT_FALSE(store_.delivery(id)->has_value());
  EXPECT_TRUE(kept("proof"));  // an upload may be under way
  clean(900 + 2 * kDayLong);
  EXPECT_FALSE(kept("proof"));
  EXPECT_EQ(name(store_.receive(id, bytes_of("receipt"), kLater)->refusal), "no-delivery");
  EXPECT_EQ(announced("a", "proof", kLater), "none");
}

// What the old key announced is announced again by the new one; if not, a file that came for it goes.
TEST_P(RetentionTest, WhatANewKeyLeftBehindGoes) {
  enrol(store_, "a");
  announce(DeliveryKind::kRegistration, "a", "one");
  announce(DeliveryKind::kRegistration, "a", "two");
  ASSERT_EQ(name(store_.rotate_key("a", key_of("a").id, 1, key_of("next"), bytes_of("rotation"), 950)->refusal),
            "none");
  Announcement again = announcement(DeliveryKind::kRegistration, "a", "two");
  again.signer = key_of("next").id;
  ASSERT_EQ(name(store_.announce(again, 960)->refusal), "none");
  clean(950 + kDayLong - 1);
  EXPECT_TRUE(kept("one"));
  clean(950 + kDayLong);
  EXPECT_FALSE(kept("one"));
  EXPECT_TRUE(kept("two"));
}

// The file of an announcement that was forgotten while it came.
TEST_P(RetentionTest, WhatCameForNothingGoes) {
  enrol(store_, "a");
  keep("proof");
  ASSERT_TRUE(store_.let_go(blob_of("proof"), "a", 1000).ok());
  clean(999);
  EXPECT_TRUE(kept("proof"));
  clean(1000);
  EXPECT_FALSE(kept("proof"));
}

TEST_P(RetentionTest, AFileThatCannotBeRemovedIsTriedAgain) {
  enrol(store_, "a");
  enrol(store_, "b");
  rejected("a", "one");
  rejected("b", "two");
  WatchedRemovals broken(*blobs_, []() -> Status { return error("no"); });
  const auto round = remove_expired(store_, broken, kDays, at(kLater));
  ASSERT_TRUE(round.ok()) << refusal(round);
  EXPECT_EQ(round->troubles, (std::vector<std::string>{"no", "no"}));
  EXPECT_GT(round->done, 0U);                                  // others may be waiting
  EXPECT_EQ(announced("b", "one", kLater + 599), "removing");  // it may yet happen
  EXPECT_EQ(announced("b", "one", kLater + 600), "none");
  clean(kLater + 600);
  EXPECT_TRUE(kept("two"));
  clean(kLater + 3600);
  EXPECT_FALSE(kept("two"));
  EXPECT_TRUE(kept("one"));
}

// A disk or a network may take its time over it: others write meanwhile, but for the same file and the same client.
TEST_P(RetentionTest, NobodyIsHeldUpByARemoval) {
  enrol(store_, "a");
  rejected("a", "proof");
  const Announcement earlier = announcement(DeliveryKind::kRegistration, "a", "earlier");
  ASSERT_EQ(name(store_.announce(earlier, kLater)->refusal), "none");
  std::vector<std::string> told;
  WatchedRemovals slow(*blobs_, [&]() -> Status {
    Store other = connect();
    enrol(other, "b");
    const auto announce_as = [&](const std::string& client, const std::string& file) {
      const auto taken = other.announce(announcement(DeliveryKind::kRegistration, client, file), kLater);
      told.push_back(taken.ok() ? std::string(name(taken->refusal)) : taken.error().message);
    };
    announce_as("b", "another");
    announce_as("b", "proof");
    announce_as("a", "third");
    told.emplace_back(name(other.receive(earlier.id, bytes_of("receipt"), kLater)->refusal));
    return Done{};
  });
  ASSERT_TRUE(remove_expired(store_, slow, kDays, at(kLater)).ok());
  EXPECT_EQ(told, (std::vector<std::string>{"none", "removing", "removing", "removing"}));
  EXPECT_EQ(announced("b", "proof", kLater), "none");
  EXPECT_EQ(announced("a", "third", kLater), "none");
}

TEST_P(RetentionTest, AFileStaysUntilAllHaveLetItGo) {
  for (const char* client : {"a", "b"}) enrol(store_, client);
  keep("file");
  ASSERT_TRUE(store_.let_go(blob_of("file"), "a", 1000).ok());
  ASSERT_TRUE(store_.let_go(blob_of("file"), "b", 2000).ok());
  clean(1999);
  EXPECT_TRUE(kept("file"));
  clean(2000);
  EXPECT_FALSE(kept("file"));
}

// A removal that took too long has been claimed by another: what that one does is not this one's.
TEST_P(RetentionTest, AClaimIsItsOwners) {
  for (const char* client : {"a", "b"}) enrol(store_, client);
  keep("file");
  ASSERT_TRUE(store_.let_go(blob_of("file"), "a", 1000).ok());
  Store other = connect();
  int asked = 0;
  const auto removed = remove_expired(store_, *blobs_, kDays, [&]() -> UnixTime {
    if (asked++ == 0) return 1000;
    EXPECT_EQ(other.claim_removals(10, 1600)->claimed.size(), 1U);
    return 1600;
  });
  ASSERT_TRUE(removed.ok()) << refusal(removed);
  EXPECT_TRUE(kept("file"));
  ASSERT_TRUE(store_.end_removal(blob_of("file"), 1000, true).ok());
  EXPECT_EQ(announced("b", "file", 1600), "removing");
  ASSERT_TRUE(other.end_removal(blob_of("file"), 1600, true).ok());
  EXPECT_EQ(announced("b", "file", 1600), "none");
}

// An upload that ended after the claim has put the file there again.
TEST_P(RetentionTest, WhatIsLeftDuringARemovalIsRemovedLater) {
  enrol(store_, "a");
  keep("file");
  ASSERT_TRUE(store_.let_go(blob_of("file"), "a", 1000).ok());
  WatchedRemovals slow(*blobs_, [&]() -> Status { return connect().let_go(blob_of("file"), "a", 2000); });
  ASSERT_TRUE(remove_expired(store_, slow, kDays, at(1000)).ok());
  keep("file");
  clean(1999);
  EXPECT_TRUE(kept("file"));
  clean(2000);
  EXPECT_FALSE(kept("file"));
}

// Killed before or after any statement, commit or removal, and run again: all that expired is gone, all else is there.
TEST_P(RetentionTest, SurvivesAKillAnywhere) {
  UnixTime now = kLater;
  for (int fatal = 0, done = 0; done == 0; ++fatal) {
    ASSERT_LT(fatal, 60);
    const std::array clients = {fmt::format("a {}", fatal), fmt::format("b {}", fatal)};
    for (const std::string& client : clients) {
      enrol(store_, client);
      rejected(client, "file of " + client);
    }
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<int> left{fatal};
      const auto point = [&] {
        if (left-- == 0) ::kill(::getpid(), SIGKILL);
      };
      auto store = Store::over(std::make_unique<WatchedDatabase>(*open_database(address_), point));
      WatchedRemovals blobs(*blobs_, [&]() -> Status {
        point();
        return Done{};
      });
      ::_exit(remove_expired(*store, blobs, kDays, at(now)).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      done = 1;
    }
    now += 600;  // a claim of the dead has run out
    clean(now);
    for (const std::string& client : clients) EXPECT_FALSE(kept("file of " + client)) << fatal;
    EXPECT_TRUE(kept("deployment"));
  }
}

}  // namespace
}  // namespace zkapex
