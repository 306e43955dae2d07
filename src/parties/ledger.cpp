#include "parties/ledger.h"

#include "attestation/inputs.h"
#include "base/names.h"
#include "base/temporaries.h"

namespace zkapex {

namespace {

Status make_folder(const Path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder.string(), failed.message());
  return Done{};
}

Path deployment_in(const Path& ledger) { return ledger / "deployment.zka"; }
Path clients_in(const Path& ledger) { return ledger / "clients"; }

// A client's folder has a deployment too.
bool is_ledger(const Path& folder) {
  return std::filesystem::exists(deployment_in(folder)) && std::filesystem::is_directory(clients_in(folder));
}

// Nothing is there, or what making a ledger begins with.
bool may_become_ledger(const Path& folder) {
  std::error_code none;
  for (const auto& item : std::filesystem::directory_iterator(folder, none)) {
    if (item.path() != clients_in(folder) && !is_temporary_name(item.path().filename().string())) return false;
  }
  return true;
}

}  // namespace

Result<Ledger> Ledger::open(const Path& folder) {
  if (!is_ledger(folder)) {
    return error("{} is no ledger: zkapex admit makes one, with the first client's registration", folder.string());
  }
  ZKAPEX_TRY(FolderLock lock, FolderLock::take(folder));
  ZKAPEX_TRY(Deployment deployment, read_deployment(deployment_in(folder)));
  return Ledger(folder, std::move(lock), std::move(deployment));
}

Result<Ledger> Ledger::open_or_create(const Path& folder, const Deployment& deployment) {
  if (!is_ledger(folder)) {
    if (!may_become_ledger(folder))
      return error("{} holds other files and is no ledger: choose a new folder", folder.string());
    ZKAPEX_CHECK(make_folder(clients_in(folder)));
    ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder));  // one maker; whoever comes later finds it made
    if (!is_ledger(folder)) {
      ZKAPEX_CHECK(write_file(deployment_in(folder), deployment.serialize()));
    }
  }
  ZKAPEX_TRY(Ledger ledger, open(folder));
  if (ledger.deployment().digest() != deployment.digest())
    return error("the ledger {} is of another deployment", folder.string());
  return ledger;
}

Path Ledger::entry(const std::string& client) const { return clients_in(folder_) / file_name_of(client); }

Path Ledger::mask(const Sha256::Digest& digest) const { return folder_ / "masks" / (to_hex(digest) + ".zka"); }

Result<std::optional<ClientRecord>> Ledger::find(const std::string& client) const {
  const Path folder = entry(client);
  if (!std::filesystem::exists(folder / "model.zka")) return std::optional<ClientRecord>();
  ClientRecord out;
  ZKAPEX_TRY(out.registered, read_public_file<Registered>(folder / "registered.zka"));
  ZKAPEX_TRY(out.current, read_public_file<ModelCommitment>(folder / "model.zka"));
  if (out.registered.client != client || out.current.registration != out.registered.digest)
    return error("{}: the files of this entry do not belong together, or to this client", folder.string());
  if (!out.current.windows.empty()) {
    ZKAPEX_TRY(out.last_mask, read_mask(mask(out.current.windows.back().mask), deployment_));
  }
  return std::optional(std::move(out));
}

Status Ledger::add(const RegistrationFile& file, const Registered& registered) const {
  const Path folder = entry(registered.client);
  ZKAPEX_CHECK(make_folder(folder));
  // What an interrupted command left without model.zka is replaced.
  ZKAPEX_CHECK(write_file(folder / "registration.zka", file.encode(), {.overwrite = true}));
  ZKAPEX_CHECK(write_file(folder / "registered.zka", registered.encode(), {.overwrite = true}));
  return write_file(folder / "model.zka", registered.model.encode());
}

Status Ledger::advance(const std::string& client, const Mask& applied, const ModelCommitment& next) const {
  const Path path = mask(applied.digest());
  ZKAPEX_CHECK(make_folder(path.parent_path()));
  ZKAPEX_CHECK(write_file(path, applied.serialize(), {.overwrite = true}));
  return write_file(entry(client) / "model.zka", next.encode(), {.overwrite = true});
}

}  // namespace zkapex
