// What a factor makes of a segment's moves, entry by entry: in 64 bits, which are enough unless weights or parameters
// are extreme.
#pragma once

#include <algorithm>
#include <span>

#include "argument/sumcheck_table.h"
#include "base/unset_vector.h"

namespace zkapex {

class ProductTable {
 public:
  ProductTable() = default;
  ProductTable(bool narrow, size_t size) : narrow_(narrow) {
    narrow_ ? narrow_entries_.resize(size) : wide_entries_.resize(size);
  }

  // Whether they fit.
  bool set(size_t first, std::span<const int128> entries) {
    int128 lost = 0;
    if (!narrow_) std::copy(entries.begin(), entries.end(), wide_entries_.begin() + static_cast<ptrdiff_t>(first));
    for (size_t k = 0; narrow_ && k < entries.size(); ++k) {
      narrow_entries_[first + k] = static_cast<int64_t>(entries[k]);
      lost |= narrow_entries_[first + k] ^ entries[k];
    }
    return lost == 0;
  }
  [[nodiscard]] SumcheckTable table() const {
    if (narrow_) return {std::span(narrow_entries_)};
    return {std::span(wide_entries_)};
  }

 private:
  bool narrow_ = true;
  UnsetVector<int64_t> narrow_entries_;
  UnsetVector<int128> wide_entries_;
};

}  // namespace zkapex
