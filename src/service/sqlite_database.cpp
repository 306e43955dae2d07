#include "service/sqlite_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <map>

namespace zkapex {

namespace {

constexpr SqlDialect kSqliteDialect{.integer = "INTEGER",
                                    .bytes = "BLOB",
                                    .serial = "INTEGER PRIMARY KEY AUTOINCREMENT",
                                    .strict = "STRICT",
                                    .skip_locked = "",
                                    .for_update = "",
                                    .for_share = "",
                                    .one_migrator = ""};

struct CloseSqlite {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(std::string file, std::unique_ptr<sqlite3, CloseSqlite> connection)
      : file_(std::move(file)), connection_(std::move(connection)) {}

  [[nodiscard]] const SqlDialect& dialect() const override { return kSqliteDialect; }

  Result<std::vector<SqlRow>> run(std::string_view text, const SqlRow& values) override {
    ZKAPEX_TRY(sqlite3_stmt* const statement, prepared(text));
    const auto rows = [&]() -> Result<std::vector<SqlRow>> {
      ZKAPEX_CHECK(bind(statement, values));
      std::vector<SqlRow> out;
      for (;;) {
        const int step = sqlite3_step(statement);
        if (step == SQLITE_DONE) return out;
        if (step != SQLITE_ROW) return failure();
        out.push_back(row_of(statement));
      }
    }();
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return rows;
  }

  Status begin() override { return done("BEGIN IMMEDIATE"); }
  Status commit() override {
    const Status committed = done("COMMIT");
    if (!committed) roll_back();  // a commit that found no room leaves the transaction open
    return committed;
  }
  void roll_back() override {
    if (sqlite3_get_autocommit(connection_.get()) != 0) return;  // some errors have rolled back already
    const Status ignored = done("ROLLBACK");                     // there is nothing else to do about it
    static_cast<void>(ignored);
  }

  Status set_up() {
    sqlite3_extended_result_codes(connection_.get(), 1);
    sqlite3_busy_timeout(connection_.get(), 30'000);
    for (const char* pragma : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
                               "PRAGMA trusted_schema = OFF"})
      ZKAPEX_CHECK(done(pragma));
    return Done{};
  }

 private:
  Status done(std::string_view text) {
    ZKAPEX_CHECK(run(text, {}));
    return Done{};
  }

  [[nodiscard]] Error failure() const {
    return error("the database {} failed: {}", file_, sqlite3_errmsg(connection_.get()));
  }

  Result<sqlite3_stmt*> prepared(std::string_view text) {
    const auto found = statements_.find(text);
    if (found != statements_.end()) return found->second.get();
    sqlite3_stmt* statement = nullptr;
    const int size = static_cast<int>(text.size());
    if (sqlite3_prepare_v3(connection_.get(), text.data(), size, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
        SQLITE_OK)
      return failure();
    statements_.emplace(std::string(text), statement);
    return statement;
  }

  // "$2" is a name to SQLite; one that the statement does not have is passed over.
  Status bind(sqlite3_stmt* statement, const SqlRow& values) const {
    for (size_t k = 0; k < values.size(); ++k) {
      const int at = sqlite3_bind_parameter_index(statement, fmt::format("${}", k + 1).c_str());
      if (at == 0) continue;
      if (bind_one(statement, at, values[k]) != SQLITE_OK) return failure();
    }
    return Done{};
  }

  static int bind_one(sqlite3_stmt* statement, int at, const SqlValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, at, *number);
    if (const auto* text = std::get_if<std::string>(&value))
      return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    if (const auto* bytes = std::get_if<Bytes>(&value)) {
      if (bytes->empty()) return sqlite3_bind_zeroblob(statement, at, 0);  // no data would be NULL
      return sqlite3_bind_blob64(statement, at, bytes->data(), bytes->size(), SQLITE_STATIC);
    }
    return sqlite3_bind_null(statement, at);
  }

  static SqlRow row_of(sqlite3_stmt* statement) {
    SqlRow out;
    for (int k = 0; k < sqlite3_column_count(statement); ++k) {
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, k));
      switch (sqlite3_column_type(statement, k)) {
        case SQLITE_INTEGER:
          out.emplace_back(int64_t{sqlite3_column_int64(statement, k)});
          break;
        case SQLITE_TEXT:
          out.emplace_back(std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, k)), size));
          break;
        case SQLITE_BLOB: {
          const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement, k));
          out.emplace_back(size == 0 ? Bytes() : Bytes(data, data + size));
          break;
        }
        default:
          out.emplace_back();
      }
    }
    return out;
  }

  std::string file_;
  std::unique_ptr<sqlite3, CloseSqlite> connection_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, FinalizeStatement>, std::less<>> statements_;
};

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const Path& file) {
  // For its owner only; SQLite gives its other files the same mode. A file that exists is not opened here: closing it
  // would give up the locks that other connections of this process have on it, and with them the database.
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0 && errno != EEXIST) return file_failure("open", file, errno);
  if (made >= 0) ::close(made);
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  std::unique_ptr<sqlite3, CloseSqlite> connection(raw);
  if (opened != SQLITE_OK) return error("cannot open the database {}: {}", file.string(), sqlite3_errstr(opened));
  auto out = std::make_unique<SqliteDatabase>(file.string(), std::move(connection));
  ZKAPEX_CHECK(out->set_up());
  return std::unique_ptr<Database>(std::move(out));
}

}  // namespace zkapex
