// From rows of the database to records: what the parts of the store share.
#pragma once

#include "service/database.h"
#include "service/store_types.h"

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

// Whether the statement returns a row.
[[nodiscard]] Result<bool> any_row(Database& database, std::string_view statement, const SqlRow& values);
// The one number that the statement returns.
[[nodiscard]] Result<uint64_t> count_of(Database& database, std::string_view statement, const SqlRow& values);

// Into the outbox; gives its number there.
[[nodiscard]] Result<int64_t> queue_entry(Database& database, const Bytes& body);

[[nodiscard]] Result<BlobName> read_blob_name(SqlReader& row);

// The columns that read_delivery() and read_model() read, of tables that delivery_source() and `models m` name.
[[nodiscard]] std::string delivery_columns();
[[nodiscard]] std::string delivery_source();
[[nodiscard]] Result<DeliveryInfo> read_delivery(SqlReader& row);
[[nodiscard]] std::string model_columns();
[[nodiscard]] Result<ModelState> read_model(SqlReader& row);

}  // namespace zkapex
