// What a factor makes of a segment's moves, entry by entry: in 64 bits, which are enough unless weights or parameters
// are extreme.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "argument/sumcheck_table.h"

namespace zkapex {

class ProductTable {
 public:
  ProductTable() = default;
  ProductTable(bool narrow, size_t size) : entries_(!narrow, size) {}

  // Whether they fit.
  bool set(size_t first, std::span<const int128> entries) {
    int128 lost = 0;
    if (entries_.wide()) std::copy(entries.begin(), entries.end(), entries_.wide_entries() + first);
    for (size_t k = 0; !entries_.wide() && k < entries.size(); ++k) {
      int64_t& entry = entries_.narrow_entries()[first + k];
      entry = static_cast<int64_t>(entries[k]);
      lost |= entry ^ entries[k];
    }
    return lost == 0;
  }
  // For a proof, which uses its memory.
  [[nodiscard]] SumcheckTable take() { return {std::exchange(entries_, {})}; }

 private:
  SumcheckTable::Owned entries_;
};

}  // namespace zkapex
