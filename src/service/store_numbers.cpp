// Chains of models, and numbers for people and monitors.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

// The window's clients: those whose registration was logged before it. $1 is the window.
constexpr std::string_view kDueClients =
    "clients c JOIN deliveries r ON r.id = c.registration JOIN entries e ON e.id = r.entry "
    "WHERE e.place < (SELECT x.place FROM windows w JOIN entries x ON x.id = w.entry WHERE w.id = $1)";

}  // namespace

Result<std::vector<ModelState>> Store::models(const std::string& client) {
  return all_rows<ModelState>(*database_,
                              "SELECT " + model_columns() + " FROM models m WHERE m.client = $1 ORDER BY m.version",
                              {client}, read_model);
}

Result<QueueCounts> Store::queue() {
  const auto counted = [&](std::string_view states) {
    return count_of(*database_, fmt::format("SELECT COUNT(*) FROM jobs WHERE state IN ({})", states), {});
  };
  QueueCounts out;
  ZKAPEX_TRY(out.ready, counted("'ready', 'waiting'"));
  ZKAPEX_TRY(out.leased, counted("'leased'"));
  ZKAPEX_TRY(out.done, counted("'done'"));
  ZKAPEX_TRY(out.dead, counted("'dead'"));
  ZKAPEX_TRY(const std::optional<std::optional<int64_t>> oldest,
             one_row<std::optional<int64_t>>(*database_,
                                             "SELECT MIN(d.received) FROM jobs j JOIN deliveries d "
                                             "ON d.id = j.delivery WHERE j.state <> 'done'",
                                             {}, [](SqlReader& row) { return row.integer_or_null(); }));
  out.oldest = oldest.value_or(std::nullopt);
  return out;
}

Result<WindowTally> Store::tally(const std::string& window) {
  const auto counted = [&](const std::string& what) { return count_of(*database_, "SELECT " + what, {window}); };
  WindowTally out;
  ZKAPEX_TRY(out.due, counted(fmt::format("COUNT(*) FROM {}", kDueClients)));
  ZKAPEX_TRY(out.received, counted("COUNT(*) FROM deliveries WHERE window_id = $1 AND state = 'received'"));
  ZKAPEX_TRY(out.accepted, counted("COUNT(*) FROM deliveries WHERE window_id = $1 AND state = 'accepted'"));
  ZKAPEX_TRY(out.rejected,
             counted("COUNT(DISTINCT d.client) FROM deliveries d WHERE d.window_id = $1 AND d.state = 'rejected' "
                     "AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.client = d.client AND o.window_id = $1 "
                     "AND o.state IN ('accepted', 'received'))"));
  return out;
}

Result<std::vector<ProgressPoint>> Store::progress(const std::string& window, UnixTime interval) {
  if (interval <= 0) return error("an interval of {} seconds is none", interval);
  std::vector<ProgressPoint> out;
  const auto point = [&](UnixTime from) -> ProgressPoint& {
    const auto at = std::lower_bound(out.begin(), out.end(), from,
                                     [](const ProgressPoint& p, UnixTime time) { return p.from < time; });
    if (at != out.end() && at->from == from) return *at;
    return *out.insert(at, ProgressPoint{.from = from});
  };
  const auto count = [&](std::string_view column, std::string_view condition,
                         uint64_t ProgressPoint::*field) -> Status {
    const std::string statement = fmt::format(
        "SELECT {0} / $2 * $2, COUNT(*) FROM deliveries WHERE window_id = $1 AND {0} IS NOT NULL {1} GROUP BY 1",
        column, condition);
    ZKAPEX_TRY(const std::vector<SqlRow> rows, database_->run(statement, {window, interval}));
    for (const SqlRow& row : rows) {
      SqlReader reader(row);
      ZKAPEX_TRY(const UnixTime from, reader.integer());
      ZKAPEX_TRY(point(from).*field, reader.count());
    }
    return Done{};
  };
  ZKAPEX_CHECK(count("received", "", &ProgressPoint::received));
  ZKAPEX_CHECK(count("decided", "AND state = 'accepted'", &ProgressPoint::accepted));
  ZKAPEX_CHECK(count("decided", "AND state = 'rejected'", &ProgressPoint::rejected));
  return out;
}

Result<std::vector<Compliance>> Store::compliance(const std::string& window, const std::string& after, size_t limit) {
  ZKAPEX_TRY(std::vector<Compliance> out,
             all_rows<Compliance>(
                 *database_, fmt::format("SELECT c.name FROM {} AND c.name > $2 ORDER BY c.name LIMIT $3", kDueClients),
                 {window, after, sql(uint64_t{limit})}, [](SqlReader& row) -> Result<Compliance> {
                   Compliance one;
                   ZKAPEX_TRY(one.client, row.text());
                   return one;
                 }));
  const std::string statement = fmt::format(
      "SELECT {} FROM {} WHERE d.client = $1 AND d.window_id = $2 "
      "ORDER BY CASE WHEN d.state = 'accepted' THEN 0 ELSE 1 END, d.announced DESC, d.id LIMIT 1",
      delivery_columns(), delivery_source());
  for (Compliance& one : out) {
    ZKAPEX_TRY(one.delivery, one_row<DeliveryInfo>(*database_, statement, {one.client, window}, read_delivery));
  }
  return out;
}

}  // namespace zkapex
