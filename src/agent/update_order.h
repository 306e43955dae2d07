// A model that has learned on, handed to the agent: a folder that appears with the order in it, whether an agent is at
// work or not. What is in it says how far the update is:
//   order.json            which model, and which curvature
//   update.zka            it is computed; the client's state after it is pending (parties/update.h)
//   statement.json        the provider may know of it: no window begins before its verdict
//   received.json         the provider has signed that it holds it
//   verdict.json, verdict.tlog-proof
//   failure.txt           why no proof could be made: nothing was sent
// The last two are its end; then the folder moves to updates/N.
#pragma once

#include "agent/delivery.h"

namespace zkapex {

struct UpdateOrder {
  static constexpr size_t kMaxFileBytes = 65'536;

  Path model;  // the new checkpoint
  Path store;  // its curvature; empty: the one that is committed stays
  Path base;   // θ0, where the deployment has an anchor

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<UpdateOrder> decode(std::string_view json);
};

enum class UpdateState { kOrdered, kComputed, kSent, kReceived, kAccepted, kRejected, kFailed };
[[nodiscard]] std::string_view name(UpdateState state);

struct UpdateFolder {
  static constexpr size_t kMaxFailure = 65'536;

  Path folder;

  [[nodiscard]] Path order() const { return folder / "order.json"; }
  [[nodiscard]] Path failure() const { return folder / "failure.txt"; }
  [[nodiscard]] Path refused() const { return folder / "refused.json"; }  // the statement, where a window came first
  [[nodiscard]] Path aside() const { return folder / "set-aside"; }       // states after what was sent and refused
  [[nodiscard]] DeliveryFiles delivery() const;
  // None where no update was ordered.
  [[nodiscard]] Result<std::optional<UpdateState>> state() const;
};

// Leaves the order for the agent, which may be at work. The files stay where they are, and must stay as they are.
// Refused while another update is under way, or where a file does not fit the deployment.
[[nodiscard]] Status order_update(const AgentFolder& folder, const UpdateOrder& order);

// Those that came to an end, the first one first.
[[nodiscard]] std::vector<UpdateFolder> past_updates(const AgentFolder& folder);

}  // namespace zkapex
