// What an agent was told when it was set up, and what it believes since: who the provider is, which log it trusts.
#pragma once

#include <optional>

#include "agent/agent_folder.h"
#include "exchange/statement.h"
#include "log/policy.h"
#include "parties/client_window.h"

namespace zkapex {

struct AgentConfig {
  static constexpr size_t kMaxFileBytes = 65'536;
  static constexpr int64_t kLongestPoll = 30 * 24 * 3600;

  std::string provider;             // address: see agent/web_client.h
  std::string authorities;          // file of certificates that sign the provider's; empty: the system's
  std::string client;               // pseudonym
  int64_t poll_seconds = 6 * 3600;  // how often it asks for requests, on average
  bool at_once = false;             // it begins a window when it sees it, and not at a time of its own
  Decimal max_guide = kMaxGuide;    // how far a guide may draw a tensor
  uint64_t min_masked = 0;          // requests that remove fewer weights, or more, are left alone
  std::optional<uint64_t> max_masked = std::nullopt;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<AgentConfig> decode(std::string_view json);
  bool operator==(const AgentConfig&) const = default;
};

// All that an agent knows before it asks anybody.
struct AgentIdentity {
  AgentConfig config;
  SigningKey key;
  Policy policy;
  DeploymentNotice provider;  // from the first entry of the log

  // An error with what to do where the agent is not set up, or only half.
  [[nodiscard]] static Result<AgentIdentity> read(const AgentFolder& folder);
};

[[nodiscard]] Result<AgentConfig> read_config(const AgentFolder& folder);
// An envelope from a file.
[[nodiscard]] Result<Envelope> read_envelope(const Path& file);
// As it is logged, for its owner only; replaces an older one.
[[nodiscard]] Status write_envelope(const Path& file, const Envelope& envelope);

}  // namespace zkapex
