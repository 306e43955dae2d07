// The one transaction in which the verdicts of a batch are written. Each step is one statement for all of them, because
// on PostgreSQL the way to the server and back would otherwise take longer than the statement.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

class Verdicts {
 public:
  Verdicts(Database& database, std::span<const Conclusion> conclusions, UnixTime now)
      : database_(database), conclusions_(conclusions), now_(now) {}

  // Which of them were written.
  Result<std::vector<bool>> write() {
    ZKAPEX_CHECK(end_jobs());
    ZKAPEX_CHECK(find_models());
    ZKAPEX_CHECK(move_models());
    ZKAPEX_CHECK(put_back_what_moved());
    ZKAPEX_CHECK(log());
    ZKAPEX_CHECK(leave_with_clients(database_, leaving(), now_));
    ZKAPEX_CHECK(note_registrations());
    std::vector<bool> out(conclusions_.size(), false);
    for (const Open& one : open_) out[one.at] = true;
    return out;
  }

 private:
  struct Open {
    size_t at = 0;  // of the conclusion
    std::string client = {};
    uint64_t version = 0;  // where the client's model stands
    bool fits = false;     // it is where the verdict found it
  };

  [[nodiscard]] const Conclusion& of(const Open& one) const { return conclusions_[one.at]; }

  // Values of the same statement, for those that `chosen` says.
  template <class Chosen, class Row>
  [[nodiscard]] std::vector<SqlRow> rows(const Chosen& chosen, const Row& row) const {
    std::vector<SqlRow> out;
    for (const Open& one : open_) {
      if (chosen(one)) out.push_back(row(one));
    }
    return out;
  }
  static bool each(const Open&) { return true; }

  // Those stay open whose token is not an old one.
  Status end_jobs() {
    std::vector<SqlRow> values;
    for (const Conclusion& one : conclusions_) values.push_back({one.job, sql(one.token), sql(one.delivery)});
    ZKAPEX_TRY(const std::vector<bool> held,
               any_row_each(database_,
                            "UPDATE jobs SET state = 'done', worker = NULL, lease_until = NULL, why = NULL "
                            "WHERE id = $1 AND token = $2 AND state = 'leased' AND delivery = $3 RETURNING 1",
                            values));
    for (size_t k = 0; k < held.size(); ++k) {
      if (held[k]) open_.push_back({.at = k});
    }
    return Done{};
  }

  Status find_models() {
    ZKAPEX_TRY(auto found,
               one_row_each<Open>(
                   database_,
                   "SELECT d.client, (SELECT COALESCE(MAX(m.version), 0) FROM models m WHERE m.client = d.client) "
                   "FROM deliveries d WHERE d.id = $1",
                   rows(each, [&](const Open& one) { return SqlRow{sql(of(one).delivery)}; }),
                   [](SqlReader& row) -> Result<Open> {
                     Open out;
                     ZKAPEX_TRY(out.client, row.text());
                     ZKAPEX_TRY(out.version, row.count());
                     return out;
                   }));
    for (size_t k = 0; k < open_.size(); ++k) {
      if (!found[k]) return error("a job of the database has no delivery");
      open_[k].client = std::move(found[k]->client);
      open_[k].fits = found[k]->version == of(open_[k]).from;
    }
    return Done{};
  }

  // Each by one version, unless it has moved already.
  Status move_models() {
    const auto moves = [&](const Open& one) { return one.fits && of(one).accepted; };
    ZKAPEX_TRY(
        const std::vector<bool> moved,
        any_row_each(database_,
                     "INSERT INTO models (client, version, commitment, model_sha256, model_bytes, record_sha256, "
                     "record_bytes, delivery, since) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 "
                     "WHERE true ON CONFLICT DO NOTHING RETURNING version",
                     rows(moves, [&](const Open& one) -> SqlRow {
                       const Conclusion& said = of(one);
                       return {one.client,
                               sql(said.from + 1),
                               sql(said.commitment),
                               sql(said.model.sha256),
                               sql(said.model.bytes),
                               sql(said.record.sha256),
                               sql(said.record.bytes),
                               sql(said.delivery),
                               now_};
                     })));
    auto next = moved.begin();
    for (Open& one : open_) {
      if (moves(one)) one.fits = *next++;
    }
    return Done{};
  }

  // Due again at once: it has to be verified against the model of now.
  Status put_back_what_moved() {
    const auto is_late = [](const Open& one) { return !one.fits; };
    ZKAPEX_CHECK(do_each(database_,
                         "UPDATE jobs SET state = 'ready', run_at = $2, attempts = attempts - 1 WHERE id = $1",
                         rows(is_late, [&](const Open& one) {
                           return SqlRow{of(one).job, now_};
                         })));
    std::erase_if(open_, is_late);
    return Done{};
  }

  Status log() {
    ZKAPEX_TRY(const std::vector<int64_t> entries,
               queue_entries(database_, rows(each, [&](const Open& one) { return SqlRow{of(one).entry}; })));
    std::vector<SqlRow> values;
    for (size_t k = 0; k < open_.size(); ++k) {
      const Conclusion& said = of(open_[k]);
      values.push_back({sql(said.delivery), std::string(said.accepted ? "accepted" : "rejected"), said.reason,
                        said.detail, now_, entries[k]});
    }
    ZKAPEX_TRY(const std::vector<bool> decided,
               any_row_each(database_,
                            "UPDATE deliveries SET state = $2, reason = $3, detail = $4, decided = $5, verdict = $6 "
                            "WHERE id = $1 AND state = 'received' RETURNING 1",
                            values));
    if (std::ranges::find(decided, false) != decided.end())
      return error("a delivery of the database has a verdict and an open job");
    return Done{};
  }

  [[nodiscard]] std::vector<Leaving> leaving() const {
    std::vector<Leaving> out;
    for (const Open& one : open_) {
      if (of(one).carried) out.push_back({one.client, &of(one)});
    }
    return out;
  }

  Status note_registrations() {
    return do_each(database_, "UPDATE clients SET registration = $2 WHERE name = $1",
                   rows([&](const Open& one) { return of(one).accepted && of(one).from == 0; },
                        [&](const Open& one) {
                          return SqlRow{one.client, sql(of(one).delivery)};
                        }));
  }

  Database& database_;
  std::span<const Conclusion> conclusions_;
  UnixTime now_;
  std::vector<Open> open_;
};

}  // namespace

Result<std::vector<bool>> Store::conclude(std::span<const Conclusion> conclusions, UnixTime now) {
  return transact(*database_, [&] { return Verdicts(*database_, conclusions, now).write(); });
}

}  // namespace zkapex
