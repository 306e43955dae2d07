#include "service/store_rows.h"

namespace zkapex {

Result<bool> any_row(Database& database, std::string_view statement, const SqlRow& values) {
  ZKAPEX_TRY(const std::vector<SqlRow> rows, database.run(in_dialect(statement, database.dialect()), values));
  return !rows.empty();
}

Result<std::vector<bool>> any_row_each(Database& database, std::string_view statement, std::span<const SqlRow> values) {
  ZKAPEX_TRY(const auto answers, database.run_each(in_dialect(statement, database.dialect()), values));
  std::vector<bool> out;
  for (const std::vector<SqlRow>& rows : answers) out.push_back(!rows.empty());
  return out;
}

Status do_each(Database& database, std::string_view statement, std::span<const SqlRow> values) {
  ZKAPEX_CHECK(database.run_each(in_dialect(statement, database.dialect()), values));
  return Done{};
}

Result<uint64_t> count_of(Database& database, std::string_view statement, const SqlRow& values) {
  ZKAPEX_TRY(const std::optional<uint64_t> found,
             one_row<uint64_t>(database, statement, values, [](SqlReader& row) { return row.count(); }));
  if (!found) return error("the database returned no number");
  return *found;
}

Result<std::vector<int64_t>> queue_entries(Database& database, std::span<const SqlRow> bodies) {
  ZKAPEX_TRY(const auto ids, one_row_each<int64_t>(database, "INSERT INTO entries (body) VALUES ($1) RETURNING id",
                                                   bodies, [](SqlReader& row) { return row.integer(); }));
  std::vector<int64_t> out;
  for (const std::optional<int64_t>& id : ids) {
    if (!id) return error("the database returned no number");
    out.push_back(*id);
  }
  return out;
}

Result<int64_t> queue_entry(Database& database, const Bytes& body) {
  const SqlRow row{body};
  ZKAPEX_TRY(const std::vector<int64_t> ids, queue_entries(database, {&row, 1}));
  return ids.front();
}

Result<BlobName> read_blob_name(SqlReader& row) {
  BlobName out;
  ZKAPEX_TRY(out.sha256, row.digest());
  ZKAPEX_TRY(out.bytes, row.count());
  return out;
}

std::string delivery_columns() {
  return "d.id, d.kind, d.client, d.window_id, d.sha256, d.bytes, COALESCE(d.envelope, e.body), d.state, d.announced, "
         "d.received, d.receipt, e.place, d.reason, d.detail, d.decided, v.body, v.place, "
         "CASE WHEN j.state = 'dead' THEN 1 ELSE 0 END";
}

std::string delivery_source() {
  return "deliveries d LEFT JOIN entries e ON e.id = d.entry LEFT JOIN entries v ON v.id = d.verdict "
         "LEFT JOIN jobs j ON j.delivery = d.id";
}

namespace {

template <class Name, size_t N>
Result<Name> named(const std::string& text, const Name (&names)[N]) {
  for (const Name known : names) {
    if (name(known) == text) return known;
  }
  return error("the database has a word that is not expected: {}", text);
}

Result<std::optional<VerdictInfo>> read_verdict(SqlReader& row, DeliveryState state) {
  ZKAPEX_TRY(const std::optional<std::string> reason, row.text_or_null());
  ZKAPEX_TRY(const std::optional<std::string> detail, row.text_or_null());
  ZKAPEX_TRY(const std::optional<int64_t> at, row.integer_or_null());
  ZKAPEX_TRY(const std::optional<Bytes> entry, row.bytes_or_null());
  ZKAPEX_TRY(const std::optional<uint64_t> index, row.count_or_null());
  if (!entry) return std::optional<VerdictInfo>();
  return std::optional(VerdictInfo{.accepted = state == DeliveryState::kAccepted,
                                   .reason = reason.value_or(""),
                                   .detail = detail.value_or(""),
                                   .at = at.value_or(0),
                                   .entry = *entry,
                                   .index = index});
}

}  // namespace

Result<DeliveryInfo> read_delivery(SqlReader& row) {
  constexpr DeliveryKind kKinds[] = {DeliveryKind::kRegistration, DeliveryKind::kUpdate, DeliveryKind::kSubmission};
  constexpr DeliveryState kStates[] = {DeliveryState::kAnnounced, DeliveryState::kReceived, DeliveryState::kAccepted,
                                       DeliveryState::kRejected};
  DeliveryInfo out;
  Announcement& announced = out.announced;
  ZKAPEX_TRY(announced.id, row.digest());
  ZKAPEX_TRY(const std::string kind, row.text());
  ZKAPEX_TRY(announced.kind, named(kind, kKinds));
  ZKAPEX_TRY(announced.client, row.text());
  ZKAPEX_TRY(announced.window, row.text());
  ZKAPEX_TRY(announced.file, read_blob_name(row));
  ZKAPEX_TRY(announced.entry, row.bytes());
  ZKAPEX_TRY(const std::string state, row.text());
  ZKAPEX_TRY(out.state, named(state, kStates));
  ZKAPEX_TRY(out.announced_at, row.integer());
  ZKAPEX_TRY(out.received_at, row.integer_or_null());
  ZKAPEX_TRY(out.receipt, row.bytes_or_null());
  ZKAPEX_TRY(out.index, row.count_or_null());
  ZKAPEX_TRY(out.verdict, read_verdict(row, out.state));
  ZKAPEX_TRY(const int64_t dead, row.integer());
  out.dead = dead != 0;
  return out;
}

std::string model_columns() {
  return "m.version, m.commitment, m.model_sha256, m.model_bytes, m.record_sha256, m.record_bytes, m.delivery, m.since";
}

Result<ModelState> read_model(SqlReader& row) {
  ModelState out;
  ZKAPEX_TRY(out.version, row.count());
  ZKAPEX_TRY(out.commitment, row.digest());
  ZKAPEX_TRY(out.model, read_blob_name(row));
  ZKAPEX_TRY(out.record, read_blob_name(row));
  ZKAPEX_TRY(out.delivery, row.digest());
  ZKAPEX_TRY(out.since, row.integer());
  return out;
}

}  // namespace zkapex
