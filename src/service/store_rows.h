// From rows of the database to records: what the parts of the store share.
#pragma once

#include "service/database.h"
#include "service/store.h"

namespace zkapex {

// `read` takes a SqlReader& and gives a Result<T>.
template <class T, class Read>
[[nodiscard]] Result<std::vector<T>> all_rows(Database& database, std::string_view statement, const SqlRow& values,
                                              const Read& read) {
  ZKAPEX_TRY(const std::vector<SqlRow> rows, database.run(in_dialect(statement, database.dialect()), values));
  std::vector<T> out;
  for (const SqlRow& row : rows) {
    SqlReader reader(row);
    ZKAPEX_TRY(T record, read(reader));
    out.push_back(std::move(record));
  }
  return out;
}

// The first row, where there is one.
template <class T, class Read>
[[nodiscard]] Result<std::optional<T>> one_row(Database& database, std::string_view statement, const SqlRow& values,
                                               const Read& read) {
  ZKAPEX_TRY(std::vector<T> all, all_rows<T>(database, statement, values, read));
  if (all.empty()) return std::optional<T>();
  return std::optional<T>(std::move(all.front()));
}

// The first row that each of the statements returned, where there is one.
template <class T, class Read>
[[nodiscard]] Result<std::vector<std::optional<T>>> one_row_each(Database& database, std::string_view statement,
                                                                 std::span<const SqlRow> values, const Read& read) {
  ZKAPEX_TRY(const auto answers, database.run_each(in_dialect(statement, database.dialect()), values));
  std::vector<std::optional<T>> out;
  for (const std::vector<SqlRow>& rows : answers) {
    std::optional<T>& one = out.emplace_back();
    if (rows.empty()) continue;
    SqlReader reader(rows.front());
    ZKAPEX_TRY(one, read(reader));
  }
  return out;
}

// Whether the statement returns a row.
[[nodiscard]] Result<bool> any_row(Database& database, std::string_view statement, const SqlRow& values);
[[nodiscard]] Result<std::vector<bool>> any_row_each(Database& database, std::string_view statement,
                                                     std::span<const SqlRow> values);
// What returns nothing.
[[nodiscard]] Status do_each(Database& database, std::string_view statement, std::span<const SqlRow> values);
// The one number that the statement returns.
[[nodiscard]] Result<uint64_t> count_of(Database& database, std::string_view statement, const SqlRow& values);

// Into the outbox; gives the numbers there. Each row of values is one entry's bytes.
[[nodiscard]] Result<std::vector<int64_t>> queue_entries(Database& database, std::span<const SqlRow> bodies);
[[nodiscard]] Result<int64_t> queue_entry(Database& database, const Bytes& body);

[[nodiscard]] Result<BlobName> read_blob_name(SqlReader& row);

// Updates, and keys, of one client: it may learn for years, but each of them is an entry of the log.
inline constexpr uint64_t kMostInADay = 256;
inline constexpr UnixTime kADay = 86'400;

// No upload that has begun takes longer: then its file is here, or will not be.
inline constexpr UnixTime kLongestUpload = 86'400;
// Whoever lets go of a file says so in its own transaction; from `due` on it is removed, unless anybody needs it.
[[nodiscard]] Status leave_for_removal(Database& database, const BlobName& file, const std::string& client,
                                       UnixTime due);
// The same of all files of those clients that a table names.
[[nodiscard]] Status leave_all_for_removal(Database& database, std::string_view table, std::string_view which,
                                           std::span<const std::string> clients, UnixTime due);
// Just now, or some other file of that client.
[[nodiscard]] Result<bool> is_being_removed(Database& database, const Digest& file, const std::string& client,
                                            UnixTime now);
// One change at a time of one client, and of windows with updates.
[[nodiscard]] Status hold_client(Database& database, const std::string& client);
// Where clients carry their state: what the delivery is verified against.
struct CarriedFile {
  BlobName file;
  bool here = false;
};
[[nodiscard]] Result<std::vector<CarriedFile>> carried_for(Database& database, const Announcement& delivery);
// What came along goes, and the clients keep what the verdicts lead to.
struct Leaving {
  std::string client;
  const Conclusion* conclusion = nullptr;
};
[[nodiscard]] Status leave_with_clients(Database& database, std::span<const Leaving> leaving, UnixTime now);

// The columns that read_delivery() and read_model() read, of tables that delivery_source() and `models m` name.
[[nodiscard]] std::string delivery_columns();
[[nodiscard]] std::string delivery_source();
[[nodiscard]] Result<DeliveryInfo> read_delivery(SqlReader& row);
[[nodiscard]] std::string model_columns();
[[nodiscard]] Result<ModelState> read_model(SqlReader& row);

}  // namespace zkapex
