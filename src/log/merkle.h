// The Merkle tree of RFC 6962: hashes, proofs that an entry is in a tree, and that one tree begins with another.
#pragma once

#include <span>
#include <vector>

#include "base/hash.h"

namespace zkapex {

using TreeHash = Sha256::Digest;

inline constexpr size_t kMaxProofHashes = 63;

[[nodiscard]] TreeHash leaf_hash(ByteView entry);                               // SHA256(0x00 ‖ entry)
[[nodiscard]] TreeHash node_hash(const TreeHash& left, const TreeHash& right);  // SHA256(0x01 ‖ l ‖ r)
[[nodiscard]] TreeHash empty_tree_hash();                                       // SHA256("")
// MTH of leaf hashes: split at the largest power of two below their number.
[[nodiscard]] TreeHash tree_hash(std::span<const TreeHash> leaves);

// `leaf` is entry `index` of the tree of `size` entries with that root. The proof has the sibling of the leaf first.
[[nodiscard]] Status check_inclusion(const TreeHash& leaf, uint64_t index, uint64_t size, const TreeHash& root,
                                     std::span<const TreeHash> proof);
// The tree of `new_size` begins with that of `old_size`. From size 0, and to the same size, the proof is empty; then
// the roots are compared with the empty tree's, and with each other.
[[nodiscard]] Status check_consistency(uint64_t old_size, const TreeHash& old_root, uint64_t new_size,
                                       const TreeHash& new_root, std::span<const TreeHash> proof);

}  // namespace zkapex
