#include "log/merkle.h"

#include <bit>

namespace zkapex {

TreeHash leaf_hash(ByteView entry) {
  constexpr uint8_t kLeaf = 0x00;
  Sha256 hash;
  hash.update({&kLeaf, 1});
  hash.update(entry);
  return hash.finish();
}

TreeHash node_hash(const TreeHash& left, const TreeHash& right) {
  constexpr uint8_t kNode = 0x01;
  Sha256 hash;
  hash.update({&kNode, 1});
  hash.update(left);
  hash.update(right);
  return hash.finish();
}

TreeHash empty_tree_hash() { return sha256({}); }

TreeHash tree_hash(std::span<const TreeHash> leaves) {
  if (leaves.empty()) return empty_tree_hash();
  if (leaves.size() == 1) return leaves[0];
  const size_t split = std::bit_floor(leaves.size() - 1);
  return node_hash(tree_hash(leaves.first(split)), tree_hash(leaves.subspan(split)));
}

// RFC 9162, section 2.1.3.2: from the leaf up, `at` is the node's number and `last` that of the last node of its level.
Status check_inclusion(const TreeHash& leaf, uint64_t index, uint64_t size, const TreeHash& root,
                       std::span<const TreeHash> proof) {
  if (index >= size) return error("there is no entry {} in a log of {}", index, size);
  uint64_t at = index, last = size - 1;
  TreeHash hash = leaf;
  for (const TreeHash& sibling : proof) {
    if (last == 0) return error("the proof of inclusion is too long");
    if (at % 2 == 1 || at == last) {
      hash = node_hash(sibling, hash);
      // A last node without a sibling goes up as it is.
      const int lone = std::countr_zero(at);
      at >>= lone;
      last >>= lone;
    } else {
      hash = node_hash(hash, sibling);
    }
    at >>= 1;
    last >>= 1;
  }
  if (last != 0) return error("the proof of inclusion is too short");
  if (hash != root) return error("the proof of inclusion does not lead to the signed root");
  return Done{};
}

// RFC 9162, section 2.1.4.2: both roots from one list of hashes.
Status check_consistency(uint64_t old_size, const TreeHash& old_root, uint64_t new_size, const TreeHash& new_root,
                         std::span<const TreeHash> proof) {
  if (old_size > new_size) return error("a log of {} entries has become one of {}", old_size, new_size);
  if (old_size == 0 || old_size == new_size) {
    if (!proof.empty()) return error("the proof of consistency is too long");
    if (old_size == 0 && old_root != empty_tree_hash()) return error("the root of the empty log is another one");
    if (old_size == new_size && old_root != new_root) return error("two roots of one size: the log has been forked");
    return Done{};
  }
  uint64_t at = old_size - 1, last = new_size - 1;
  const int whole = std::countr_one(at);  // the old tree ends with a complete subtree of that height
  at >>= whole;
  last >>= whole;
  // Where the old tree is such a subtree alone, its root is not sent.
  if (at != 0 && proof.empty()) return error("the proof of consistency is too short");
  TreeHash old_hash = at == 0 ? old_root : proof[0], new_hash = old_hash;
  for (const TreeHash& sibling : proof.subspan(at == 0 ? 0 : 1)) {
    if (last == 0) return error("the proof of consistency is too long");
    if (at % 2 == 1 || at == last) {
      old_hash = node_hash(sibling, old_hash);
      new_hash = node_hash(sibling, new_hash);
      const int lone = std::countr_zero(at);
      at >>= lone;
      last >>= lone;
    } else {
      new_hash = node_hash(new_hash, sibling);
    }
    at >>= 1;
    last >>= 1;
  }
  if (last != 0) return error("the proof of consistency is too short");
  if (old_hash != old_root || new_hash != new_root)
    return error("the log of {} entries does not continue the one of {}: it has been forked", new_size, old_size);
  return Done{};
}

}  // namespace zkapex
