// How an agent comes to be: it learns who the provider is, enrols with a one-time code, and registers its model.
#pragma once

#include "agent/config.h"
#include "agent/web_client.h"
#include "parties/register_client.h"

namespace zkapex {

struct AgentSetup {
  AgentConfig config;       // the pseudonym may be empty: then it is that of the client's folder, or a new one
  std::string code;         // one-time, from the provider
  Path policy;              // which log to believe; empty: the one that the provider suggests, believed from now on
  Path model, store, base;  // for a registration; the client's folder may be there already instead
  std::function<void()> between_changes = {};  // called between any two changes on disk
};
struct SetupReport {
  std::string client;                          // pseudonym
  std::string log;                             // the log's name
  std::string log_key;                         // as verifiers write it
  bool suggested = false;                      // the provider's word is all there is for the log's key
  std::optional<RegisterReport> registration;  // where it was made now
};

// Stopped at any point, the same call goes on. What is there already is kept.
[[nodiscard]] Result<SetupReport> set_up(const AgentFolder& folder, const AgentSetup& setup, WebClient& web,
                                         const WorkSettings& settings);

}  // namespace zkapex
