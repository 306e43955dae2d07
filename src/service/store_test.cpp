// Clients, windows and deliveries: each promise on both engines.
#include "service/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/result_testing.h"
#include "service/migrations.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;

class StoreTest : public OnBothEngines {
 protected:
  StoreTest() : store_(connect()) {}

  std::string enrolled(const std::string& code, const std::string& client, const std::string& key, UnixTime now = 10) {
    const auto taken = store_.enrol(digest_of(code), client, key_of(key), bytes_of("entry"), now);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return taken->known ? "known" : std::string(name(taken->refusal));
  }
  std::string rotated(const std::string& client, const std::string& from, const std::string& to, uint64_t number = 1) {
    const auto taken = store_.rotate_key(client, key_of(from).id, number, key_of(to), bytes_of("rotation"), 20);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return taken->known ? "known" : std::string(name(taken->refusal));
  }
  static std::string told(const Result<TakenDelivery>& taken) {
    if (!taken.ok()) return "error: " + taken.error().message;
    return taken->known ? "known" : std::string(name(taken->refusal));
  }
  std::string announced(const Announcement& wanted, UnixTime now) { return told(store_.announce(wanted, now)); }
  std::string received(const Announcement& wanted, UnixTime now, const std::string& receipt = "receipt") {
    return told(store_.receive(wanted.id, bytes_of(receipt), now));
  }
  std::string published(const WindowInfo& window) {
    const auto taken = store_.publish_window(window);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    sequence(store_);
    return taken->known ? "known" : std::string(name(taken->refusal));
  }
  // The verdict on the client's delivery that waits for it.
  void decide(bool accepted, uint64_t from, const std::string& commitment, UnixTime now) {
    sequence(store_);
    const auto jobs = store_.claim("worker", 10, now);
    ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
    const auto written = store_.conclude(std::vector{conclusion(jobs->front(), accepted, from, commitment)}, now);
    ASSERT_TRUE(written.ok()) << written.error().message;
    ASSERT_TRUE(written->front());
    sequence(store_);
  }
  static Announcement proof(const std::string& client, const std::string& window, const std::string& file = "proof") {
    return announcement(DeliveryKind::kSubmission, client, file, window);
  }
  static Announcement update(const std::string& client, const std::string& file = "update") {
    return announcement(DeliveryKind::kUpdate, client, file);
  }

  Store store_;
};
ZKAPEX_ON_BOTH_ENGINES(StoreTest);

TEST_P(StoreTest, IsOfOneDeployment) {
  EXPECT_FALSE(store_.deployment()->has_value());
  ASSERT_TRUE(store_.set_deployment(blob_of("deployment"), bytes_of("notice")).ok());
  ASSERT_TRUE(store_.set_deployment(blob_of("deployment"), bytes_of("another notice")).ok());
  EXPECT_NE(refusal(store_.set_deployment(blob_of("other"), bytes_of("notice"))).find("another deployment"),
            std::string::npos);
  sequence(store_);
  const auto found = *store_.deployment();
  EXPECT_EQ(found->file, blob_of("deployment"));
  EXPECT_EQ(found->entry, bytes_of("notice"));
  EXPECT_EQ(found->index, 0U);
}

TEST_P(StoreTest, ACodeEnrolsOneKeyOnce) {
  ASSERT_TRUE(store_.add_code(digest_of("a"), "Ada", 100, 1).ok());
  ASSERT_TRUE(store_.add_code(digest_of("b"), "", 100, 1).ok());
  ASSERT_TRUE(store_.add_code(digest_of("late"), "", 100, 1).ok());
  EXPECT_FALSE(store_.add_code(digest_of("a"), "Eve", 100, 1).ok());
  EXPECT_EQ(enrolled("none", "c1", "k1"), "no-code");
  EXPECT_EQ(enrolled("a", "c1", "k1"), "none");
  EXPECT_EQ(enrolled("a", "c1", "k1"), "known");
  EXPECT_EQ(enrolled("a", "c2", "k2"), "code-used");
  EXPECT_EQ(enrolled("b", "c2", "k1"), "key-taken");
  EXPECT_EQ(enrolled("b", "c1", "k2"), "name-taken");
  EXPECT_EQ(enrolled("late", "c3", "k3", 100), "code-expired");
  EXPECT_EQ(enrolled("late", "c3", "k3", 99), "none");
  EXPECT_EQ(enrolled("b", "c2", "k2"), "none");  // what was refused did not spend it
  EXPECT_EQ(*store_.client_count(), 3U);
  EXPECT_EQ((*store_.client("c1"))->person, "Ada");
  ASSERT_TRUE(store_.forget_person("c1").ok());
  EXPECT_FALSE((*store_.client("c1"))->person);
  const auto page = *store_.clients("c1", 1);
  ASSERT_EQ(page.size(), 1U);
  EXPECT_EQ(page[0].name, "c2");
}

TEST_P(StoreTest, TwoAtOnceSpendACodeOnce) {
  ASSERT_TRUE(store_.add_code(digest_of("a"), "", 100, 1).ok());
  std::vector<std::thread> threads;
  std::atomic<int> enrolled_now = 0, refused = 0;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      Store mine = connect();
      const std::string who = fmt::format("c{}", k);
      const auto taken = mine.enrol(digest_of("a"), who, key_of(who), bytes_of("entry"), 10);
      ASSERT_TRUE(taken.ok()) << taken.error().message;
      ++(taken->refusal == Refusal::kNone ? enrolled_now : refused);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(enrolled_now, 1);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(*store_.client_count(), 1U);
}

TEST_P(StoreTest, KeysAreRotatedOneAfterTheOther) {
  enrol(store_, "c1");
  enrol(store_, "c2");
  EXPECT_EQ(rotated("c9", "c9", "new"), "no-client");
  EXPECT_EQ(rotated("c1", "c2", "new"), "key-retired");  // another's key is not this client's current one
  EXPECT_EQ(rotated("c1", "c1", "c2"), "key-taken");
  EXPECT_EQ(rotated("c1", "c1", "new", 2), "key-number");
  EXPECT_EQ(rotated("c1", "c1", "new"), "none");
  EXPECT_EQ(rotated("c1", "c1", "new"), "known");
  EXPECT_EQ(rotated("c1", "c1", "newer", 2), "key-retired");
  EXPECT_EQ(rotated("c1", "new", "c1"), "key-taken");  // nor does an old key come back
  EXPECT_EQ((*store_.key(key_of("c1").id))->retired, 20);
  const auto current = *store_.key(key_of("new").id);
  EXPECT_EQ(current->client, "c1");
  EXPECT_EQ(current->key, key_of("new"));
  EXPECT_FALSE(current->retired);
  EXPECT_FALSE(store_.key("no such key")->has_value());
  ASSERT_TRUE(store_.add_code(digest_of("more"), "", 100, 1).ok());
  EXPECT_EQ(enrolled("more", "c1", "c1"), "key-taken");
}

// In the log every statement is signed by the key that its client has at that place.
TEST_P(StoreTest, WhatTheOldKeyAnnouncedIsAnnouncedAgain) {
  enrol(store_, "c1");
  const Announcement old = announcement(DeliveryKind::kRegistration, "c1", "registration");
  EXPECT_EQ(announced(old, 10), "none");
  EXPECT_EQ(rotated("c1", "c1", "new"), "none");
  EXPECT_EQ(received(old, 21), "no-delivery");
  EXPECT_EQ(announced(old, 22), "key-retired");  // its signature was checked before, and it comes now
  Announcement again = old;
  again.signer = key_of("new").id;
  EXPECT_EQ(announced(again, 23), "none");
  EXPECT_EQ(received(again, 24), "none");
  // What was received stays: it is in the log before the next key.
  EXPECT_EQ(rotated("c1", "new", "newer", 2), "none");
  EXPECT_EQ(received(again, 25), "known");
}

TEST_P(StoreTest, AWindowIsPublishedOnce) {
  EXPECT_EQ(published(window("w1")), "none");
  EXPECT_EQ(published(window("w1")), "known");
  WindowInfo other = window("w1");
  other.psi = blob_of("another");
  EXPECT_EQ(published(other), "window-taken");
  EXPECT_EQ(published(window("w0")), "none");
  const auto all = *store_.windows();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "w1");
  EXPECT_EQ(all[0].psi, blob_of("psi of w1"));
  EXPECT_EQ(all[0].index, 0U);
  EXPECT_EQ(all[1].index, 1U);
  EXPECT_FALSE(store_.window("w2")->has_value());
}

TEST_P(StoreTest, ADeliveryIsAnnouncedReceivedAndDecided) {
  registered(store_, "c1");
  ASSERT_EQ(published(window("w1")), "none");
  EXPECT_EQ(announced(proof("c1", "w1"), 200), "none");
  EXPECT_EQ(announced(proof("c1", "w1"), 201), "known");
  EXPECT_EQ(received(proof("c1", "w1"), 202, "first"), "none");
  EXPECT_EQ(received(proof("c1", "w1"), 203, "second"), "known");
  const auto waits = **store_.delivery(proof("c1", "w1").id);
  EXPECT_EQ(waits.state, DeliveryState::kReceived);
  EXPECT_EQ(waits.receipt, bytes_of("first"));
  EXPECT_EQ(waits.received_at, 202);
  EXPECT_EQ(waits.announced.entry, proof("c1", "w1").entry);
  EXPECT_FALSE(waits.verdict);
  decide(true, 1, "model 2 of c1", 210);
  const auto decided = **store_.delivery(proof("c1", "w1").id);
  EXPECT_EQ(decided.state, DeliveryState::kAccepted);
  ASSERT_TRUE(decided.verdict);
  EXPECT_TRUE(decided.verdict->accepted);
  EXPECT_EQ(decided.verdict->at, 210);
  EXPECT_GT(decided.verdict->index.value(), decided.index.value());
  EXPECT_EQ(announced(proof("c1", "w1"), 211), "known");
  EXPECT_EQ(received(proof("c1", "w1"), 2000), "known");  // the same answer for ever
  EXPECT_EQ(announced(proof("c1", "w1", "second"), 212), "done");
  const auto models = *store_.models("c1");
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[1].delivery, proof("c1", "w1").id);
  EXPECT_EQ((*store_.client("c1"))->model->version, 2U);
  EXPECT_EQ(store_.deliveries_of("c1", 10)->size(), 2U);
}

TEST_P(StoreTest, OnlyWhoIsDueMaySubmitInTime) {
  registered(store_, "c1");
  enrol(store_, "c2");
  ASSERT_EQ(published(window("w1", 100, 1000)), "none");
  registered(store_, "c3");
  EXPECT_EQ(announced(proof("nobody", "w1"), 200), "no-client");
  EXPECT_EQ(announced(proof("c2", "w1"), 200), "not-registered");
  EXPECT_EQ(announced(proof("c3", "w1"), 200), "not-due");
  EXPECT_EQ(announced(proof("c1", "w2"), 200), "no-window");
  EXPECT_EQ(announced(proof("c1", "w1"), 99), "not-open");
  EXPECT_EQ(announced(proof("c1", "w1"), 1000), "late");
  EXPECT_EQ(announced(proof("c1", "w1"), 999), "none");
  EXPECT_EQ(received(proof("c1", "w1"), 1000), "late");  // the deadline passed during the upload
  EXPECT_EQ(store_.tally("w1")->received, 0U);
  EXPECT_EQ(received(proof("c1", "w1"), 999), "none");
  EXPECT_EQ(told(store_.receive(digest_of("nothing"), {}, 500)), "no-delivery");
}

TEST_P(StoreTest, OneRegistrationAndOneDeliveryAtATime) {
  enrol(store_, "c1");
  const Announcement first = announcement(DeliveryKind::kRegistration, "c1", "r1");
  const Announcement second = announcement(DeliveryKind::kRegistration, "c1", "r2");
  EXPECT_EQ(announced(first, 5), "none");
  EXPECT_EQ(announced(second, 5), "none");
  EXPECT_EQ(received(first, 6), "none");
  EXPECT_EQ(received(second, 6), "undecided");
  EXPECT_EQ(announced(announcement(DeliveryKind::kRegistration, "c1", "r3"), 6), "undecided");
  decide(false, 0, "", 7);
  const auto rejected = **store_.delivery(first.id);
  EXPECT_EQ(rejected.state, DeliveryState::kRejected);
  EXPECT_EQ(rejected.verdict->reason, "equation");
  EXPECT_FALSE((*store_.client("c1"))->registration);
  EXPECT_EQ(received(second, 8), "none");  // a rejection is not the end
  decide(true, 0, "model", 9);
  EXPECT_EQ((*store_.client("c1"))->registration, second.id);
  EXPECT_EQ(announced(announcement(DeliveryKind::kRegistration, "c1", "r3"), 10), "registered");
}

TEST_P(StoreTest, UpdatesComeBetweenWindows) {
  registered(store_, "c1");
  EXPECT_EQ(announced(update("c1"), 40), "none");
  ASSERT_EQ(published(window("w1", 100, 1000)), "none");
  EXPECT_EQ(received(update("c1"), 60), "window-open");  // published, though not open yet
  EXPECT_EQ(announced(update("c1", "another"), 500), "window-open");
  registered(store_, "c2");
  EXPECT_EQ(announced(update("c2"), 500), "none");  // not asked for anything
  EXPECT_EQ(announced(proof("c1", "w1"), 500), "none");
  EXPECT_EQ(received(proof("c1", "w1"), 500), "none");
  EXPECT_EQ(received(update("c1"), 501), "window-open");
  decide(true, 1, "model 2 of c1", 502);
  EXPECT_EQ(received(update("c1"), 503), "none");
  enrol(store_, "c3");
  EXPECT_EQ(announced(update("c3"), 500), "not-registered");
}

TEST_P(StoreTest, AWindowThatIsOverIsNotWaitedFor) {
  registered(store_, "c1");
  ASSERT_EQ(published(window("w1", 100, 1000)), "none");
  EXPECT_EQ(announced(update("c1"), 999), "window-open");
  EXPECT_EQ(announced(update("c1"), 1000), "none");
}

// Whatever a statement says the second time, what is logged is what was said the first time.
TEST_P(StoreTest, AKnownKeyHasTheStatementThatIsLogged) {
  enrol(store_, "c1");
  const auto again = store_.enrol(digest_of("x"), "c1", key_of("c1"), bytes_of("something else"), 10);
  EXPECT_TRUE(again->known);
  EXPECT_EQ(again->entry, bytes_of("client c1"));
  EXPECT_EQ(rotated("c1", "c1", "new"), "none");
  const auto rotation = store_.rotate_key("c1", key_of("c1").id, 7, key_of("new"), bytes_of("something else"), 30);
  EXPECT_TRUE(rotation->known);
  EXPECT_EQ(rotation->entry, bytes_of("rotation"));
}

TEST_P(StoreTest, NumbersForPeople) {
  for (const char* client : {"c1", "c2", "c3", "c4"}) registered(store_, client);
  ASSERT_EQ(published(window("w1")), "none");
  registered(store_, "late");
  for (const char* client : {"c1", "c2"}) {
    ASSERT_EQ(announced(proof(client, "w1"), 200), "none");
    ASSERT_EQ(received(proof(client, "w1"), 200), "none");
    decide(client == std::string("c1"), 1, "next", 260);
  }
  ASSERT_EQ(announced(proof("c3", "w1"), 200), "none");
  ASSERT_EQ(received(proof("c3", "w1"), 290), "none");
  const WindowTally tally = *store_.tally("w1");
  EXPECT_EQ(tally.due, 4U);
  EXPECT_EQ(tally.received, 1U);
  EXPECT_EQ(tally.accepted, 1U);
  EXPECT_EQ(tally.rejected, 1U);
  const QueueCounts queue = *store_.queue();
  EXPECT_EQ(queue.ready, 1U);
  EXPECT_EQ(queue.done, 7U);
  EXPECT_EQ(queue.oldest, 290);
  const auto points = *store_.progress("w1", 100);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].from, 200);
  EXPECT_EQ(points[0].received, 3U);
  EXPECT_EQ(points[0].accepted, 1U);
  EXPECT_EQ(points[0].rejected, 1U);
  EXPECT_FALSE(store_.progress("w1", 0).ok());
  const auto who = *store_.compliance("w1", "c1", 10);
  ASSERT_EQ(who.size(), 3U);
  EXPECT_EQ(who[0].client, "c2");
  EXPECT_EQ(who[0].delivery->state, DeliveryState::kRejected);
  EXPECT_EQ(who[1].delivery->state, DeliveryState::kReceived);
  EXPECT_FALSE(who[2].delivery);
  EXPECT_TRUE(store_.ping().ok());
}

TEST_P(StoreTest, MigratesOnceAndRefusesANewerSchema) {
  EXPECT_TRUE(Store::open(address_).ok());
  auto database = *open_database(address_);
  ASSERT_TRUE(database->begin().ok());
  ASSERT_TRUE(database->run("INSERT INTO schema_steps (version) VALUES ($1)", {schema_version() + 1}).ok());
  ASSERT_TRUE(database->commit().ok());
  EXPECT_NE(refusal(Store::open(address_)).find("newer zkapex"), std::string::npos);
}

TEST_P(StoreTest, AnEarlierSchemaIsMigrated) {
  enrol(store_, "a");
  auto database = *open_database(address_);
  ASSERT_TRUE(database->begin().ok());
  for (const char* statement : {"DROP TABLE withdrawn", "DROP TABLE removals", "DROP TABLE carried",
                                "DROP INDEX client_keys_client", "DELETE FROM schema_steps WHERE version > 2"})
    ASSERT_TRUE(database->run(statement, {}).ok()) << statement;
  ASSERT_TRUE(database->commit().ok());
  auto migrated = Store::open(address_);
  ASSERT_TRUE(migrated.ok()) << refusal(migrated);
  EXPECT_TRUE((*migrated->client("a")).has_value());
  EXPECT_TRUE(migrated->let_go(blob_of("file"), "a", 10).ok());
  EXPECT_EQ(migrated->claim_removals(10, 10)->claimed.size(), 1U);
}

TEST_P(StoreTest, WhatFailsInATransactionLeavesNothing) {
  auto database = *open_database(address_);
  const Status failed = transact(*database, [&]() -> Status {
    ZKAPEX_CHECK(database->run("INSERT INTO entries (body) VALUES ($1)", {bytes_of("half")}));
    ZKAPEX_CHECK(database->run("INSERT INTO no_such_table (x) VALUES (1)", {}));
    return Done{};
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(LogTables(*database).queued(10)->empty());
  // The connection goes on.
  EXPECT_TRUE(database->run("SELECT 1", {}).ok());
}

TEST_P(StoreTest, ValuesComeBackAsTheyWere) {
  auto database = *open_database(address_);
  const SqlRow values = {int64_t{-7}, std::string("ü"), Bytes{0, 255, 10}, Bytes{}, SqlValue()};
  ASSERT_TRUE(database->begin().ok());
  const std::string table = "CREATE TABLE kept (a {integer}, b TEXT, c {bytes}, d {bytes}, e TEXT) {strict}";
  ASSERT_TRUE(database->run(in_dialect(table, database->dialect()), {}).ok());
  ASSERT_TRUE(database->run("INSERT INTO kept VALUES ($1, $2, $3, $4, $5)", values).ok());
  const auto rows = *database->run("SELECT a, b, c, d, e FROM kept", {});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0], values);
  ASSERT_TRUE(database->commit().ok());
  SqlReader wrong(rows[0]), negative(rows[0]);
  EXPECT_FALSE(wrong.text().ok());
  EXPECT_FALSE(negative.count().ok());
  SqlReader reader(rows[0]);
  ASSERT_TRUE(reader.integer().ok() && reader.text().ok());
  EXPECT_FALSE(reader.digest().ok());
  ASSERT_TRUE(reader.bytes().ok());
  EXPECT_FALSE(reader.text().ok());          // NULL
  EXPECT_FALSE(reader.text_or_null().ok());  // past the end
}

TEST(StoreAddress, SaysWhatIsWrong) {
  EXPECT_NE(refusal(Store::open("mysql://host/x")).find("is no store"), std::string::npos);
  EXPECT_NE(refusal(Store::open("")).find("is no store"), std::string::npos);
  EXPECT_NE(refusal(Store::open("/no/such/folder/store.sqlite")).find("cannot open"), std::string::npos);
  EXPECT_NE(refusal(Store::open("postgresql:///x?host=/no/such/folder")).find("cannot reach the database"),
            std::string::npos);
}

TEST(StoreAddress, TheFileIsForItsOwner) {
  const Path file = Path(::testing::TempDir()) / fmt::format("zkapex-owner-{}.sqlite", ::getpid());
  {
    ASSERT_TRUE(Store::open("sqlite:" + file.string()).ok());
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace zkapex
