#include "base/result_testing.h"
#include "service/log_tables.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::PostgresServer;
using testing::refusal;
using testing::WatchedDatabase;

// PostgreSQL is gone in the middle of a claim, and comes back.
TEST(JobsOnPostgres, TheServerCrashesInMidClaim) {
  PostgresServer server;
  const std::string address = server.new_database();
  int point = 0, fatal = -1;
  const auto crash = [&] {
    if (point++ == fatal) {
      server.crash();
      server.start();
    }
  };
  Store store = *Store::over(std::make_unique<WatchedDatabase>(*open_database(address), crash));
  const Bytes entry = {1};
  const auto enrol = [&](const std::string& client) {
    const Digest code = sha256(view(client));
    ASSERT_TRUE(store.add_code(code, "", 1000, 1).ok());
    ASSERT_TRUE(store.enrol(code, client, {client, "ed25519", entry}, entry, 1).ok());
    const Announcement wanted{DeliveryKind::kRegistration, code, client, "", {code, 1}, entry};
    ASSERT_TRUE(store.announce(wanted, 1).ok());
    ASSERT_TRUE(store.receive(code, entry, 1).ok());
  };
  enrol("c");
  LogTables log(store.database());
  std::vector<PlacedEntry> placed;
  const std::vector<QueuedEntry> waiting = *log.queued(10);
  for (const QueuedEntry& queued : waiting) placed.push_back({queued.id, sha256(queued.entry)});
  ASSERT_TRUE(*log.place(0, placed));
  UnixTime now = 10;
  for (fatal = 0; fatal < 4; ++fatal, now += 1000) {
    point = 0;
    const auto broken = store.claim("worker", 64, now);
    EXPECT_FALSE(broken.ok()) << "at point " << fatal;
    EXPECT_EQ(store.queue()->ready, 1U);  // on a new connection; the transaction left nothing
  }
  fatal = -1;
  const auto jobs = store.claim("worker", 64, now);
  ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
  EXPECT_EQ(jobs->front().attempt, 1U);
  Conclusion right;
  right.job = jobs->front().id;
  right.token = jobs->front().token;
  right.delivery = sha256(view("c"));
  right.accepted = true;
  right.entry = entry;
  // A server that goes away while the verdict is written: the same again, and it is there once.
  point = 0;
  fatal = 3;
  EXPECT_FALSE(store.conclude(std::vector{right}, now).ok());
  fatal = -1;
  EXPECT_EQ(*store.conclude(std::vector{right}, now), std::vector<bool>{true});
  EXPECT_EQ(*store.conclude(std::vector{right}, now), std::vector<bool>{false});
  EXPECT_EQ(store.models("c")->size(), 1U);
}

// Of many statements that were sent together one fails: the first failure is told, none of them happened, and the
// connection is good for what comes next.
TEST(JobsOnPostgres, APipelineThatFailsLeavesNothing) {
  PostgresServer server;
  const auto database = *open_database(server.new_database());
  const auto count = [&] { return std::get<int64_t>(database->run("SELECT COUNT(*) FROM t", {})->front().front()); };
  ASSERT_TRUE(database->run("CREATE TABLE t (v BIGINT PRIMARY KEY, w TEXT)", {}).ok());
  const std::vector<SqlRow> twice = {
      {int64_t{1}, std::string("a")}, {int64_t{2}, SqlValue()}, {int64_t{1}, SqlValue()}, {int64_t{3}, SqlValue()}};
  const char* const insert = "INSERT INTO t (v, w) VALUES ($1, $2) RETURNING w";
  const auto failed = transact(*database, [&] { return database->run_each(insert, twice); });
  EXPECT_NE(refusal(failed).find("duplicate key"), std::string::npos) << refusal(failed);
  EXPECT_EQ(count(), 0);
  const auto done = transact(*database, [&] { return database->run_each(insert, std::span(twice).first(2)); });
  ASSERT_TRUE(done.ok()) << refusal(done);
  ASSERT_EQ(done->size(), 2U);
  EXPECT_EQ((*done)[0], (std::vector<SqlRow>{{std::string("a")}}));
  EXPECT_EQ((*done)[1], (std::vector<SqlRow>{{SqlValue()}}));
  EXPECT_EQ(count(), 2);
  EXPECT_TRUE(database->run_each(insert, {})->empty());
  // The connection is lost meanwhile: an error in a transaction, a new one for what only reads.
  ASSERT_TRUE(database->begin().ok());
  server.crash();
  server.start();
  EXPECT_FALSE(database->run_each(insert, std::span(twice).first(1)).ok());
  database->roll_back();
  const auto read = database->run_each("SELECT w FROM t WHERE v = $1", std::vector<SqlRow>{{int64_t{1}}, {int64_t{9}}});
  ASSERT_TRUE(read.ok()) << refusal(read);
  EXPECT_EQ((*read)[0], (std::vector<SqlRow>{{std::string("a")}}));
  EXPECT_TRUE((*read)[1].empty());
}

}  // namespace
}  // namespace zkapex
