#include "service/migrations.h"

#include <array>

namespace zkapex {

namespace {

// A step is never changed once it was released: another one follows it.
constexpr std::array kFirst = {
    // The outbox, and with a place in it the log.
    R"(CREATE TABLE entries (
         id {serial},
         body {bytes} NOT NULL,
         place {integer} UNIQUE,
         leaf {bytes},
         CHECK ((place IS NULL) = (leaf IS NULL))
       ) {strict})",
    "CREATE INDEX entries_queued ON entries (id) WHERE place IS NULL",
    // How many entries have a place: what sequencers compare and swap.
    R"(CREATE TABLE log_size (
         one {integer} PRIMARY KEY CHECK (one = 1),
         size {integer} NOT NULL
       ) {strict})",
    "INSERT INTO log_size (one, size) VALUES (1, 0)",
    // Two notes of one size would be a fork.
    R"(CREATE TABLE checkpoints (
         size {integer} PRIMARY KEY,
         note TEXT NOT NULL
       ) {strict})",
    R"(CREATE TABLE deployment (
         one {integer} PRIMARY KEY CHECK (one = 1),
         sha256 {bytes} NOT NULL,
         bytes {integer} NOT NULL,
         entry {integer} NOT NULL REFERENCES entries (id)
       ) {strict})",
    R"(CREATE TABLE clients (
         name TEXT PRIMARY KEY,
         enrolled {integer} NOT NULL,
         person TEXT,
         registration {bytes}
       ) {strict})",
    R"(CREATE TABLE codes (
         sha256 {bytes} PRIMARY KEY,
         person TEXT,
         created {integer} NOT NULL,
         expires {integer} NOT NULL,
         client TEXT REFERENCES clients (name)
       ) {strict})",
    R"(CREATE TABLE client_keys (
         id TEXT PRIMARY KEY,
         client TEXT NOT NULL REFERENCES clients (name),
         algorithm TEXT NOT NULL,
         key {bytes} NOT NULL,
         added {integer} NOT NULL,
         retired {integer},
         entry {integer} NOT NULL REFERENCES entries (id)
       ) {strict})",
    "CREATE UNIQUE INDEX client_keys_current ON client_keys (client) WHERE retired IS NULL",
    R"(CREATE TABLE windows (
         number {serial},
         id TEXT NOT NULL UNIQUE,
         sha256 {bytes} NOT NULL,
         bytes {integer} NOT NULL,
         mask {bytes} NOT NULL,
         opens {integer} NOT NULL,
         deadline {integer} NOT NULL,
         published {integer} NOT NULL,
         entry {integer} NOT NULL REFERENCES entries (id)
       ) {strict})",
    // A window's name is empty for registrations and updates. The envelope moves to the outbox once the file is here.
    R"(CREATE TABLE deliveries (
         id {bytes} PRIMARY KEY,
         kind TEXT NOT NULL,
         client TEXT NOT NULL REFERENCES clients (name),
         window_id TEXT NOT NULL,
         sha256 {bytes} NOT NULL,
         bytes {integer} NOT NULL,
         envelope {bytes},
         state TEXT NOT NULL,
         announced {integer} NOT NULL,
         received {integer},
         receipt {bytes},
         entry {integer} REFERENCES entries (id),
         reason TEXT,
         detail TEXT,
         decided {integer},
         verdict {integer} REFERENCES entries (id),
         CHECK ((envelope IS NULL) = (entry IS NOT NULL)),
         CHECK ((state IN ('accepted', 'rejected')) = (verdict IS NOT NULL))
       ) {strict})",
    "CREATE INDEX deliveries_purpose ON deliveries (client, kind, window_id)",
    "CREATE INDEX deliveries_window ON deliveries (window_id, state)",
    // One at a time waits for its verdict, one registration and one answer to each window are accepted.
    "CREATE UNIQUE INDEX deliveries_undecided ON deliveries (client) WHERE state = 'received'",
    R"(CREATE UNIQUE INDEX deliveries_accepted ON deliveries (client, kind, window_id)
       WHERE state = 'accepted' AND kind <> 'update')",
    R"(CREATE TABLE jobs (
         id {serial},
         delivery {bytes} NOT NULL UNIQUE REFERENCES deliveries (id),
         kind TEXT NOT NULL,
         window_id TEXT NOT NULL,
         entry {integer} NOT NULL REFERENCES entries (id),
         state TEXT NOT NULL,
         run_at {integer} NOT NULL,
         attempts {integer} NOT NULL,
         alone {integer} NOT NULL,
         token {integer} NOT NULL,
         worker TEXT,
         lease_until {integer},
         why TEXT
       ) {strict})",
    "CREATE INDEX jobs_due ON jobs (state, run_at, id)",
    "CREATE INDEX jobs_waiting ON jobs (entry) WHERE state = 'waiting'",
    // The chain: the key is what workers compare and swap.
    R"(CREATE TABLE models (
         client TEXT NOT NULL REFERENCES clients (name),
         version {integer} NOT NULL,
         commitment {bytes} NOT NULL,
         model_sha256 {bytes} NOT NULL,
         model_bytes {integer} NOT NULL,
         record_sha256 {bytes} NOT NULL,
         record_bytes {integer} NOT NULL,
         delivery {bytes} NOT NULL UNIQUE REFERENCES deliveries (id),
         since {integer} NOT NULL,
         PRIMARY KEY (client, version)
       ) {strict})",
};

// When a delivery's file was removed, and what finds those that are due.
constexpr std::array kRetention = {
    "ALTER TABLE deliveries ADD COLUMN removed {integer}",
    "CREATE INDEX deliveries_kept ON deliveries (decided, id) WHERE removed IS NULL",
    "CREATE INDEX deliveries_announced ON deliveries (announced, id) WHERE state = 'announced'",
    "CREATE INDEX deliveries_file ON deliveries (sha256)",
    "CREATE INDEX models_model ON models (model_sha256)",
    "CREATE INDEX models_record ON models (record_sha256)",
};

constexpr std::array kLettingGo = {
    // Names of files that may be nobody's any more, and who let go of them. `removing`: since when one is being
    // removed.
    R"(CREATE TABLE removals (
         sha256 {bytes} NOT NULL,
         bytes {integer} NOT NULL,
         client TEXT NOT NULL REFERENCES clients (name),
         due {integer} NOT NULL,
         removing {integer},
         PRIMARY KEY (sha256, client)
       ) {strict})",
    "CREATE INDEX removals_due ON removals (due)",
    "CREATE INDEX removals_client ON removals (client) WHERE removing IS NOT NULL",
    // A new key is counted among the client's others.
    "CREATE INDEX client_keys_client ON client_keys (client)",
    // Where clients carry their state: the files that they are asked for, `past` ones for updates only; `here` is what
    // came along with something that has no verdict yet.
    R"(CREATE TABLE carried (
         client TEXT NOT NULL REFERENCES clients (name),
         sha256 {bytes} NOT NULL,
         bytes {integer} NOT NULL,
         past {integer} NOT NULL,
         here {integer} NOT NULL,
         PRIMARY KEY (client, sha256)
       ) {strict})",
    "CREATE INDEX carried_file ON carried (sha256)",
};

constexpr std::array kWithdrawals = {
    // What a new key took back: it counts against its client's limits for as long as an announcement would.
    R"(CREATE TABLE withdrawn (
         id {bytes} PRIMARY KEY,
         kind TEXT NOT NULL,
         client TEXT NOT NULL REFERENCES clients (name),
         window_id TEXT NOT NULL,
         announced {integer} NOT NULL
       ) {strict})",
    "CREATE INDEX withdrawn_purpose ON withdrawn (client, kind, window_id)",
    "CREATE INDEX withdrawn_announced ON withdrawn (announced)",
};

Status run_step(Database& database, std::span<const char* const> step, int64_t version) {
  for (const char* statement : step) ZKAPEX_CHECK(database.run(in_dialect(statement, database.dialect()), {}));
  ZKAPEX_CHECK(database.run("INSERT INTO schema_steps (version) VALUES ($1)", {version}));
  return Done{};
}

const std::array<std::span<const char* const>, 4>& steps() {
  static const std::array<std::span<const char* const>, 4> all = {kFirst, kRetention, kLettingGo, kWithdrawals};
  return all;
}

}  // namespace

int64_t schema_version() { return static_cast<int64_t>(steps().size()); }

Status migrate(Database& database) {
  return transact(database, [&]() -> Status {
    const SqlDialect& dialect = database.dialect();
    if (!dialect.one_migrator.empty()) {
      ZKAPEX_CHECK(database.run(dialect.one_migrator, {}));
    }
    const char* const table = "CREATE TABLE IF NOT EXISTS schema_steps (version {integer} PRIMARY KEY) {strict}";
    ZKAPEX_CHECK(database.run(in_dialect(table, dialect), {}));
    ZKAPEX_TRY(const std::vector<SqlRow> rows, database.run("SELECT COALESCE(MAX(version), 0) FROM schema_steps", {}));
    if (rows.size() != 1) return error("the database does not say which schema it has");
    ZKAPEX_TRY(int64_t version, SqlReader(rows[0]).integer());
    if (version > schema_version())
      return error("the database was made by a newer zkapex (schema {}, this one knows {}): use that one", version,
                   schema_version());
    for (; version < schema_version(); ++version)
      ZKAPEX_CHECK(run_step(database, steps()[static_cast<size_t>(version)], version + 1));
    return Done{};
  });
}

}  // namespace zkapex
