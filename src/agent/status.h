// What an agent's folder says of itself, to whoever asks while the agent works or does not.
#pragma once

#include "agent/agent.h"

namespace zkapex {

struct WindowStatus {
  std::string window;
  WindowState state = WindowState::kSeen;
  UnixTime deadline = 0;
  size_t earlier = 0;                        // attempts that were rejected before
  std::optional<UnixTime> verdict_due = {};  // promised by the provider, while there is none
  std::string reason = {};                   // of a rejection
};

struct UpdateStatus {
  UpdateState state = UpdateState::kOrdered;
  std::string reason = {};  // of a rejection, or a sentence: why no proof could be made
};

struct AgentStatus {
  std::string client, provider;
  bool enrolled = false;
  std::string key = {};           // PublicKey::id of the one that is enrolled
  bool key_is_ordered = false;    // another one
  std::string registration = {};  // "none", "made", "received", "accepted" or "rejected"
  bool split = false;
  std::optional<uint64_t> log_size = {};  // that was seen last
  std::vector<WindowStatus> windows = {};
  std::vector<UpdateStatus> updates = {};  // the first one first
};

[[nodiscard]] Result<AgentStatus> read_status(const AgentFolder& folder);

}  // namespace zkapex
