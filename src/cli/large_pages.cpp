// Large blocks of memory as base/large_blocks.h has them, for all of a program.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/large_blocks.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (size > PTRDIFF_MAX) throw std::bad_alloc();  // or rounding up would begin at zero again
  void* block = size >= zkapex::kLargeBlock && alignment <= 4096 ? zkapex::allocate_large(size) : nullptr;
  if (block != nullptr) return block;
  block = alignment > alignof(std::max_align_t)
              ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
              : std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void release(void* block) noexcept {
  if (block != nullptr && !zkapex::free_large(block)) std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }

#endif
