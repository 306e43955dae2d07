// SQL on SQLite or PostgreSQL: the same text for both, with $1, $2, … for values. One connection, for one thread at a
// time; threads and processes open their own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"

namespace zkapex {

// NULL, an integer of 64 bits, text or bytes.
using SqlValue = std::variant<std::monostate, int64_t, std::string, Bytes>;
using SqlRow = std::vector<SqlValue>;

[[nodiscard]] SqlValue sql(const Sha256::Digest& digest);
[[nodiscard]] SqlValue sql(uint64_t number);

// Reads one row, column by column from the left. Another type than the one asked for is an error.
class SqlReader {
 public:
  explicit SqlReader(const SqlRow& row) : row_(row) {}

  [[nodiscard]] Result<int64_t> integer();
  [[nodiscard]] Result<uint64_t> count();  // not negative
  [[nodiscard]] Result<std::string> text();
  [[nodiscard]] Result<Bytes> bytes();
  [[nodiscard]] Result<Sha256::Digest> digest();
  [[nodiscard]] Result<std::optional<int64_t>> integer_or_null();
  [[nodiscard]] Result<std::optional<uint64_t>> count_or_null();
  [[nodiscard]] Result<std::optional<std::string>> text_or_null();
  [[nodiscard]] Result<std::optional<Bytes>> bytes_or_null();
  [[nodiscard]] Result<std::optional<Sha256::Digest>> digest_or_null();

 private:
  template <class T>
  [[nodiscard]] Result<std::optional<T>> get(std::string_view what);

  const SqlRow& row_;
  size_t column_ = 0;
};

// What the two engines call differently. Statements name these in braces: {bytes}.
struct SqlDialect {
  std::string_view integer, bytes, serial, strict;  // types of columns, a key that counts up, what ends a table
  std::string_view skip_locked;                     // ends a SELECT whose rows the transaction takes, without waiting
  std::string_view for_update, for_share;           // the same with waiting
  std::string_view one_migrator;                    // a statement: until the end of the transaction; none if empty
};

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  [[nodiscard]] virtual const SqlDialect& dialect() const = 0;
  // Rows that the statement returns. Outside a transaction only reads: they may be tried again on a new connection. In
  // a transaction an error is the end of it: roll back.
  [[nodiscard]] virtual Result<std::vector<SqlRow>> run(std::string_view statement, const SqlRow& values) = 0;
  // The same statement once for each row of values, in their order, and the rows that each returned. One after the
  // other unless an engine can do better: PostgreSQL is told all of them before it is asked for the first answer.
  [[nodiscard]] virtual Result<std::vector<std::vector<SqlRow>>> run_each(std::string_view statement,
                                                                          std::span<const SqlRow> values);
  // SQLite: no other connection writes until the end.
  [[nodiscard]] virtual Status begin() = 0;
  // An error leaves open whether it happened, where the connection was lost: whoever tries again must be able to.
  [[nodiscard]] virtual Status commit() = 0;
  virtual void roll_back() = 0;
};

// {name} replaced by what the dialect calls it.
[[nodiscard]] std::string in_dialect(std::string_view statement, const SqlDialect& dialect);

// All of `work` or nothing: an error of it leaves the database as it was.
template <class Work>
[[nodiscard]] auto transact(Database& database, const Work& work) -> decltype(work()) {
  ZKAPEX_CHECK(database.begin());
  auto out = work();
  if (!out) {
    database.roll_back();
    return out;
  }
  ZKAPEX_CHECK(database.commit());
  return out;
}

// Whether transactions that write wait for each other there (SQLite).
[[nodiscard]] bool has_one_writer(const std::string& address);
// "sqlite:FILE" or a plain path; "postgresql://…". Without migrations: see Store::open.
[[nodiscard]] Result<std::unique_ptr<Database>> open_database(const std::string& address);

}  // namespace zkapex
