#include "parties/ledger.h"

#include <algorithm>
#include <charconv>

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

Path named_by(const Path& folder, const Sha256::Digest& digest) { return folder / (to_hex(digest) + ".zka"); }

// Where the record is that belongs to the client's current model.
Path registered_in(const Path& entry, const ModelCommitment& current) {
  if (current.update == Sha256::Digest{}) return entry / "registered.zka";
  return named_by(entry / "updates", current.update);
}

Path admitted_in(const Path& entry, const ModelCommitment& current) {
  return entry / "admitted" / to_hex(current.update);
}

Status write_number(const Path& path, uint64_t number) {
  ZKAPEX_CHECK(make_folder(path.parent_path()));
  return write_file(path, view(fmt::format("{}\n", number)), {.overwrite = true});
}

Result<uint64_t> read_number(const Path& path) {
  ZKAPEX_TRY(const Bytes bytes, read_file(path, 32));
  uint64_t out = 0;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto [end, failed] = std::from_chars(text, text + bytes.size(), out);
  if (failed != std::errc() || end + 1 != text + bytes.size() || *end != '\n')
    return error("{} should hold a number", path.string());
  return out;
}

Result<uint64_t> files_in(const Path& folder) {
  uint64_t out = 0;
  std::error_code failed;
  if (!std::filesystem::exists(folder)) return out;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    out += is_temporary_name(at->path().filename().string()) ? 0 : 1;
  if (failed) return error("cannot read {}: {}", folder.string(), failed.message());
  return out;
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

Path Ledger::mask(const Sha256::Digest& digest) const { return named_by(folder_ / "masks", digest); }

Path Ledger::published(const Sha256::Digest& mask) const { return folder_ / "published" / to_hex(mask); }

Result<uint64_t> Ledger::published() const { return files_in(folder_ / "published"); }

Status Ledger::name_window(const Mask& mask) const {
  const Path path = folder_ / "windows" / file_name_of(mask.window);
  const std::string digest = to_hex(mask.digest()) + "\n";
  if (!std::filesystem::exists(path)) {
    ZKAPEX_CHECK(make_folder(path.parent_path()));
    return write_file(path, view(digest));
  }
  ZKAPEX_TRY(const Bytes named, read_file(path, digest.size() + 1));
  if (!std::ranges::equal(named, view(digest)))
    return error(
        "another request was published for the window {} ({} says which): give this one a name that was never used",
        in_quotes(mask.window), path.string());
  return Done{};
}

Result<bool> Ledger::publish(const Mask& mask) const {
  const Path path = published(mask.digest());
  ZKAPEX_CHECK(name_window(mask));
  if (std::filesystem::exists(path)) return false;
  ZKAPEX_TRY(const uint64_t before, published());
  ZKAPEX_CHECK(write_number(path, before + 1));
  return true;
}

Result<bool> Ledger::admitted_before(const ClientRecord& client, const Mask& mask) const {
  const Path request = published(mask.digest());
  if (!std::filesystem::exists(request)) return true;
  ZKAPEX_TRY(const uint64_t number, read_number(request));
  ZKAPEX_TRY(const uint64_t before, read_number(admitted_in(entry(client.registered.client), client.current)));
  return before < number;
}

// By the update, and before the model that it leads to: of one that is not taken over nothing is said.
Status Ledger::note_admission(const std::string& client, const ModelCommitment& model) const {
  ZKAPEX_TRY(const uint64_t before, published());
  return write_number(admitted_in(entry(client), model), before);
}

Result<std::optional<ClientRecord>> Ledger::find(const std::string& client) const {
  const Path folder = entry(client);
  if (!std::filesystem::exists(folder / "model.zka")) return std::optional<ClientRecord>();
  ClientRecord out;
  ZKAPEX_TRY(out.current, read_public_file<ModelCommitment>(folder / "model.zka"));
  ZKAPEX_TRY(out.registered, read_public_file<Registered>(registered_in(folder, out.current)));
  if (out.registered.client != client || out.current.registration != out.registered.digest ||
      out.current.update != out.registered.model.update)
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
  ZKAPEX_CHECK(note_admission(registered.client, registered.model));
  return write_file(folder / "model.zka", registered.model.encode());
}

Result<size_t> Ledger::window_count() const { return files_in(folder_ / "masks"); }

Result<std::vector<KeptWindow>> Ledger::windows(const ClientRecord& client) const {
  std::vector<KeptWindow> out;
  for (const AppliedWindow& applied : client.current.windows) {
    KeptWindow& window = out.emplace_back();
    ZKAPEX_TRY(window.mask, read_mask(mask(applied.mask), deployment_));
    if (!window.mask.guidance) continue;
    const Path path = named_by(entry(client.registered.client) / "before", applied.mask);
    ZKAPEX_TRY(const ModelCommitment before, read_public_file<ModelCommitment>(path));
    if (before.registration != client.registered.digest)
      return error("{} is not of this client's registration", path.string());
    window.before = before.rows;
  }
  return out;
}

Status Ledger::advance(const std::string& client, const Mask& applied, const ModelCommitment& next) const {
  const Sha256::Digest digest = applied.digest();
  ZKAPEX_CHECK(make_folder(mask(digest).parent_path()));
  ZKAPEX_CHECK(write_file(mask(digest), applied.serialize(), {.overwrite = true}));
  const Path model = entry(client) / "model.zka";
  if (applied.guidance) {
    ZKAPEX_TRY(const ModelCommitment before, read_public_file<ModelCommitment>(model));
    const Path kept = named_by(entry(client) / "before", digest);
    ZKAPEX_CHECK(make_folder(kept.parent_path()));
    ZKAPEX_CHECK(write_file(kept, before.encode(), {.overwrite = true}));
  }
  return write_file(model, next.encode(), {.overwrite = true});
}

// The commitment comes last: with it the client has moved on.
Status Ledger::update(const Registered& updated, const ModelCommitment& next) const {
  const Path folder = entry(updated.client), path = registered_in(folder, next);
  ZKAPEX_CHECK(make_folder(path.parent_path()));
  ZKAPEX_CHECK(write_file(path, updated.encode(), {.overwrite = true}));
  ZKAPEX_CHECK(note_admission(updated.client, next));
  return write_file(folder / "model.zka", next.encode(), {.overwrite = true});
}

}  // namespace zkapex
