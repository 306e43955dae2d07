// A vector whose new entries are not set: for large tables that are written by several threads before they are read.
// Setting them to zero first would be done by one thread, which meets every page of a new block of memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace zkapex {

template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U*) noexcept {}
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace zkapex
