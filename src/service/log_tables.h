// The sequencer's side of the provider's database: the outbox that transactions fill, and what has a place in the log.
#pragma once

#include "log/sequencer.h"
#include "service/database.h"

namespace zkapex {

// On a connection of its own, or a store's.
class LogTables : public LogStore {
 public:
  explicit LogTables(Database& database) : database_(database) {}

  [[nodiscard]] Result<uint64_t> size() override;
  [[nodiscard]] Result<std::vector<QueuedEntry>> queued(size_t most) override;
  // Jobs that waited for these entries are due from then on.
  [[nodiscard]] Result<bool> place(uint64_t expected, std::span<const PlacedEntry> entries) override;
  [[nodiscard]] Result<std::vector<Bytes>> entries(uint64_t begin, uint64_t end) override;
  [[nodiscard]] Result<std::optional<std::string>> last_checkpoint() override;
  [[nodiscard]] Result<std::string> insert_checkpoint(uint64_t size, const std::string& note) override;

 private:
  Database& database_;
};

}  // namespace zkapex
