#include "service/store_records.h"

namespace zkapex {

template <class File>
Result<File> StoreRecords::read(const BlobName& name) const {
  ZKAPEX_TRY(const Bytes bytes, blobs_.read(name));
  Result<File> file = File::decode(bytes);
  if (!file) return file.error().within(fmt::format("blob {}", to_hex(name.sha256)));
  return file;
}

Status StoreRecords::look_up(std::span<const std::string> clients) {
  ZKAPEX_TRY(const std::vector<std::optional<ClientInfo>> found, store_.clients_named(clients));
  for (size_t k = 0; k < clients.size(); ++k) looked_up_[clients[k]] = found[k];
  return Done{};
}

Result<std::optional<ClientRecord>> StoreRecords::find(const std::string& client) const {
  std::optional<ClientInfo> info;
  if (const auto known = looked_up_.find(client); known != looked_up_.end()) {
    info = known->second;
  } else {
    ZKAPEX_TRY(info, store_.client(client));
  }
  if (!info || !info->model) return std::optional<ClientRecord>();
  ClientRecord out;
  ZKAPEX_TRY(out.current, read<ModelCommitment>(info->model->model));
  ZKAPEX_TRY(out.registered, read<Registered>(info->model->record));
  if (out.registered.client != client || out.current.digest() != info->model->commitment ||
      out.current.registration != out.registered.digest || out.current.update != out.registered.model.update)
    return error("the records of client {} do not belong together, or to this client", client);
  if (!out.current.windows.empty()) {
    const AppliedWindow& last = out.current.windows.back();
    ZKAPEX_TRY(out.last_mask, mask(last.window, last.mask));
  }
  standings_[client] = {info->model->version, info->model->record};
  return std::optional(std::move(out));
}

Result<Mask> StoreRecords::mask(const std::string& window, const Digest& digest) const {
  if (const auto found = masks_.find(digest); found != masks_.end()) return found->second;
  ZKAPEX_TRY(const std::optional<WindowInfo> info, store_.window(window));
  if (!info || info->mask != digest) return error("the store has no window {} with that mask", window);
  ZKAPEX_TRY(const Bytes bytes, blobs_.read(info->psi));
  ZKAPEX_TRY(Mask mask, Mask::parse(bytes, deployment_.layout().coordinates()));
  ZKAPEX_CHECK(mask.check_for(deployment_));
  if (mask.window != window || mask.digest() != digest) return error("the mask of window {} is another one", window);
  return masks_.emplace(digest, std::move(mask)).first->second;
}

// The model before a guided window is the one in the chain before it.
Result<std::vector<KeptWindow>> StoreRecords::windows(const ClientRecord& client) const {
  ZKAPEX_TRY(const std::vector<ModelState> chain, store_.models(client.registered.client));
  std::map<std::string, BlobName> before;
  for (size_t k = 1; k < chain.size(); ++k) {
    ZKAPEX_TRY(const std::optional<DeliveryInfo> led, store_.delivery(chain[k].delivery));
    if (led && led->announced.kind == DeliveryKind::kSubmission) before[led->announced.window] = chain[k - 1].model;
  }
  std::vector<KeptWindow> out;
  for (const AppliedWindow& applied : client.current.windows) {
    KeptWindow& window = out.emplace_back();
    ZKAPEX_TRY(window.mask, mask(applied.window, applied.mask));
    if (!window.mask.guidance) continue;
    const auto found = before.find(applied.window);
    if (found == before.end()) return error("the model before window {} is not in the store", applied.window);
    ZKAPEX_TRY(const ModelCommitment model, read<ModelCommitment>(found->second));
    if (model.registration != client.registered.digest)
      return error("the model before window {} is not of this client's registration", applied.window);
    window.before = model.rows;
  }
  return out;
}

Status StoreRecords::add(const RegistrationFile& /*file*/, const Registered& registered) const {
  changes_[registered.client] = {registered.model, registered};
  return Done{};
}

Status StoreRecords::advance(const std::string& client, const Mask& /*mask*/, const ModelCommitment& next) const {
  changes_[client] = {next, std::nullopt};
  return Done{};
}

Status StoreRecords::update(const Registered& updated, const ModelCommitment& next) const {
  changes_[updated.client] = {next, updated};
  return Done{};
}

Result<std::optional<StoreRecords::Standing>> StoreRecords::standing(const std::string& client) const {
  if (!standings_.contains(client)) {
    ZKAPEX_CHECK(find(client));
  }
  const auto found = standings_.find(client);
  return found == standings_.end() ? std::optional<Standing>() : std::optional(found->second);
}

const StoreRecords::Change* StoreRecords::change(const std::string& client) const {
  const auto found = changes_.find(client);
  return found == changes_.end() ? nullptr : &found->second;
}

}  // namespace zkapex
