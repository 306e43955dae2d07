// Writes that are committed together: each as if it were alone, and on disk before its answer.
#include "service/write_queue.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <latch>
#include <set>
#include <thread>

#include "base/result_testing.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;
using testing::WatchedDatabase;

class WriteQueueTest : public OnBothEngines {
 protected:
  static constexpr int kClients = 8;

  WriteQueueTest() : store_(connect()) {
    for (int k = 0; k < kClients; ++k) EXPECT_TRUE(store_.add_code(digest_of(client(k)), "", 1000, 1).ok());
  }

  static std::string client(int k) { return fmt::format("c{}", k); }
  static Result<TakenKey> enrol_one(Store& store, int k) {
    return store.enrol(digest_of(client(k)), client(k), key_of(client(k)), bytes_of("entry " + client(k)), 5);
  }
  WriteQueue::Open opening(std::function<void()> point) {
    return [this, point = std::move(point)]() -> Result<std::unique_ptr<Database>> {
      ZKAPEX_TRY(std::unique_ptr<Database> database, open_database(address_));
      return std::unique_ptr<Database>(std::make_unique<WatchedDatabase>(std::move(database), point));
    };
  }
  // The first client's write does not end before all others wait: they are one batch.
  static void run_together(WriteQueue& queue, const std::function<Result<TakenKey>(Store&, int)>& work,
                           const std::function<void(int, const Result<TakenKey>&)>& answered) {
    std::latch begun(1);
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      answered(0, queue.run([&](Store& store) {
        begun.count_down();
        while (queue.waiting() < kClients - 1) std::this_thread::yield();
        return enrol_one(store, 0);
      }));
    });
    begun.wait();
    for (int k = 1; k < kClients; ++k) {
      threads.emplace_back([&, k] {
        try {
          answered(k, queue.run([&](Store& store) { return work(store, k); }));
        } catch (const std::exception& thrown) {
          answered(k, error("{}", thrown.what()));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::set<std::string> enrolled() {
    std::set<std::string> out;
    const auto clients = store_.clients("", 100);
    EXPECT_TRUE(clients.ok()) << refusal(clients);
    for (const ClientInfo& one : *clients) out.insert(one.name);
    return out;
  }

  Store store_;
};
INSTANTIATE_TEST_SUITE_P(Engines, WriteQueueTest, ::testing::Values("sqlite"),
                         [](const ::testing::TestParamInfo<std::string>& parameter) { return parameter.param; });

TEST_P(WriteQueueTest, WhoeverWaitsSharesOneCommit) {
  std::atomic<int> points{0};
  WriteQueue queue(opening([&] { ++points; }));
  ASSERT_TRUE(queue.run([](Store& store) { return enrol_one(store, 0); }).ok());
  points = 0;
  ASSERT_TRUE(queue.run([](Store& store) { return enrol_one(store, 1); }).ok());
  const int alone = points;  // statements, and two for the commit
  std::atomic<int> taken{0};
  points = 0;
  run_together(queue, enrol_one, [&](int k, const Result<TakenKey>& answer) {
    ASSERT_TRUE(answer.ok()) << refusal(answer);
    EXPECT_EQ(answer->known, k < 2) << k;
    ++taken;
  });
  EXPECT_EQ(taken, kClients);
  EXPECT_EQ(enrolled().size(), size_t{kClients});
  // The two that are known look up code, key and statement, and write nothing.
  EXPECT_EQ(points, (kClients - 2) * (alone - 2) + 2 * 3 + 2 * 2);
}

TEST_P(WriteQueueTest, OneThatFailsFailsAlone) {
  WriteQueue queue([this] { return open_database(address_); });
  const auto work = [](Store& store, int k) -> Result<TakenKey> {
    if (k != 3) return enrol_one(store, k);
    return transact(store.database(), [&]() -> Result<TakenKey> {
      ZKAPEX_CHECK(store.database().run("INSERT INTO clients (name, enrolled) VALUES ('half', 1)", {}));
      return error("trouble of one");
    });
  };
  run_together(queue, work, [](int k, const Result<TakenKey>& answer) {
    EXPECT_EQ(k == 3 ? refusal(answer) : answer.ok() ? "" : "failed", k == 3 ? "trouble of one" : "") << k;
  });
  const std::set<std::string> there = enrolled();
  EXPECT_EQ(there.size(), size_t{kClients - 1});
  EXPECT_FALSE(there.contains("half"));
}

TEST_P(WriteQueueTest, WhatIsAnsweredIsThereWhateverIsThrown) {
  WriteQueue queue([this] { return open_database(address_); });
  std::mutex mutex;
  std::set<std::string> answered;
  const auto work = [](Store& store, int k) -> Result<TakenKey> {
    if (k == 3) throw std::runtime_error("no memory");
    return enrol_one(store, k);
  };
  run_together(queue, work, [&](int k, const Result<TakenKey>& answer) {
    const std::lock_guard lock(mutex);
    if (answer.ok()) answered.insert(client(k));
  });
  EXPECT_FALSE(answered.contains(client(3)));
  EXPECT_EQ(enrolled(), answered);
  // And it goes on.
  for (int k = 0; k < kClients; ++k)
    EXPECT_TRUE(queue.run([&](Store& store) { return enrol_one(store, k); }).ok()) << k;
  EXPECT_EQ(enrolled().size(), size_t{kClients});
}

TEST_P(WriteQueueTest, AStoreThatCannotBeOpenedIsAnErrorForEach) {
  WriteQueue queue([]() -> Result<std::unique_ptr<Database>> { return error("gone"); });
  for (int round = 0; round < 2; ++round)
    EXPECT_EQ(refusal(queue.run([](Store& store) { return enrol_one(store, 0); })), "gone");
}

// A process that is killed at any point of a batch has answered nothing that is not there.
TEST_P(WriteQueueTest, WhatIsAnsweredSurvivesAKill) {
  for (int fatal = 0, done = 0; done == 0; ++fatal) {
    int answers[2];
    ASSERT_EQ(::pipe(answers), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<int> left{fatal};
      WriteQueue queue(opening([&] {
        if (left-- == 0) ::kill(::getpid(), SIGKILL);
      }));
      run_together(queue, enrol_one, [&](int k, const Result<TakenKey>& answer) {
        const char name = static_cast<char>('0' + k);
        if (answer.ok()) static_cast<void>(::write(answers[1], &name, 1) == 1);
      });
      ::_exit(0);
    }
    ::close(answers[1]);
    std::set<std::string> answered;
    for (char name = 0; ::read(answers[0], &name, 1) == 1;) answered.insert(client(name - '0'));
    ::close(answers[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    done = WIFEXITED(status) ? 1 : 0;
    const std::set<std::string> there = enrolled();
    for (const std::string& one : answered) EXPECT_TRUE(there.contains(one)) << one << " after " << fatal;
    if (done == 1) {
      EXPECT_EQ(there.size(), size_t{kClients});
    }
  }
}

}  // namespace
}  // namespace zkapex
