#include "base/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

namespace {

// Memory that is looked at in the moment it is given back: later nobody may.
struct {
  const void* memory = nullptr;
  size_t size = 0;
  bool released = false, wiped = false;
} watched;

void release(void* memory) {
  if (memory != nullptr && memory == watched.memory) {
    const auto* bytes = static_cast<const uint8_t*>(memory);
    watched.wiped = std::all_of(bytes, bytes + watched.size, [](uint8_t b) { return b == 0; });
    watched.released = true;
    watched.memory = nullptr;
  }
  std::free(memory);
}

}  // namespace

// For this test program; the other forms of new and delete come down to these.
void* operator new(size_t size) {
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }

namespace zkapex {
namespace {

void watch(const SecretVector<uint64_t>& values) {
  watched = {values.data(), values.size() * sizeof(uint64_t), false, false};
}

static_assert(!std::is_copy_constructible_v<SecretBytes> && !std::is_copy_assignable_v<SecretBytes>);
static_assert(!std::is_copy_constructible_v<Wiped<int>> && !std::is_copy_assignable_v<Wiped<int>>);
static_assert(std::is_nothrow_move_constructible_v<SecretBytes> && std::is_nothrow_move_assignable_v<Wiped<int>>);

template <class T>
bool all_zero(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](const T& v) { return v == 0; });
}

TEST(Secret, WipeOverwritesWithZeros) {
  std::array<uint32_t, 5> values{1, 2, 3, 4, 5};
  wipe(std::span<uint32_t>(values).first(3));
  EXPECT_EQ(values, (std::array<uint32_t, 5>{0, 0, 0, 4, 5}));
  wipe(std::span<uint32_t>());
}

// What is left in memory after the end of a Wiped's life, seen through storage that outlives it.
TEST(Secret, WipedValueIsGoneAfterDestructionAndMove) {
  using Value = std::array<uint8_t, 32>;
  Value secret;
  secret.fill(0xA5);
  alignas(Wiped<Value>) std::array<uint8_t, sizeof(Wiped<Value>)> storage;
  auto* holder = new (storage.data()) Wiped<Value>(secret);
  ASSERT_EQ(**holder, secret);

  Wiped<Value> moved(std::move(*holder));
  EXPECT_EQ(*moved, secret);
  EXPECT_EQ(**holder, Value{});

  *holder = std::move(moved);
  EXPECT_EQ(**holder, secret);
  EXPECT_EQ(*moved, Value{});
  holder->~Wiped<Value>();
  EXPECT_TRUE(all_zero(std::span<const uint8_t>(storage)));
}

TEST(Secret, ShrinkingWipesTheTail) {
  SecretBytes bytes(8);
  std::fill(bytes.begin(), bytes.end(), uint8_t{7});
  const uint8_t* memory = bytes.data();
  bytes.resize(3);
  ASSERT_EQ(bytes.data(), memory);  // no reallocation: what was behind the new end is still the vector's
  EXPECT_EQ(bytes[2], 7);
  EXPECT_TRUE(all_zero(std::span(memory + 3, 5)));
  bytes.clear();
  EXPECT_TRUE(bytes.empty());
}

TEST(Secret, MoveTakesTheMemoryAndCloneCopiesIt) {
  const std::array<uint8_t, 3> values{1, 2, 3};
  SecretBytes first{std::span<const uint8_t>(values)};
  const uint8_t* memory = first.data();
  SecretBytes second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  const SecretBytes third = second.clone();
  EXPECT_NE(third.data(), memory);
  EXPECT_TRUE(std::equal(third.begin(), third.end(), values.begin(), values.end()));
}

TEST(Secret, WhatIsGivenBackIsWipedFirst) {
  SecretVector<uint64_t> values(8);
  std::fill(values.begin(), values.end(), ~uint64_t{0});
  watch(values);
  values.reserve(100);  // moves to other memory
  EXPECT_TRUE(watched.released && watched.wiped);
  EXPECT_EQ(values[7], ~uint64_t{0});
  watch(values);
  { const SecretVector<uint64_t> last = std::move(values); }
  EXPECT_TRUE(watched.released && watched.wiped);
}

TEST(Secret, GrowsLikeAVector) {
  SecretVector<uint64_t> values;
  for (uint64_t k = 0; k < 1000; ++k) values.push_back(k);
  ASSERT_EQ(values.size(), 1000U);
  for (uint64_t k = 0; k < 1000; ++k) EXPECT_EQ(values[k], k);
}

}  // namespace
}  // namespace zkapex
