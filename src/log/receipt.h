// A receipt (C2SP tlog-proof): that an entry is in a log, to be checked offline. With the entry in its `extra` line it
// needs nothing else but a policy.
#pragma once

#include "log/policy.h"
#include "log/tiles.h"

namespace zkapex {

struct Receipt {
  static constexpr size_t kMaxFileBytes = 200'000;

  std::optional<Bytes> entry;  // the `extra` line
  uint64_t index = 0;
  std::vector<TreeHash> proof;  // the sibling of the leaf first
  Note checkpoint;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<Receipt> parse(std::string_view bytes);
};

// Of entry `index` under that checkpoint, from the log's tiles.
[[nodiscard]] Result<Receipt> make_receipt(TileSource& source, uint64_t index, const Note& checkpoint);

// The entry is at the receipt's index of a log that the policy trusts, under a checkpoint that its quorum saw.
[[nodiscard]] Result<Policy::Opened> check_receipt(const Receipt& receipt, ByteView entry, const Policy& policy);

}  // namespace zkapex
