// Leases, fencing tokens, and the one transaction in which a verdict is written.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

constexpr const char* kBrokeOff = "the worker that had it did not finish in time";

UnixTime delay_after(const JobRules& rules, uint64_t attempts) {
  UnixTime out = rules.first_delay;
  for (uint64_t k = 1; k < attempts && k < 16; ++k) out *= 4;
  return out;
}

// Back into the queue, to be tried alone, or to the dead letters.
Status put_back(Database& database, const JobRules& rules, int64_t job, uint64_t attempts, const std::string& why,
                UnixTime now) {
  const std::string state = attempts >= rules.attempts ? "dead" : "ready";
  ZKAPEX_CHECK(database.run(
      "UPDATE jobs SET state = $2, run_at = $3, why = $4, alone = 1, worker = NULL, lease_until = NULL WHERE id = $1",
      {job, state, now + delay_after(rules, attempts), why}));
  return Done{};
}

struct Lease {
  int64_t id = 0;
  uint64_t attempts = 0;
};
Result<Lease> read_lease(SqlReader& row) {
  Lease out;
  ZKAPEX_TRY(out.id, row.integer());
  ZKAPEX_TRY(out.attempts, row.count());
  return out;
}

Status return_expired(Database& database, const JobRules& rules, UnixTime now) {
  ZKAPEX_TRY(const std::vector<Lease> expired,
             all_rows<Lease>(database,
                             "SELECT id, attempts FROM jobs WHERE state = 'leased' AND lease_until <= $1 "
                             "ORDER BY id LIMIT 1000 {skip_locked}",
                             {now}, read_lease));
  for (const Lease& lease : expired) ZKAPEX_CHECK(put_back(database, rules, lease.id, lease.attempts, kBrokeOff, now));
  return Done{};
}

// What the next job is like: those that are the same can be verified with it.
struct Sort {
  std::string kind, window;
  int64_t alone = 0;
};
Result<Sort> read_sort(SqlReader& row) {
  Sort out;
  ZKAPEX_TRY(out.kind, row.text());
  ZKAPEX_TRY(out.window, row.text());
  ZKAPEX_TRY(out.alone, row.integer());
  return out;
}

struct Claimed {
  Job job;
  Digest delivery{};
};
Result<Claimed> read_claimed(SqlReader& row) {
  Claimed out;
  ZKAPEX_TRY(out.job.id, row.integer());
  ZKAPEX_TRY(out.job.token, row.count());
  ZKAPEX_TRY(const uint64_t attempts, row.count());
  out.job.attempt = static_cast<uint32_t>(attempts);
  ZKAPEX_TRY(out.delivery, row.digest());
  return out;
}

// The model moves by one version, unless it has moved already.
Result<bool> move_model(Database& database, const Conclusion& conclusion, const std::string& client, UnixTime now) {
  return any_row(database,
                 "INSERT INTO models (client, version, commitment, model_sha256, model_bytes, record_sha256, "
                 "record_bytes, delivery, since) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 "
                 "WHERE true ON CONFLICT DO NOTHING RETURNING version",
                 {client, sql(conclusion.from + 1), sql(conclusion.commitment), sql(conclusion.model.sha256),
                  sql(conclusion.model.bytes), sql(conclusion.record.sha256), sql(conclusion.record.bytes),
                  sql(conclusion.delivery), now});
}

// False where the token is an old one, or the model is not where the verdict found it.
Result<bool> conclude_one(Database& database, const Conclusion& conclusion, UnixTime now) {
  ZKAPEX_TRY(const bool held, any_row(database,
                                      "UPDATE jobs SET state = 'done', worker = NULL, lease_until = NULL, why = NULL "
                                      "WHERE id = $1 AND token = $2 AND state = 'leased' AND delivery = $3 RETURNING 1",
                                      {conclusion.job, sql(conclusion.token), sql(conclusion.delivery)}));
  if (!held) return false;
  ZKAPEX_TRY(const std::optional<std::string> client,
             one_row<std::string>(database, "SELECT client FROM deliveries WHERE id = $1", {sql(conclusion.delivery)},
                                  [](SqlReader& row) { return row.text(); }));
  if (!client) return error("a job of the database has no delivery");
  ZKAPEX_TRY(const uint64_t version,
             count_of(database, "SELECT COALESCE(MAX(version), 0) FROM models WHERE client = $1", {*client}));
  bool fits = version == conclusion.from;
  if (fits && conclusion.accepted) {
    ZKAPEX_TRY(fits, move_model(database, conclusion, *client, now));
  }
  if (!fits) {
    ZKAPEX_CHECK(database.run("UPDATE jobs SET state = 'ready', run_at = $2, attempts = attempts - 1 WHERE id = $1",
                              {conclusion.job, now}));
    return false;
  }
  ZKAPEX_TRY(const int64_t queued, queue_entry(database, conclusion.entry));
  ZKAPEX_TRY(const bool decided,
             any_row(database,
                     "UPDATE deliveries SET state = $2, reason = $3, detail = $4, decided = $5, verdict = $6 "
                     "WHERE id = $1 AND state = 'received' RETURNING 1",
                     {sql(conclusion.delivery), std::string(conclusion.accepted ? "accepted" : "rejected"),
                      conclusion.reason, conclusion.detail, now, queued}));
  if (!decided) return error("a delivery of the database has a verdict and an open job");
  if (conclusion.carried) {
    ZKAPEX_CHECK(leave_with_client(database, conclusion, *client, now));
  }
  if (conclusion.accepted && conclusion.from == 0) {
    ZKAPEX_CHECK(
        database.run("UPDATE clients SET registration = $2 WHERE name = $1", {*client, sql(conclusion.delivery)}));
  }
  return true;
}

}  // namespace

Result<std::vector<Job>> Store::claim(const std::string& worker, size_t limit, UnixTime now) {
  return transact(*database_, [&]() -> Result<std::vector<Job>> {
    ZKAPEX_CHECK(return_expired(*database_, rules_, now));
    ZKAPEX_TRY(const std::optional<Sort> next,
               one_row<Sort>(*database_,
                             "SELECT kind, window_id, alone FROM jobs WHERE state = 'ready' AND run_at <= $1 "
                             "ORDER BY run_at, id LIMIT 1",
                             {now}, read_sort));
    if (!next) return std::vector<Job>();
    ZKAPEX_TRY(std::vector<Claimed> claimed,
               all_rows<Claimed>(*database_,
                                 "UPDATE jobs SET state = 'leased', token = token + 1, attempts = attempts + 1, "
                                 "worker = $1, lease_until = $2 WHERE id IN (SELECT id FROM jobs WHERE "
                                 "state = 'ready' AND run_at <= $3 AND kind = $4 AND window_id = $5 AND alone = $6 "
                                 "ORDER BY run_at, id LIMIT $7 {skip_locked}) "
                                 "RETURNING id, token, attempts, delivery",
                                 {worker, now + rules_.lease, now, next->kind, next->window, next->alone,
                                  next->alone != 0 ? int64_t{1} : static_cast<int64_t>(limit)},
                                 read_claimed));
    std::sort(claimed.begin(), claimed.end(), [](const Claimed& a, const Claimed& b) { return a.job.id < b.job.id; });
    std::vector<Job> out;
    for (Claimed& one : claimed) {
      ZKAPEX_TRY(std::optional<DeliveryInfo> found, delivery(one.delivery));
      if (!found) return error("a job of the database has no delivery");
      one.job.delivery = *std::move(found);
      out.push_back(std::move(one.job));
    }
    return out;
  });
}

Result<std::vector<int64_t>> Store::heartbeat(std::span<const Job> jobs, UnixTime now) {
  return transact(*database_, [&]() -> Result<std::vector<int64_t>> {
    std::vector<int64_t> out;
    for (const Job& job : jobs) {
      ZKAPEX_TRY(const bool held, any_row(*database_,
                                          "UPDATE jobs SET lease_until = $3 WHERE id = $1 AND token = $2 AND "
                                          "state = 'leased' RETURNING 1",
                                          {job.id, sql(job.token), now + rules_.lease}));
      if (held) out.push_back(job.id);
    }
    return out;
  });
}

Result<std::vector<bool>> Store::conclude(std::span<const Conclusion> conclusions, UnixTime now) {
  return transact(*database_, [&]() -> Result<std::vector<bool>> {
    std::vector<bool> out;
    for (const Conclusion& conclusion : conclusions) {
      ZKAPEX_TRY(const bool written, conclude_one(*database_, conclusion, now));
      out.push_back(written);
    }
    return out;
  });
}

Status Store::fail(const Job& job, const std::string& why, UnixTime now) {
  return transact(*database_, [&]() -> Status {
    ZKAPEX_TRY(const std::optional<Lease> held,
               one_row<Lease>(*database_,
                              "SELECT id, attempts FROM jobs WHERE id = $1 AND token = $2 AND state = 'leased' "
                              "{for_update}",
                              {job.id, sql(job.token)}, read_lease));
    if (!held) return Done{};  // somebody else's by now
    return put_back(*database_, rules_, held->id, held->attempts, why, now);
  });
}

Result<std::vector<DeadJob>> Store::dead_jobs(size_t limit) {
  return all_rows<DeadJob>(
      *database_,
      fmt::format("SELECT j.id, j.attempts, COALESCE(j.why, ''), {} FROM {} WHERE j.state = 'dead' "
                  "ORDER BY j.id LIMIT $1",
                  delivery_columns(), delivery_source()),
      {sql(uint64_t{limit})}, [](SqlReader& row) -> Result<DeadJob> {
        DeadJob out;
        ZKAPEX_TRY(out.id, row.integer());
        ZKAPEX_TRY(const uint64_t attempts, row.count());
        out.attempts = static_cast<uint32_t>(attempts);
        ZKAPEX_TRY(out.why, row.text());
        ZKAPEX_TRY(out.delivery, read_delivery(row));
        return out;
      });
}

Result<bool> Store::revive(int64_t job, UnixTime now) {
  return transact(*database_, [&]() -> Result<bool> {
    return any_row(*database_,
                   "UPDATE jobs SET state = 'ready', attempts = 0, run_at = $2 WHERE id = $1 AND state = 'dead' "
                   "RETURNING 1",
                   {job, now});
  });
}

}  // namespace zkapex
