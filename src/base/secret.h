// Memory for secrets: wiped when it is released, moved but never copied by accident.
#pragma once

#include <sodium/utils.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace zkapex {

// Overwrites with zeros; the compiler may not leave it out.
template <class T>
void wipe(std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
  sodium_memzero(values.data(), values.size_bytes());
}

// An allocator that wipes what it gives back, so that a vector that grows leaves nothing behind either.
template <class T>
struct WipingAllocator {
  using value_type = T;

  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) {}  // NOLINT: allocators rebind implicitly

  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, size_t count) {
    sodium_memzero(memory, count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  bool operator==(const WipingAllocator&) const { return true; }
};

// A vector of secrets. No operation leaves an old value in memory; copying has to be asked for by `clone`.
template <class T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T>, "what is wiped byte by byte must not own anything");

 public:
  SecretVector() = default;
  explicit SecretVector(size_t count) : values_(count) {}
  explicit SecretVector(std::span<const T> values) : values_(values.begin(), values.end()) {}
  SecretVector(const SecretVector&) = delete;
  SecretVector& operator=(const SecretVector&) = delete;
  SecretVector(SecretVector&&) noexcept = default;
  SecretVector& operator=(SecretVector&&) noexcept = default;
  ~SecretVector() = default;

  [[nodiscard]] SecretVector clone() const { return SecretVector(std::span<const T>(values_)); }

  [[nodiscard]] size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  T* data() { return values_.data(); }
  [[nodiscard]] const T* data() const { return values_.data(); }
  T& operator[](size_t k) { return values_[k]; }
  const T& operator[](size_t k) const { return values_[k]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }

  void reserve(size_t count) { values_.reserve(count); }
  void push_back(const T& value) { values_.push_back(value); }
  void resize(size_t count) {
    if (count < size()) wipe(std::span<T>(values_).subspan(count));
    values_.resize(count);
  }
  void clear() { resize(0); }

 private:
  std::vector<T, WipingAllocator<T>> values_;
};

using SecretBytes = SecretVector<uint8_t>;

// One secret value. Moving out of it wipes the source.
template <class T>
class Wiped {
  static_assert(std::is_trivially_copyable_v<T>, "what is wiped byte by byte must not own anything");

 public:
  Wiped() = default;
  explicit Wiped(const T& value) : value_(value) {}
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  Wiped(Wiped&& other) noexcept : value_(other.value_) { other.clear(); }
  Wiped& operator=(Wiped&& other) noexcept {
    if (this != &other) {
      value_ = other.value_;
      other.clear();
    }
    return *this;
  }
  ~Wiped() { clear(); }

  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  void clear() { sodium_memzero(&value_, sizeof value_); }

 private:
  T value_{};
};

}  // namespace zkapex
