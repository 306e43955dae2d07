#include "log/growing_tree.h"

#include <bit>

namespace zkapex {

void GrowingTree::add(const TreeHash& leaf) {
  TreeHash hash = leaf;
  for (size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    std::vector<TreeHash>& row = levels_[level];
    row.push_back(hash);
    if (row.size() % 2 == 1) return;
    hash = node_hash(row[row.size() - 2], row.back());
  }
}

// The complete subtrees that a tree of that size consists of, from the smallest, which is last.
TreeHash GrowingTree::root(uint64_t size) const {
  if (size == 0) return empty_tree_hash();
  const auto last = [&](int level) { return levels_[static_cast<size_t>(level)][(size >> level) - 1]; };
  int level = std::countr_zero(size);
  TreeHash out = last(level);
  for (++level; size >> level != 0; ++level) {
    if ((size >> level & 1) != 0) out = node_hash(last(level), out);
  }
  return out;
}

}  // namespace zkapex
