// The provider's log as this agent has seen it. Each checkpoint is held against the one that was seen before, so that
// a log cannot show one history today and another tomorrow; nor one to this agent and another to the witnesses that
// its policy asks for.
#pragma once

#include <optional>

#include "agent/agent_folder.h"
#include "agent/web_client.h"
#include "log/policy.h"
#include "log/receipt.h"
#include "log/tiles.h"

namespace zkapex {

// The log's files on the provider's server.
class WebTiles : public TileSource {
 public:
  WebTiles(WebClient& web, std::string address) : web_(&web), address_(std::move(address)) {}
  [[nodiscard]] Result<std::optional<Bytes>> read(const std::string& path, size_t max_bytes) override;

 private:
  WebClient* web_;
  std::string address_;  // with the log's prefix, without a slash at its end
};

// What was seen, and whether that is the end of it.
struct LogSight {
  TreeHead head;
  Note note;
  bool split = false;  // the log contradicts what was seen before; evidence is in the folder
};

// The checkpoint that was seen last; none in a new folder.
[[nodiscard]] Result<std::optional<LogSight>> last_sight(const AgentFolder& folder, const Policy& policy);

// Reads the log's checkpoint, checks its signature, its witnesses, and that its tree begins with the one that was seen
// before, and keeps it. Where it does not, both are kept in folder.split_view(). An error for all that may pass: a log
// that cannot be read, too few witnesses, tiles that are not those of the checkpoint, a checkpoint older than the last.
[[nodiscard]] Result<LogSight> look_at_log(const AgentFolder& folder, const Policy& policy, TileSource& log);

}  // namespace zkapex
