// Leases and fencing tokens.
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

Result<std::vector<Job>> with_deliveries(Database& database, std::span<Claimed> claimed) {
  std::vector<SqlRow> ids;
  for (const Claimed& one : claimed) ids.push_back({sql(one.delivery)});
  ZKAPEX_TRY(std::vector<std::optional<DeliveryInfo>> found,
             one_row_each<DeliveryInfo>(
                 database, fmt::format("SELECT {} FROM {} WHERE d.id = $1", delivery_columns(), delivery_source()), ids,
                 read_delivery));
  std::vector<Job> out;
  for (size_t k = 0; k < claimed.size(); ++k) {
    if (!found[k]) return error("a job of the database has no delivery");
    claimed[k].job.delivery = *std::move(found[k]);
    out.push_back(std::move(claimed[k].job));
  }
  return out;
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
    return with_deliveries(*database_, claimed);
  });
}

Result<std::vector<int64_t>> Store::heartbeat(std::span<const Job> jobs, UnixTime now) {
  return transact(*database_, [&]() -> Result<std::vector<int64_t>> {
    std::vector<SqlRow> leases;
    for (const Job& job : jobs) leases.push_back({job.id, sql(job.token), now + rules_.lease});
    ZKAPEX_TRY(const std::vector<bool> held, any_row_each(*database_,
                                                          "UPDATE jobs SET lease_until = $3 WHERE id = $1 AND "
                                                          "token = $2 AND state = 'leased' RETURNING 1",
                                                          leases));
    std::vector<int64_t> out;
    for (size_t k = 0; k < jobs.size(); ++k) {
      if (held[k]) out.push_back(jobs[k].id);
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
