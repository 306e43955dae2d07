#include "service/store.h"

#include "service/migrations.h"
#include "service/store_rows.h"

namespace zkapex {

Result<Store> Store::open(const std::string& address) {
  ZKAPEX_TRY(std::unique_ptr<Database> database, open_database(address));
  return over(std::move(database));
}

Result<Store> Store::over(std::unique_ptr<Database> database) {
  ZKAPEX_CHECK(migrate(*database));
  return Store(std::move(database));
}

Status Store::ping() {
  ZKAPEX_CHECK(database_->run("SELECT 1", {}));
  return Done{};
}

Status Store::set_deployment(const BlobName& file, const Bytes& entry) {
  return transact(*database_, [&]() -> Status {
    ZKAPEX_TRY(const std::optional<DeploymentInfo> present, deployment());
    if (present && present->file == file) return Done{};
    if (present) return error("the store is of another deployment");
    ZKAPEX_TRY(const int64_t queued, queue_entry(*database_, entry));
    ZKAPEX_CHECK(database_->run("INSERT INTO deployment (one, sha256, bytes, entry) VALUES (1, $1, $2, $3)",
                                {sql(file.sha256), sql(file.bytes), queued}));
    return Done{};
  });
}

Result<std::optional<DeploymentInfo>> Store::deployment() {
  return one_row<DeploymentInfo>(*database_,
                                 "SELECT d.sha256, d.bytes, e.body, e.place FROM deployment d "
                                 "JOIN entries e ON e.id = d.entry",
                                 {}, [](SqlReader& row) -> Result<DeploymentInfo> {
                                   DeploymentInfo out;
                                   ZKAPEX_TRY(out.file, read_blob_name(row));
                                   ZKAPEX_TRY(out.entry, row.bytes());
                                   ZKAPEX_TRY(out.index, row.count_or_null());
                                   return out;
                                 });
}

}  // namespace zkapex
