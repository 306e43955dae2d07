// Leases and what they are for: whoever dies, comes late or comes twice, each delivery has one verdict.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include "base/result_testing.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::WatchedDatabase;

// Tries again at once, for ever.
constexpr JobRules kTireless{.first_delay = 0, .attempts = 1'000'000};

class JobsTest : public OnBothEngines {
 protected:
  JobsTest() : store_(connect()) {}

  // Registrations of so many clients, received at time 6 and in the log.
  void deliver(int count) {
    for (int k = 0; k < count; ++k) {
      const std::string client = fmt::format("c{}", k);
      enrol(store_, client);
      const Announcement wanted = announcement(DeliveryKind::kRegistration, client, "r");
      ASSERT_EQ(name(store_.announce(wanted, 5)->refusal), "none");
      ASSERT_EQ(name(store_.receive(wanted.id, bytes_of("receipt"), 6)->refusal), "none");
    }
    sequence(store_);
  }
  std::vector<Job> claim(Store& store, UnixTime now, size_t limit = 64) {
    auto jobs = store.claim("worker", limit, now);
    EXPECT_TRUE(jobs.ok()) << jobs.error().message;
    return jobs.ok() ? *std::move(jobs) : std::vector<Job>();
  }
  static std::vector<bool> conclude(Store& store, const std::vector<Job>& jobs, UnixTime now,
                                    const std::string& commitment = "m") {
    std::vector<Conclusion> all;
    for (const Job& job : jobs) all.push_back(conclusion(job, true, 0, commitment));
    const auto written = store.conclude(all, now);
    EXPECT_TRUE(written.ok()) << written.error().message;
    return written.ok() ? *written : std::vector<bool>();
  }
  // Every delivery has its verdict, its model and its entry in the log, once.
  void expect_all_decided_once(int count) {
    sequence(store_);
    std::set<Bytes> verdicts;
    for (int k = 0; k < count; ++k) {
      const std::string client = fmt::format("c{}", k);
      EXPECT_EQ(store_.models(client)->size(), 1U) << client;
      const auto all = *store_.deliveries_of(client, 10);
      ASSERT_EQ(all.size(), 1U);
      ASSERT_TRUE(all[0].verdict) << client;
      verdicts.insert(all[0].verdict->entry);
    }
    LogTables log(store_.database());
    const uint64_t size = *log.size();
    int logged = 0;
    const std::vector<Bytes> entries = *log.entries(0, size);
    for (const Bytes& entry : entries) logged += verdicts.contains(entry) ? 1 : 0;
    EXPECT_EQ(logged, count);
    EXPECT_EQ(size, static_cast<uint64_t>(3 * count));  // client, registration and verdict of each
    EXPECT_EQ(store_.queue()->done, static_cast<uint64_t>(count));
  }

  Store store_;
};
ZKAPEX_ON_BOTH_ENGINES(JobsTest);

TEST_P(JobsTest, WaitForTheLogAndAreClaimedOnce) {
  enrol(store_, "c0");
  const Announcement wanted = announcement(DeliveryKind::kRegistration, "c0", "r");
  ASSERT_TRUE(store_.announce(wanted, 5).ok());
  ASSERT_TRUE(store_.receive(wanted.id, bytes_of("receipt"), 6).ok());
  EXPECT_TRUE(claim(store_, 7).empty());
  sequence(store_);
  EXPECT_TRUE(claim(store_, 5).empty());  // not due yet
  const auto jobs = claim(store_, 7);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].attempt, 1U);
  EXPECT_EQ(jobs[0].delivery.announced.id, wanted.id);
  EXPECT_EQ(jobs[0].delivery.index, 1U);
  EXPECT_TRUE(claim(store_, 7).empty());
  EXPECT_EQ(conclude(store_, jobs, 8), std::vector<bool>{true});
  EXPECT_EQ(conclude(store_, jobs, 8), std::vector<bool>{false});  // delivered twice
  expect_all_decided_once(1);
}

TEST_P(JobsTest, OneKindAndOneWindowAtATime) {
  registered(store_, "a");
  registered(store_, "b");
  for (const char* id : {"w1", "w2"}) ASSERT_TRUE(store_.publish_window(window(id)).ok());
  sequence(store_);
  enrol(store_, "c0");
  for (const Announcement& wanted : {announcement(DeliveryKind::kSubmission, "a", "p", "w1"),
                                     announcement(DeliveryKind::kSubmission, "b", "p", "w2"),
                                     announcement(DeliveryKind::kRegistration, "c0", "r")}) {
    ASSERT_EQ(name(store_.announce(wanted, 200)->refusal), "none");
    ASSERT_EQ(name(store_.receive(wanted.id, bytes_of("receipt"), 200)->refusal), "none");
  }
  sequence(store_);
  for (const char* client : {"a", "b", "c0"}) {
    const auto jobs = claim(store_, 300);
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].delivery.announced.client, client);
  }
}

TEST_P(JobsTest, ALeaseEndsUnlessItIsRenewed) {
  deliver(2);
  const auto jobs = claim(store_, 10);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(store_.heartbeat(jobs, 60)->size(), 2U);
  EXPECT_TRUE(claim(store_, 119).empty());
  EXPECT_TRUE(claim(store_, 120).empty());       // returned now, and due after a delay
  EXPECT_EQ(claim(store_, 125, 64).size(), 1U);  // what broke off is tried alone
  EXPECT_EQ(claim(store_, 125, 64).size(), 1U);
  EXPECT_TRUE(store_.heartbeat(jobs, 126)->empty());
}

// A worker that was only slow comes back with a token that no longer counts.
TEST_P(JobsTest, AZombieWritesNothing) {
  deliver(1);
  const auto old_jobs = claim(store_, 10);
  EXPECT_TRUE(claim(store_, 70).empty());
  Store other = connect();
  const auto new_jobs = claim(other, 75);
  ASSERT_EQ(new_jobs.size(), 1U);
  EXPECT_GT(new_jobs[0].token, old_jobs[0].token);
  EXPECT_EQ(conclude(store_, old_jobs, 76, "zombie"), std::vector<bool>{false});
  ASSERT_TRUE(store_.fail(old_jobs[0], "zombie", 76).ok());
  EXPECT_EQ(conclude(other, new_jobs, 77, "right"), std::vector<bool>{true});
  EXPECT_EQ(conclude(store_, old_jobs, 78, "zombie"), std::vector<bool>{false});
  const auto models = *store_.models("c0");
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].commitment, digest_of("right"));
  expect_all_decided_once(1);
}

// The machines of a provider may not agree about the time.
TEST_P(JobsTest, AWorkerWhoseClockIsOffCostsTimeOnly) {
  constexpr UnixTime kADayOff = 86'400;
  deliver(1);
  EXPECT_TRUE(claim(store_, 10 - kADayOff).empty());  // nothing is due there
  const auto right = claim(store_, 10);
  ASSERT_EQ(right.size(), 1U);
  EXPECT_TRUE(claim(store_, 10 - kADayOff).empty());
  EXPECT_TRUE(claim(store_, 10 + kADayOff).empty());  // it takes the lease away
  const auto ahead = claim(store_, 15 + kADayOff);
  ASSERT_EQ(ahead.size(), 1U);
  EXPECT_EQ(conclude(store_, right, 16, "right"), std::vector<bool>{false});
  EXPECT_EQ(conclude(store_, ahead, 16 + kADayOff, "ahead"), std::vector<bool>{true});
  expect_all_decided_once(1);
}

TEST_P(JobsTest, AConclusionIsOfItsOwnJob) {
  deliver(2);
  const auto jobs = claim(store_, 10);
  Conclusion mixed = conclusion(jobs[0], true, 0, "m");
  mixed.delivery = jobs[1].delivery.announced.id;
  EXPECT_EQ(*store_.conclude(std::vector{mixed}, 11), std::vector<bool>{false});
  EXPECT_EQ(conclude(store_, jobs, 12), (std::vector<bool>{true, true}));
  expect_all_decided_once(2);
}

// The chain of models is compared and swapped.
TEST_P(JobsTest, AVerdictOnAModelThatMovedIsMadeAgain) {
  registered(store_, "c0");
  ASSERT_TRUE(store_.publish_window(window("w1")).ok());
  sequence(store_);
  const Announcement wanted = announcement(DeliveryKind::kSubmission, "c0", "p", "w1");
  ASSERT_TRUE(store_.announce(wanted, 200).ok());
  ASSERT_TRUE(store_.receive(wanted.id, bytes_of("receipt"), 200).ok());
  sequence(store_);
  for (const bool accepted : {true, false}) {
    const auto jobs = claim(store_, 300);
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].attempt, 1U);
    EXPECT_EQ(*store_.conclude(std::vector{conclusion(jobs[0], accepted, 0, "m")}, 300), std::vector<bool>{false});
  }
  const auto jobs = claim(store_, 300);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(*store_.conclude(std::vector{conclusion(jobs[0], true, 1, "m")}, 300), std::vector<bool>{true});
  EXPECT_EQ(store_.models("c0")->size(), 2U);
}

TEST_P(JobsTest, FiveAttemptsThenADeadLetter) {
  deliver(1);
  UnixTime now = 10;
  for (const UnixTime delay : {5, 20, 80, 320}) {
    const auto jobs = claim(store_, now);
    ASSERT_EQ(jobs.size(), 1U);
    ASSERT_TRUE(store_.fail(jobs[0], "no memory", now).ok());
    EXPECT_TRUE(claim(store_, now + delay - 1).empty());
    now += delay;
  }
  const auto last = claim(store_, now);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].attempt, 5U);
  ASSERT_TRUE(store_.fail(last[0], "no memory at all", now).ok());
  EXPECT_TRUE(claim(store_, now + 1'000'000).empty());
  const auto dead = *store_.dead_jobs(10);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].why, "no memory at all");
  EXPECT_EQ(dead[0].attempts, 5U);
  // Never a client's rejection: it waits for an operator.
  EXPECT_EQ(dead[0].delivery.state, DeliveryState::kReceived);
  EXPECT_TRUE(dead[0].delivery.dead);
  EXPECT_EQ(store_.queue()->dead, 1U);
  EXPECT_TRUE(*store_.revive(dead[0].id, now));
  EXPECT_FALSE(*store_.revive(dead[0].id, now));
  const auto again = claim(store_, now);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(conclude(store_, again, now), std::vector<bool>{true});
  expect_all_decided_once(1);
}

// A job that kills whoever takes it does so five times, and the others of its batch are decided meanwhile.
TEST_P(JobsTest, AJobThatKillsWorkersDiesAlone) {
  deliver(3);
  const std::string killer = "c1";
  UnixTime now = 10;
  int crashes = 0, decided = 0;
  for (int round = 0; round < 60; ++round, now += 30) {
    const auto jobs = claim(store_, now);
    bool killed = false;
    for (const Job& job : jobs) killed = killed || job.delivery.announced.client == killer;
    if (killed) {
      ++crashes;
    } else if (!jobs.empty()) {
      decided += static_cast<int>(conclude(store_, jobs, now).size());
    }
  }
  EXPECT_EQ(crashes, 5);
  EXPECT_EQ(decided, 2);
  const auto dead = *store_.dead_jobs(10);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].delivery.announced.client, killer);
  EXPECT_EQ(dead[0].delivery.state, DeliveryState::kReceived);
}

// Two connections, each claiming a few at a time: every job is somebody's, and nobody's twice.
TEST_P(JobsTest, WorkersShareTheQueue) {
  deliver(12);
  std::atomic<int> written = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k) {
    threads.emplace_back([&] {
      Store mine = connect();
      for (int round = 0; round < 50 && written < 12; ++round) {
        const auto jobs = claim(mine, 10, 2);
        for (const bool ok : conclude(mine, jobs, 11)) written += ok ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written, 12);
  expect_all_decided_once(12);
}

// A process that is killed at its write number `fatal`; false when it has fewer.
template <class Work>
bool killed_at(int fatal, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int point = 0;
    work([&] {
      if (point++ == fatal) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

// Everything from the code to the verdict, killed before and after every statement and commit, and done again.
TEST_P(JobsTest, KilledAtEveryWriteNothingIsLostAndNothingTwice) {
  const Announcement wanted = announcement(DeliveryKind::kRegistration, "c0", "r");
  UnixTime now = 10;
  const auto story = [&](const std::function<void()>& point) -> Status {
    ZKAPEX_TRY(std::unique_ptr<Database> plain, open_database(address_));
    ZKAPEX_TRY(Store store, Store::over(std::make_unique<WatchedDatabase>(std::move(plain), point)));
    store.set_rules(kTireless);
    const Digest code = digest_of("code");
    const Status added = store.add_code(code, "", 1'000'000, now);  // known after the first time
    static_cast<void>(added);
    ZKAPEX_TRY(const TakenKey taken, store.enrol(code, "c0", key_of("c0"), bytes_of("client"), now));
    ZKAPEX_TRY(const TakenDelivery announced, store.announce(wanted, now));
    ZKAPEX_TRY(const TakenDelivery got, store.receive(wanted.id, bytes_of("receipt"), now));
    if (taken.refusal != Refusal::kNone || announced.refusal != Refusal::kNone || got.refusal != Refusal::kNone)
      return error("refused: {} {} {}", name(taken.refusal), name(announced.refusal), name(got.refusal));
    sequence(store);
    ZKAPEX_TRY(const std::vector<Job> jobs, store.claim("worker", 64, now));
    for (const Job& job : jobs) {
      ZKAPEX_TRY(const auto written, store.conclude(std::vector{conclusion(job, true, 0, "m")}, now));
    }
    sequence(store);
    return Done{};
  };
  int fatal = 0;
  while (fatal < 200 && killed_at(fatal, [&](const auto& point) {
           if (!story(point)) ::_exit(3);
         })) {
    ++fatal;
    now += 100;  // a lease that the dead one had runs out
  }
  EXPECT_GT(fatal, 40);
  EXPECT_LT(fatal, 200);
  expect_all_decided_once(1);
  const Status whole = story([] {});
  EXPECT_TRUE(whole.ok()) << testing::refusal(whole);
  expect_all_decided_once(1);
}

TEST_P(JobsTest, TheLogGivesPlacesOnce) {
  deliver(1);
  Store other = connect();
  LogTables log(store_.database()), second(other.database());
  ASSERT_TRUE(store_.set_deployment(blob_of("d"), bytes_of("deployment")).ok());
  const auto queued = *log.queued(10);
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(*log.size(), 2U);
  const std::vector<PlacedEntry> placed = {{queued[0].id, sha256(queued[0].entry)}};
  const auto told = [&](LogTables& tables, uint64_t expected) -> std::string {
    const auto done = tables.place(expected, placed);
    if (!done) return done.error().message;
    return *done ? "placed" : "refused";
  };
  EXPECT_EQ(told(second, 1), "refused");
  EXPECT_EQ(told(log, 2), "placed");
  EXPECT_EQ(told(second, 2), "refused");  // by then another has moved on
  EXPECT_EQ(told(second, 3), "refused");  // nor does an entry get two places
  EXPECT_EQ(*log.size(), 3U);
  EXPECT_TRUE(log.queued(10)->empty());
  const auto entries = log.entries(2, 3);
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  EXPECT_EQ(entries->front(), bytes_of("deployment"));
  EXPECT_FALSE(log.entries(2, 4).ok());
  EXPECT_FALSE(log.last_checkpoint()->has_value());
  EXPECT_EQ(*log.insert_checkpoint(3, "note a"), "note a");
  EXPECT_EQ(*second.insert_checkpoint(3, "note b"), "note a");
  EXPECT_EQ(*second.insert_checkpoint(2, "older"), "older");
  EXPECT_EQ(*log.last_checkpoint(), "note a");
}

}  // namespace
}  // namespace zkapex
