// Large blocks of memory for programs that prove: in large pages where the system has them, and used again. A prover's
// tables have hundreds of megabytes, piece after piece; where each piece gets new pages, the system spends a quarter of
// the time on clearing them.
#pragma once

#include <cstddef>

namespace zkapex {

// From here on a block is mapped by itself.
inline constexpr size_t kLargeBlock = size_t{1} << 20;

// On a page's border; nullptr where there is no memory.
[[nodiscard]] void* allocate_large(size_t bytes) noexcept;
// False: this is none of them.
[[nodiscard]] bool free_large(void* block) noexcept;

// While one of these is there, freed blocks are kept for the next that they fit. What is mapped does not grow by that:
// a block that none of the kept fits is paid for by giving kept ones back.
class LargeBlocksKept {
 public:
  LargeBlocksKept();
  ~LargeBlocksKept();
  LargeBlocksKept(const LargeBlocksKept&) = delete;
  LargeBlocksKept& operator=(const LargeBlocksKept&) = delete;
};

// Bytes of blocks that wait for use.
[[nodiscard]] size_t kept_large_bytes();

}  // namespace zkapex
