// Enrolment, keys and windows.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

Status insert_key(Database& database, const std::string& client, const ClientKey& key, const Bytes& entry,
                  UnixTime now) {
  ZKAPEX_TRY(const int64_t queued, queue_entry(database, entry));
  ZKAPEX_CHECK(
      database.run("INSERT INTO client_keys (id, client, algorithm, key, added, entry) VALUES ($1, $2, $3, $4, $5, $6)",
                   {key.id, client, key.algorithm, key.key, now, queued}));
  return Done{};
}

// What was logged when the key was taken: the answer of the first time, whatever the statement says this time.
Result<TakenKey> known_key(Database& database, const ClientKey& key) {
  ZKAPEX_TRY(
      const std::optional<Bytes> entry,
      one_row<Bytes>(database, "SELECT e.body FROM client_keys k JOIN entries e ON e.id = k.entry WHERE k.id = $1",
                     {key.id}, [](SqlReader& row) { return row.bytes(); }));
  if (!entry) return error("a key of the database has no statement");
  return TakenKey{.known = true, .entry = *entry};
}
TakenKey refused_key(Refusal refusal) { return {.refusal = refusal, .entry = {}}; }

struct CodeRow {
  std::optional<std::string> person, client;
  UnixTime expires = 0;
};

Result<std::optional<CodeRow>> find_code(Database& database, const Digest& code) {
  return one_row<CodeRow>(database, "SELECT person, client, expires FROM codes WHERE sha256 = $1 {for_update}",
                          {sql(code)}, [](SqlReader& row) -> Result<CodeRow> {
                            CodeRow out;
                            ZKAPEX_TRY(out.person, row.text_or_null());
                            ZKAPEX_TRY(out.client, row.text_or_null());
                            ZKAPEX_TRY(out.expires, row.integer());
                            return out;
                          });
}

Result<ClientInfo> read_client(SqlReader& row) {
  ClientInfo out;
  ZKAPEX_TRY(out.name, row.text());
  ZKAPEX_TRY(out.enrolled, row.integer());
  ZKAPEX_TRY(out.person, row.text_or_null());
  ZKAPEX_TRY(out.registration, row.digest_or_null());
  return out;
}

// The clients' newest models, where there are any.
Status fill_models(Database& database, std::span<ClientInfo* const> clients) {
  std::vector<SqlRow> names;
  for (const ClientInfo* client : clients) names.push_back({client->name});
  ZKAPEX_TRY(
      std::vector<std::optional<ModelState>> models,
      one_row_each<ModelState>(
          database, "SELECT " + model_columns() + " FROM models m WHERE m.client = $1 ORDER BY m.version DESC LIMIT 1",
          names, read_model));
  for (size_t k = 0; k < clients.size(); ++k) clients[k]->model = models[k];
  return Done{};
}

std::string window_query(std::string_view rest) {
  return fmt::format(
      "SELECT w.id, w.sha256, w.bytes, w.mask, w.opens, w.deadline, w.published, e.body, e.place "
      "FROM windows w JOIN entries e ON e.id = w.entry {}",
      rest);
}

Result<WindowInfo> read_window(SqlReader& row) {
  WindowInfo out;
  ZKAPEX_TRY(out.id, row.text());
  ZKAPEX_TRY(out.psi, read_blob_name(row));
  ZKAPEX_TRY(out.mask, row.digest());
  ZKAPEX_TRY(out.opens, row.integer());
  ZKAPEX_TRY(out.deadline, row.integer());
  ZKAPEX_TRY(out.published, row.integer());
  ZKAPEX_TRY(out.entry, row.bytes());
  ZKAPEX_TRY(out.index, row.count_or_null());
  return out;
}

}  // namespace

Status Store::add_code(const Digest& code, const std::string& person, UnixTime expires, UnixTime now) {
  return transact(*database_, [&]() -> Status {
    ZKAPEX_CHECK(database_->run("INSERT INTO codes (sha256, person, created, expires) VALUES ($1, $2, $3, $4)",
                                {sql(code), person.empty() ? SqlValue() : SqlValue(person), now, expires}));
    return Done{};
  });
}

Result<TakenKey> Store::enrol(const Digest& code, const std::string& client, const ClientKey& key, const Bytes& entry,
                              UnixTime now) {
  return transact(*database_, [&]() -> Result<TakenKey> {
    ZKAPEX_TRY(const std::optional<CodeRow> found, find_code(*database_, code));
    ZKAPEX_TRY(const std::optional<KeyRecord> present, this->key(key.id));
    if (present && present->client == client && !present->retired) return known_key(*database_, key);
    if (present) return refused_key(Refusal::kKeyTaken);
    if (!found) return refused_key(Refusal::kNoCode);
    if (found->client) return refused_key(Refusal::kCodeUsed);
    if (now >= found->expires) return refused_key(Refusal::kCodeExpired);
    ZKAPEX_TRY(const bool fresh, any_row(*database_,
                                         "INSERT INTO clients (name, enrolled, person) VALUES ($1, $2, $3) "
                                         "ON CONFLICT DO NOTHING RETURNING 1",
                                         {client, now, found->person ? SqlValue(*found->person) : SqlValue()}));
    if (!fresh) return refused_key(Refusal::kNameTaken);
    ZKAPEX_CHECK(insert_key(*database_, client, key, entry, now));
    // Who it is stands with the client from now on, where it can be forgotten.
    ZKAPEX_CHECK(database_->run("UPDATE codes SET client = $2, person = NULL WHERE sha256 = $1", {sql(code), client}));
    return TakenKey{.entry = entry};
  });
}

Result<TakenKey> Store::rotate_key(const std::string& client, const std::string& old_key, uint64_t rotation,
                                   const ClientKey& key, const Bytes& entry, UnixTime now) {
  return transact(*database_, [&]() -> Result<TakenKey> {
    ZKAPEX_TRY(const bool enrolled,
               any_row(*database_, "SELECT 1 FROM clients WHERE name = $1 {for_update}", {client}));
    if (!enrolled) return refused_key(Refusal::kNoClient);
    ZKAPEX_TRY(const std::optional<KeyRecord> present, this->key(key.id));
    if (present && present->client == client && !present->retired && key.id != old_key)
      return known_key(*database_, key);
    if (present) return refused_key(Refusal::kKeyTaken);
    ZKAPEX_TRY(const uint64_t keys,
               count_of(*database_, "SELECT COUNT(*) FROM client_keys WHERE client = $1", {client}));
    if (keys != rotation) return refused_key(Refusal::kKeyNumber);
    ZKAPEX_TRY(const uint64_t today,
               count_of(*database_, "SELECT COUNT(*) FROM client_keys WHERE client = $1 AND added > $2",
                        {client, now - kADay}));
    if (today >= kMostInADay) return refused_key(Refusal::kTooMany);
    ZKAPEX_TRY(const bool was_current, any_row(*database_,
                                               "UPDATE client_keys SET retired = $3 WHERE client = $1 AND id = $2 "
                                               "AND retired IS NULL RETURNING 1",
                                               {client, old_key, now}));
    if (!was_current) return refused_key(Refusal::kKeyRetired);
    // Logged after this, they would be signed by a key that is not the client's any more. A file of theirs may be here,
    // or still be coming.
    ZKAPEX_CHECK(
        leave_all_for_removal(*database_, "deliveries", "state = 'announced'", {&client, 1}, now + kLongestUpload));
    ZKAPEX_CHECK(
        database_->run("INSERT INTO withdrawn (id, kind, client, window_id, announced) SELECT id, kind, client, "
                       "window_id, announced FROM deliveries WHERE client = $1 AND state = 'announced'",
                       {client}));
    ZKAPEX_CHECK(database_->run("DELETE FROM deliveries WHERE client = $1 AND state = 'announced'", {client}));
    ZKAPEX_CHECK(insert_key(*database_, client, key, entry, now));
    return TakenKey{.entry = entry};
  });
}

Result<std::optional<KeyRecord>> Store::key(const std::string& id) {
  return one_row<KeyRecord>(*database_,
                            "SELECT client, id, algorithm, key, added, retired FROM client_keys WHERE id = $1", {id},
                            [](SqlReader& row) -> Result<KeyRecord> {
                              KeyRecord out;
                              ZKAPEX_TRY(out.client, row.text());
                              ZKAPEX_TRY(out.key.id, row.text());
                              ZKAPEX_TRY(out.key.algorithm, row.text());
                              ZKAPEX_TRY(out.key.key, row.bytes());
                              ZKAPEX_TRY(out.added, row.integer());
                              ZKAPEX_TRY(out.retired, row.integer_or_null());
                              return out;
                            });
}

Result<std::optional<ClientInfo>> Store::client(const std::string& name) {
  ZKAPEX_TRY(std::vector<std::optional<ClientInfo>> found, clients_named({&name, 1}));
  return std::move(found.front());
}

Result<std::vector<std::optional<ClientInfo>>> Store::clients_named(std::span<const std::string> names) {
  std::vector<SqlRow> values;
  for (const std::string& name : names) values.push_back({name});
  ZKAPEX_TRY(
      std::vector<std::optional<ClientInfo>> out,
      one_row_each<ClientInfo>(*database_, "SELECT name, enrolled, person, registration FROM clients WHERE name = $1",
                               values, read_client));
  std::vector<ClientInfo*> present;
  for (std::optional<ClientInfo>& one : out) {
    if (one) present.push_back(&*one);
  }
  ZKAPEX_CHECK(fill_models(*database_, present));
  return out;
}

Result<std::vector<ClientInfo>> Store::clients(const std::string& after, size_t limit) {
  ZKAPEX_TRY(
      std::vector<ClientInfo> out,
      all_rows<ClientInfo>(
          *database_, "SELECT name, enrolled, person, registration FROM clients WHERE name > $1 ORDER BY name LIMIT $2",
          {after, sql(uint64_t{limit})}, read_client));
  std::vector<ClientInfo*> all;
  for (ClientInfo& client : out) all.push_back(&client);
  ZKAPEX_CHECK(fill_models(*database_, all));
  return out;
}

Result<uint64_t> Store::client_count() { return count_of(*database_, "SELECT COUNT(*) FROM clients", {}); }

Status Store::forget_person(const std::string& client) {
  return transact(*database_, [&]() -> Status {
    ZKAPEX_CHECK(database_->run("UPDATE clients SET person = NULL WHERE name = $1", {client}));
    return Done{};
  });
}

Result<Taken> Store::publish_window(const WindowInfo& window) {
  return transact(*database_, [&]() -> Result<Taken> {
    // Waits for updates that are being received, and they for this: see Store::receive.
    ZKAPEX_CHECK(database_->run(in_dialect("SELECT one FROM deployment {for_update}", database_->dialect()), {}));
    ZKAPEX_TRY(const std::optional<WindowInfo> present, this->window(window.id));
    if (present && present->psi == window.psi) return Taken{.known = true};
    if (present) return Taken{Refusal::kWindowTaken};
    ZKAPEX_TRY(const int64_t queued, queue_entry(*database_, window.entry));
    ZKAPEX_CHECK(
        database_->run("INSERT INTO windows (id, sha256, bytes, mask, opens, deadline, published, entry) "
                       "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                       {window.id, sql(window.psi.sha256), sql(window.psi.bytes), sql(window.mask), window.opens,
                        window.deadline, window.published, queued}));
    return Taken{};
  });
}

Result<std::optional<WindowInfo>> Store::window(const std::string& id) {
  return one_row<WindowInfo>(*database_, window_query("WHERE w.id = $1"), {id}, read_window);
}

Result<std::vector<WindowInfo>> Store::windows() {
  return all_rows<WindowInfo>(*database_, window_query("ORDER BY w.number"), {}, read_window);
}

}  // namespace zkapex
