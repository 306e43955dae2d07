// Whatever happens to the worker, each delivery gets one verdict, and none for a fault of the provider's.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "service/worker_testing.h"

namespace zkapex {
namespace {

using testing::kAnna;
using testing::kBert;
using testing::kCara;
using testing::WatchedBlobs;
using testing::WatchedDatabase;
using testing::WorkerFixture;

class KilledWorker : public WorkerFixture {
 protected:
  // All that is due, in a process of its own, which is killed at its write number `fatal`, or when it reads that file.
  // True if it was.
  bool killed(int fatal, const std::optional<BlobName>& poison, const JobRules& rules) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<int> at = 0;  // files are written by several threads
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
ZKAPEX_ON_BOTH_ENGINES(KilledWorker);

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

}  // namespace
}  // namespace zkapex
