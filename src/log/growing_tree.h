// A tree that entries are added to, and the root that it had at any size before.
#pragma once

#include "log/merkle.h"

namespace zkapex {

class GrowingTree {
 public:
  void add(const TreeHash& leaf);
  [[nodiscard]] uint64_t size() const { return levels_.empty() ? 0 : levels_[0].size(); }
  // At most size(). Takes as many hashes as the size has bits.
  [[nodiscard]] TreeHash root(uint64_t size) const;

 private:
  std::vector<std::vector<TreeHash>> levels_;  // hashes of complete subtrees of 2^k entries
};

}  // namespace zkapex
