#include "base/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace zkapex {

namespace {

constexpr size_t kSmallestPage = size_t{1} << 12, kLargestPage = size_t{1} << 16;  // that systems have
constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kInLargePages = 4 * kLargePage;  // smaller ones would often be filled in part, and count as a whole

size_t round_up_to(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }
size_t mapped_size(size_t bytes) { return round_up_to(bytes, kLargestPage); }

void* map(size_t size) {
  const bool large = size >= kInLargePages;
  const size_t spare = large ? kLargePage : 0;  // to find a border in
  void* found = ::mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED || !large) return found == MAP_FAILED ? nullptr : found;
  auto* const begin = static_cast<unsigned char*>(found);
  const size_t before = (kLargePage - reinterpret_cast<uintptr_t>(begin) % kLargePage) % kLargePage;
  if (before > 0) ::munmap(begin, before);
  if (spare > before) ::munmap(begin + before + size, spare - before);
  ::madvise(begin + before, size / kLargePage * kLargePage, MADV_HUGEPAGE);  // the rest of it in small ones
  return begin + before;
}

// Nothing in here may allocate memory: operator new calls it.
class Blocks {
 public:
  void* allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t size = mapped_size(bytes);
    if (Block* fits = best_kept(size)) {
      fits->kept = false;
      split(*fits, size);
      return fits->address;
    }
    make_room(size);
    Block* const place = find(nullptr);
    if (place == nullptr) return nullptr;
    *place = {static_cast<unsigned char*>(map(size)), size, false};
    return place->address;
  }

  bool free(void* address) {
    if (reinterpret_cast<uintptr_t>(address) % kSmallestPage != 0) return false;
    const std::lock_guard lock(mutex_);
    Block* const block = find(address);
    if (block == nullptr) return false;
    if (keepers_ > 0) {
      block->kept = true;
      merge(*block);
    } else {
      unmap(*block);
    }
    return true;
  }

  void keep(int more) {
    const std::lock_guard lock(mutex_);
    keepers_ += more;
    if (keepers_ == 0) make_room(SIZE_MAX);
  }

  size_t kept_bytes() {
    const std::lock_guard lock(mutex_);
    size_t sum = 0;
    for (const Block& block : blocks_) sum += block.kept ? block.size : 0;
    return sum;
  }

 private:
  struct Block {
    unsigned char* address = nullptr;
    size_t size = 0;
    bool kept = false;

    [[nodiscard]] unsigned char* end() const { return address + size; }
  };

  Block* find(const void* address) {
    const auto found = std::ranges::find(blocks_, address, &Block::address);
    return found == blocks_.end() ? nullptr : &*found;
  }

  // The smallest that holds `size`.
  Block* best_kept(size_t size) {
    Block* best = nullptr;
    for (Block& block : blocks_) {
      if (block.kept && block.size >= size && (best == nullptr || block.size < best->size)) best = &block;
    }
    return best;
  }

  // What is beyond `size` stays kept, as a block of its own.
  void split(Block& block, size_t size) {
    Block* const place = block.size > size ? find(nullptr) : nullptr;
    if (place == nullptr) return;
    *place = {block.address + size, block.size - size, true};
    block.size = size;
  }

  // A kept block takes up the kept ones beside it.
  void merge(Block& block) {
    for (Block& other : blocks_) {
      if (!other.kept || &other == &block || (other.end() != block.address && block.end() != other.address)) continue;
      block = {std::min(block.address, other.address), block.size + other.size, true};
      other = {};
    }
  }

  void make_room(size_t size) {
    size_t given_back = 0;
    for (Block& block : blocks_) {
      if (!block.kept || given_back >= size) continue;
      given_back += block.size;
      unmap(block);
    }
  }

  static void unmap(Block& block) {
    ::munmap(block.address, block.size);
    block = {};
  }

  std::mutex mutex_;
  std::array<Block, 1024> blocks_;  // those in use, those kept, and free places, whose address is null
  int keepers_ = 0;
};

constinit Blocks blocks;  // before anything else allocates

}  // namespace

void* allocate_large(size_t bytes) noexcept { return blocks.allocate(bytes); }
bool free_large(void* block) noexcept { return blocks.free(block); }
LargeBlocksKept::LargeBlocksKept() { blocks.keep(1); }
LargeBlocksKept::~LargeBlocksKept() { blocks.keep(-1); }
size_t kept_large_bytes() { return blocks.kept_bytes(); }

}  // namespace zkapex
