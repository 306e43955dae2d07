#include "service/database.h"

#include "service/postgres_database.h"
#include "service/sqlite_database.h"

namespace zkapex {

SqlValue sql(const Sha256::Digest& digest) { return Bytes(digest.begin(), digest.end()); }

SqlValue sql(uint64_t number) { return static_cast<int64_t>(number); }

template <class T>
Result<std::optional<T>> SqlReader::get(std::string_view what) {
  if (column_ >= row_.size()) return error("the database returned {} columns, and more were expected", row_.size());
  const SqlValue& value = row_[column_++];
  if (std::holds_alternative<std::monostate>(value)) return std::optional<T>();
  const T* found = std::get_if<T>(&value);
  if (found == nullptr) return error("column {} of a row of the database is not {}", column_, what);
  return std::optional<T>(*found);
}

Result<std::optional<int64_t>> SqlReader::integer_or_null() { return get<int64_t>("an integer"); }
Result<std::optional<std::string>> SqlReader::text_or_null() { return get<std::string>("text"); }
Result<std::optional<Bytes>> SqlReader::bytes_or_null() { return get<Bytes>("bytes"); }

Result<std::optional<uint64_t>> SqlReader::count_or_null() {
  ZKAPEX_TRY(const std::optional<int64_t> number, integer_or_null());
  if (!number) return std::optional<uint64_t>();
  if (*number < 0) return error("column {} of a row of the database is negative", column_);
  return std::optional(static_cast<uint64_t>(*number));
}

Result<std::optional<Sha256::Digest>> SqlReader::digest_or_null() {
  ZKAPEX_TRY(const std::optional<Bytes> found, bytes_or_null());
  if (!found) return std::optional<Sha256::Digest>();
  Sha256::Digest out;
  if (found->size() != out.size()) return error("column {} of a row of the database is not a digest", column_);
  std::copy(found->begin(), found->end(), out.begin());
  return std::optional(out);
}

namespace {

template <class T>
Result<T> not_null(Result<std::optional<T>> value) {
  if (!value) return value.error();
  if (!*value) return error("a column of a row of the database is empty, and must not be");
  return **std::move(value);
}

}  // namespace

Result<int64_t> SqlReader::integer() { return not_null(integer_or_null()); }
Result<uint64_t> SqlReader::count() { return not_null(count_or_null()); }
Result<std::string> SqlReader::text() { return not_null(text_or_null()); }
Result<Bytes> SqlReader::bytes() { return not_null(bytes_or_null()); }
Result<Sha256::Digest> SqlReader::digest() { return not_null(digest_or_null()); }

Result<std::vector<std::vector<SqlRow>>> Database::run_each(std::string_view statement,
                                                            std::span<const SqlRow> values) {
  std::vector<std::vector<SqlRow>> out;
  for (const SqlRow& one : values) {
    ZKAPEX_TRY(std::vector<SqlRow> rows, run(statement, one));
    out.push_back(std::move(rows));
  }
  return out;
}

std::string in_dialect(std::string_view statement, const SqlDialect& dialect) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"{integer}", dialect.integer},         {"{bytes}", dialect.bytes},
      {"{serial}", dialect.serial},           {"{strict}", dialect.strict},
      {"{skip_locked}", dialect.skip_locked}, {"{for_update}", dialect.for_update},
      {"{for_share}", dialect.for_share}};
  std::string out(statement);
  for (const auto& [from, to] : names) {
    for (size_t at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
      out.replace(at, from.size(), to);
  }
  return out;
}

bool has_one_writer(const std::string& address) {
  return !address.starts_with("postgresql://") && !address.starts_with("postgres://");
}

Result<std::unique_ptr<Database>> open_database(const std::string& address) {
  if (!has_one_writer(address)) return open_postgres(address);
  constexpr std::string_view kSqlite = "sqlite:";
  const std::string file = address.starts_with(kSqlite) ? address.substr(kSqlite.size()) : address;
  if (file.empty() || file.find("://") != std::string::npos)
    return error("{} is no store: give a file for SQLite, or postgresql://…", address);
  return open_sqlite(file);
}

}  // namespace zkapex
