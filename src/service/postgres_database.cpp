#include "service/postgres_database.h"

#include <libpq-fe.h>

#include <map>

namespace zkapex {

namespace {

constexpr SqlDialect kPostgresDialect{.integer = "BIGINT",
                                      .bytes = "BYTEA",
                                      .serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
                                      .strict = "",
                                      .skip_locked = "FOR UPDATE SKIP LOCKED",
                                      .for_update = "FOR UPDATE",
                                      .for_share = "FOR SHARE",
                                      .one_migrator = "SELECT 1 FROM pg_advisory_xact_lock(8104128)"};

// pg_type.dat's numbers, which never change.
constexpr Oid kBytea = 17, kInt8 = 20, kInt4 = 23, kText = 25;

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

// One line of what libpq says.
std::string said(const char* message) {
  std::string out(message);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  for (char& c : out) {
    if (c == '\n') c = ' ';
  }
  return out;
}

// Values as libpq wants them: integers and text as text, bytes as they are.
class Arguments {
 public:
  explicit Arguments(const SqlRow& values) : numbers_(values.size()) {
    for (size_t k = 0; k < values.size(); ++k) add(values[k], numbers_[k]);
  }
  std::vector<Oid> types;
  std::vector<const char*> data;
  std::vector<int> lengths, binary;

 private:
  void add(const SqlValue& value, std::string& number) {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      number = std::to_string(*integer);
      add(kInt8, number.c_str(), 0, 0);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      add(kText, text->c_str(), 0, 0);
    } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
      add(kBytea, bytes->empty() ? "" : reinterpret_cast<const char*>(bytes->data()), static_cast<int>(bytes->size()),
          1);
    } else {
      add(0, nullptr, 0, 0);
    }
  }
  void add(Oid type, const char* value, int length, int is_binary) {
    types.push_back(type);
    data.push_back(value);
    lengths.push_back(length);
    binary.push_back(is_binary);
  }
  std::vector<std::string> numbers_;
};

class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(std::string address) : address_(std::move(address)) {}

  [[nodiscard]] const SqlDialect& dialect() const override { return kPostgresDialect; }

  Result<std::vector<SqlRow>> run(std::string_view statement, const SqlRow& values) override {
    const auto work = [&] { return execute(statement, values); };
    return in_transaction_ ? work() : on_a_live_connection(work);
  }

  Result<std::vector<std::vector<SqlRow>>> run_each(std::string_view statement,
                                                    std::span<const SqlRow> values) override {
    if (values.empty()) return std::vector<std::vector<SqlRow>>();
    const auto work = [&] { return execute_each(statement, values); };
    return in_transaction_ ? work() : on_a_live_connection(work);
  }

  Status begin() override {
    // Nothing has happened yet, so a lost connection is no loss.
    ZKAPEX_CHECK(on_a_live_connection([&] { return execute("BEGIN", {}); }));
    in_transaction_ = true;
    return Done{};
  }
  Status commit() override {
    in_transaction_ = false;
    ZKAPEX_CHECK(execute("COMMIT", {}));
    return Done{};
  }
  void roll_back() override {
    in_transaction_ = false;
    if (!connection_ || !execute("ROLLBACK", {})) connection_.reset();  // without it the server rolls back by itself
  }

  Status connect() {
    prepared_.clear();
    const char* const keys[] = {"connect_timeout", "application_name", "dbname", nullptr};
    const char* const values[] = {"10", "zkapex", address_.c_str(), nullptr};
    connection_.reset(PQconnectdbParams(keys, values, 1));
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      const Error failed = error("cannot reach the database: {}", said(PQerrorMessage(connection_.get())));
      connection_.reset();
      return failed;
    }
    // What the server says beside its answers is for its own log.
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
    for (const char* setting : {"SET client_min_messages = warning", "SET lock_timeout = '30s'",
                                "SET idle_in_transaction_session_timeout = '60s'", "SET synchronous_commit = on"})
      ZKAPEX_CHECK(execute(setting, {}));
    return Done{};
  }

 private:
  using ResultPointer = std::unique_ptr<PGresult, ClearResult>;

  template <class Work>
  auto on_a_live_connection(const Work& work) -> decltype(work()) {
    if (connection_) {
      auto out = work();
      if (out || PQstatus(connection_.get()) == CONNECTION_OK) return out;
    }
    ZKAPEX_CHECK(connect());
    return work();
  }

  Result<std::vector<SqlRow>> execute(std::string_view statement, const SqlRow& values) {
    if (!connection_) return error("the connection to the database was lost");
    const Arguments arguments(values);
    const std::string text(statement);
    ZKAPEX_TRY(const std::string name, prepared(text, arguments));
    const ResultPointer result(PQexecPrepared(connection_.get(), name.c_str(), static_cast<int>(values.size()),
                                              arguments.data.data(), arguments.lengths.data(), arguments.binary.data(),
                                              1));
    ZKAPEX_TRY(std::vector<SqlRow> out, rows_of(result.get()));
    // COMMIT of a transaction in which something failed says so, and is no error to libpq.
    if (text == "COMMIT" && std::string_view(PQcmdStatus(result.get())) != "COMMIT")
      return error("the database rolled the transaction back");
    return out;
  }

  // libpq's pipeline: without it each statement would wait for the way to the server and back.
  Result<std::vector<std::vector<SqlRow>>> execute_each(std::string_view statement, std::span<const SqlRow> values) {
    if (!connection_) return error("the connection to the database was lost");
    const std::string text(statement);
    std::vector<std::string> names;
    for (const SqlRow& one : values) {
      ZKAPEX_TRY(std::string name, prepared(text, Arguments(one)));
      names.push_back(std::move(name));
    }
    if (PQenterPipelineMode(connection_.get()) == 0) return failure();
    Result<std::vector<std::vector<SqlRow>>> out = send_and_receive(names, values);
    // What is left to be read after an error would be taken for the answer to something else.
    if (PQexitPipelineMode(connection_.get()) == 0) connection_.reset();
    return out;
  }

  Result<std::vector<std::vector<SqlRow>>> send_and_receive(std::span<const std::string> names,
                                                            std::span<const SqlRow> values) {
    for (size_t k = 0; k < values.size(); ++k) {
      const Arguments arguments(values[k]);
      if (PQsendQueryPrepared(connection_.get(), names[k].c_str(), static_cast<int>(values[k].size()),
                              arguments.data.data(), arguments.lengths.data(), arguments.binary.data(), 1) == 0)
        return failure();
    }
    if (PQpipelineSync(connection_.get()) == 0) return failure();
    std::vector<std::vector<SqlRow>> out;
    std::optional<Error> failed;  // the first: those after it were not done
    for (size_t k = 0; k < values.size(); ++k) {
      while (const ResultPointer result{PQgetResult(connection_.get())}) {
        Result<std::vector<SqlRow>> rows = rows_of(result.get());
        if (!rows && !failed) failed = rows.error();
        if (rows) out.push_back(*std::move(rows));
      }
    }
    const ResultPointer end(PQgetResult(connection_.get()));
    if (!failed && PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) return failure();
    if (failed) return *std::move(failed);
    return out;
  }

  [[nodiscard]] Error failure() const {
    return error("the database failed: {}", said(PQerrorMessage(connection_.get())));
  }

  Result<std::vector<SqlRow>> rows_of(const PGresult* result) const {
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      const std::string_view message = PQresultErrorMessage(result);
      return message.empty() ? failure() : error("the database failed: {}", said(message.data()));
    }
    std::vector<SqlRow> out;
    for (int row = 0; row < PQntuples(result); ++row) {
      SqlRow& values_of_row = out.emplace_back();
      for (int column = 0; column < PQnfields(result); ++column) {
        ZKAPEX_TRY(SqlValue value, value_at(result, row, column));
        values_of_row.push_back(std::move(value));
      }
    }
    return out;
  }

  // Parsed once for each connection: that takes longer than most statements do.
  Result<std::string> prepared(const std::string& text, const Arguments& arguments) {
    std::string key = text;
    for (const Oid type : arguments.types) key += fmt::format(" {}", type);
    if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
    std::string name = fmt::format("s{}", prepared_.size());
    const ResultPointer result(PQprepare(connection_.get(), name.c_str(), text.c_str(),
                                         static_cast<int>(arguments.types.size()), arguments.types.data()));
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) return failure();
    prepared_.emplace(std::move(key), name);
    return name;
  }

  static Result<SqlValue> value_at(const PGresult* result, int row, int column) {
    if (PQgetisnull(result, row, column) != 0) return SqlValue();
    const auto* data = reinterpret_cast<const uint8_t*>(PQgetvalue(result, row, column));
    const auto size = static_cast<size_t>(PQgetlength(result, row, column));
    switch (PQftype(result, column)) {
      case kInt8:
      case kInt4: {
        uint64_t bits = size > 0 && (data[0] & 0x80U) != 0 ? ~uint64_t{0} : 0;  // big-endian, two's complement
        for (size_t k = 0; k < size; ++k) bits = bits << 8 | data[k];
        return SqlValue(static_cast<int64_t>(bits));
      }
      case kText:
        return SqlValue(std::string(reinterpret_cast<const char*>(data), size));
      case kBytea:
        return SqlValue(Bytes(data, data + size));
      default:
        return error("column {} of an answer of the database has a type that is not expected", column + 1);
    }
  }

  std::string address_;
  std::unique_ptr<PGconn, FinishConnection> connection_;
  std::map<std::string, std::string> prepared_;  // statements and types of their values, to names
  bool in_transaction_ = false;
};

}  // namespace

Result<std::unique_ptr<Database>> open_postgres(const std::string& address) {
  auto out = std::make_unique<PostgresDatabase>(address);
  ZKAPEX_CHECK(out->connect());
  return std::unique_ptr<Database>(std::move(out));
}

}  // namespace zkapex
