#include "base/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <new>

namespace zkapex {
namespace {

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
  holder->~Wiped<Value>();
  EXPECT_TRUE(all_zero(std::span<const uint8_t>(storage)));
}

TEST(Secret, ShrinkingWipesTheTail) {
  SecretBytes bytes(8);
  std::fill(bytes.begin(), bytes.end(), uint8_t{7});
  const uint8_t* memory = bytes.data();
  bytes.resize(3);
  bytes.resize(8);  // no reallocation: the same memory is in view again
  ASSERT_EQ(bytes.data(), memory);
  EXPECT_EQ(bytes[2], 7);
  EXPECT_TRUE(all_zero(std::span<const uint8_t>(bytes).subspan(3)));
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

TEST(Secret, GrowsLikeAVector) {
  SecretVector<uint64_t> values;
  for (uint64_t k = 0; k < 1000; ++k) values.push_back(k);
  ASSERT_EQ(values.size(), 1000U);
  for (uint64_t k = 0; k < 1000; ++k) EXPECT_EQ(values[k], k);
}

}  // namespace
}  // namespace zkapex
