#include "service/log_tables.h"

#include "service/store_rows.h"

namespace zkapex {

namespace {

Result<std::string> read_note(SqlReader& row) { return row.text(); }

// False where one has a place already, or is not there.
Result<bool> place_all(Database& database, uint64_t from, std::span<const PlacedEntry> entries) {
  std::vector<SqlRow> values;
  for (const PlacedEntry& entry : entries)
    values.push_back({sql(entry.id), sql(from + values.size()), sql(entry.leaf)});
  ZKAPEX_TRY(
      const std::vector<bool> free,
      any_row_each(database, "UPDATE entries SET place = $2, leaf = $3 WHERE id = $1 AND place IS NULL RETURNING 1",
                   values));
  return std::ranges::find(free, false) == free.end();
}

}  // namespace

Result<uint64_t> LogTables::size() { return count_of(database_, "SELECT size FROM log_size", {}); }

Result<std::vector<QueuedEntry>> LogTables::queued(size_t most) {
  return all_rows<QueuedEntry>(database_, "SELECT id, body FROM entries WHERE place IS NULL ORDER BY id LIMIT $1",
                               {sql(uint64_t{most})}, [](SqlReader& row) -> Result<QueuedEntry> {
                                 QueuedEntry out;
                                 ZKAPEX_TRY(out.id, row.count());
                                 ZKAPEX_TRY(out.entry, row.bytes());
                                 return out;
                               });
}

Result<bool> LogTables::place(uint64_t expected, std::span<const PlacedEntry> entries) {
  ZKAPEX_CHECK(database_.begin());
  const Result<bool> placed = [&]() -> Result<bool> {
    const uint64_t end = expected + entries.size();
    ZKAPEX_TRY(const bool ours, any_row(database_, "UPDATE log_size SET size = $2 WHERE size = $1 RETURNING 1",
                                        {sql(expected), sql(end)}));
    if (!ours) return false;
    ZKAPEX_TRY(const bool free, place_all(database_, expected, entries));
    if (!free) return false;
    ZKAPEX_CHECK(
        database_.run("UPDATE jobs SET state = 'ready' WHERE state = 'waiting' AND entry IN "
                      "(SELECT id FROM entries WHERE place >= $1 AND place < $2)",
                      {sql(expected), sql(end)}));
    return true;
  }();
  if (!placed || !*placed) {
    database_.roll_back();
    return placed;
  }
  ZKAPEX_CHECK(database_.commit());
  return true;
}

Result<std::vector<Bytes>> LogTables::entries(uint64_t begin, uint64_t end) {
  ZKAPEX_TRY(std::vector<Bytes> out,
             all_rows<Bytes>(database_, "SELECT body FROM entries WHERE place >= $1 AND place < $2 ORDER BY place",
                             {sql(begin), sql(end)}, [](SqlReader& row) { return row.bytes(); }));
  if (out.size() != end - begin)
    return error("the database has {} of the {} entries of the log from place {} on", out.size(), end - begin, begin);
  return out;
}

Result<std::optional<std::string>> LogTables::last_checkpoint() {
  return one_row<std::string>(database_, "SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1", {}, read_note);
}

Result<std::string> LogTables::insert_checkpoint(uint64_t size, const std::string& note) {
  return transact(database_, [&]() -> Result<std::string> {
    ZKAPEX_CHECK(database_.run("INSERT INTO checkpoints (size, note) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                               {sql(size), note}));
    ZKAPEX_TRY(const std::optional<std::string> kept,
               one_row<std::string>(database_, "SELECT note FROM checkpoints WHERE size = $1", {sql(size)}, read_note));
    if (!kept) return error("the database did not keep a checkpoint");
    return *kept;
  });
}

}  // namespace zkapex
