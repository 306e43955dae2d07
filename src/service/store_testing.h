// Stores for tests: on SQLite in a temporary file, and on a PostgreSQL server of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "service/blobs.h"
#include "service/log_tables.h"
#include "service/store.h"

namespace zkapex::testing {

// A server in a temporary folder, reached by a socket there; gone with the object.
class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // One for all tests of the process.
  static PostgresServer& shared();

  // A new, empty database.
  [[nodiscard]] std::string new_database();
  // As if the machine had lost its power: connections and open transactions are gone.
  void crash();
  void start();

 private:
  void command(const std::vector<std::string>& arguments) const;

  Path folder_;
  int databases_ = 0;
};

// Calls `point` before each statement, before each commit, and after it.
class WatchedDatabase : public Database {
 public:
  WatchedDatabase(std::unique_ptr<Database> database, std::function<void()> point)
      : database_(std::move(database)), point_(std::move(point)) {}

  [[nodiscard]] const SqlDialect& dialect() const override { return database_->dialect(); }
  Result<std::vector<SqlRow>> run(std::string_view statement, const SqlRow& values) override {
    point_();
    return database_->run(statement, values);
  }
  Result<std::vector<std::vector<SqlRow>>> run_each(std::string_view statement,
                                                    std::span<const SqlRow> values) override {
    point_();
    return database_->run_each(statement, values);
  }
  Status begin() override { return database_->begin(); }
  Status commit() override {
    point_();
    Status out = database_->commit();
    point_();
    return out;
  }
  void roll_back() override { database_->roll_back(); }

 private:
  std::unique_ptr<Database> database_;
  std::function<void()> point_;
};

// The parameter is "sqlite" or "postgresql".
class OnBothEngines : public ::testing::TestWithParam<std::string> {
 protected:
  OnBothEngines();
  ~OnBothEngines() override;

  [[nodiscard]] bool on_postgres() const { return GetParam() == "postgresql"; }
  // Another connection to the test's store.
  [[nodiscard]] Store connect() const;

  // Everything in the outbox gets its place in the log.
  static void sequence(Store& store);
  // An enrolled client with a key of its name.
  static void enrol(Store& store, const std::string& client);
  static ClientKey key_of(const std::string& name) { return {"key of " + name, "ed25519", bytes_of("k" + name)}; }
  static Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }
  static Digest digest_of(std::string_view text) { return sha256(view(text)); }
  static BlobName blob_of(std::string_view text) { return {digest_of(text), text.size()}; }
  static Announcement announcement(DeliveryKind kind, const std::string& client, const std::string& file,
                                   const std::string& window = "");
  static Conclusion conclusion(const Job& job, bool accepted, uint64_t from, const std::string& commitment = "");
  // From the announcement to the accepting verdict.
  static void registered(Store& store, const std::string& client);
  static WindowInfo window(const std::string& id, UnixTime opens = 100, UnixTime deadline = 1000);

  Path folder_;
  std::string address_;
};

#define ZKAPEX_ON_BOTH_ENGINES(suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, ::testing::Values("sqlite", "postgresql"), \
                           [](const ::testing::TestParamInfo<std::string>& parameter) { return parameter.param; })

}  // namespace zkapex::testing
