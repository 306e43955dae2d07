#include "agent/update_order.h"

#include "attestation/inputs.h"
#include "base/json.h"
#include "log/strict_json.h"
#include "weights/checkpoint.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPath = 4096;

bool lies_there(const Path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

// A relative name would mean something else to the agent.
Path from_anywhere(const Path& path) { return path.empty() ? Path() : fs::absolute(path).lexically_normal(); }

}  // namespace

std::string UpdateOrder::encode() const {
  const nlohmann::ordered_json out = {
      {"model", model.string()}, {"curvature", store.string()}, {"base", base.string()}};
  return out.dump(2) + "\n";
}

Result<UpdateOrder> UpdateOrder::decode(std::string_view json) {
  ZKAPEX_TRY(const nlohmann::json value, parse_strict_json(json));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(value, "the order"));
  UpdateOrder out;
  ZKAPEX_TRY(out.model, object.text("model", kMaxPath));
  ZKAPEX_TRY(out.store, object.text("curvature", kMaxPath));
  ZKAPEX_TRY(out.base, object.text("base", kMaxPath));
  ZKAPEX_CHECK(object.finish());
  return out;
}

std::string_view name(UpdateState state) {
  switch (state) {
    case UpdateState::kOrdered:
      return "ordered";
    case UpdateState::kComputed:
      return "computed";
    case UpdateState::kSent:
      return "sent";
    case UpdateState::kReceived:
      return "received";
    case UpdateState::kAccepted:
      return "accepted";
    case UpdateState::kRejected:
      return "rejected";
    case UpdateState::kFailed:
      break;
  }
  return "failed";
}

DeliveryFiles UpdateFolder::delivery() const {
  return {.file = folder / "update.zka",
          .statement = folder / "statement.json",
          .received = folder / "received.json",
          .verdict = folder / "verdict.json",
          .receipt = folder / "verdict.tlog-proof"};
}

Result<std::optional<UpdateState>> UpdateFolder::state() const {
  const DeliveryFiles files = delivery();
  if (!lies_there(folder)) return std::optional<UpdateState>();
  if (lies_there(failure())) return std::optional(UpdateState::kFailed);
  if (lies_there(files.verdict)) {
    ZKAPEX_TRY(const VerdictNotice verdict, read_verdict(files));
    return std::optional(verdict.passed() ? UpdateState::kAccepted : UpdateState::kRejected);
  }
  if (lies_there(files.received)) return std::optional(UpdateState::kReceived);
  if (lies_there(files.statement)) return std::optional(UpdateState::kSent);
  return std::optional(lies_there(files.file) ? UpdateState::kComputed : UpdateState::kOrdered);
}

Status order_update(const AgentFolder& folder, const UpdateOrder& wanted) {
  ZKAPEX_CHECK(read_config(folder));
  const UpdateFolder at{folder.update()};
  if (lies_there(at.folder))
    return error("{}: an update is under way; zkapex agent status tells how far it is", folder.folder.string());
  const UpdateOrder order{from_anywhere(wanted.model), from_anywhere(wanted.store), from_anywhere(wanted.base)};
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(order.model));
  if (const Status fits = deployment.layout().check_tensors(model.tensors()); !fits)
    return fits.error().within(order.model.string());
  if (!order.store.empty()) {
    ZKAPEX_CHECK(open_store(order.store, deployment));
  }
  if (deployment.anchor() && order.base.empty())
    return error("the deployment is anchored at a base model: give it (--base)");
  if (!order.base.empty()) {
    ZKAPEX_CHECK(Checkpoint::open(order.base));
  }
  ZKAPEX_TRY(TemporaryFolder made, TemporaryFolder::create(at.folder));
  ZKAPEX_CHECK(write_file(made.file(at.order().filename()), view(order.encode()), {.secret = true}));
  return made.commit();
}

std::vector<UpdateFolder> past_updates(const AgentFolder& folder) {
  std::vector<UpdateFolder> out;
  for (size_t k = 1; lies_there(folder.updates() / std::to_string(k)); ++k)
    out.push_back({folder.updates() / std::to_string(k)});
  return out;
}

}  // namespace zkapex
