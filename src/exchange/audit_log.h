// Reads a whole log and checks it: signatures of its checkpoint, every tile against the entries, and the rules of
// exchange/audit.h.
#pragma once

#include "exchange/audit.h"
#include "log/policy.h"
#include "log/tiles.h"

namespace zkapex {

struct LogReading {
  std::string broken;  // why the log is not what was signed, or not signed by whom the policy trusts; empty where it is
  std::optional<Policy::Opened> opened;  // the checkpoint, and who has seen it
  std::optional<LogAudit> audit;         // of all entries, unless it is broken
};

// Called with each entry whose statement was taken, in order: for who has more to check or to keep.
using EntryCheck = std::function<Status(uint64_t index, ByteView entry, const Statement& statement)>;

// An error is something that cannot be read. `known`, where it is given, is an earlier checkpoint of the log that this
// one has to continue.
[[nodiscard]] Result<LogReading> read_log(TileSource& source, const Policy& policy, const Note* known,
                                          const EntryCheck& check = {});

// The checkpoint that a log shows, not checked.
[[nodiscard]] Result<Note> read_checkpoint(TileSource& source);

}  // namespace zkapex
