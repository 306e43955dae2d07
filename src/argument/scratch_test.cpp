#include "argument/scratch.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace zkapex {
namespace {

std::vector<Scalar> sequence(uint64_t first, size_t count) {
  std::vector<Scalar> out;
  for (size_t k = 0; k < count; ++k) out.push_back(Scalar::from_u64(first + k));
  return out;
}

TEST(Scratch, GivesBackWhatItKeeps) {
  const Path folder = std::filesystem::temp_directory_path();
  Result<Scratch> disk = Scratch::in(folder);
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  for (Scratch scratch : {Scratch(), *disk}) {
    const Result<KeptVector> a = scratch.keep(sequence(5, 1000)), b = scratch.keep({}),
                             c = scratch.keep(sequence(9, 3));
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    EXPECT_EQ(*c->load(), sequence(9, 3));
    EXPECT_EQ(*a->load(), sequence(5, 1000));
    EXPECT_EQ(*a->load(), sequence(5, 1000));
    EXPECT_TRUE(b->load()->empty());
  }
}

TEST(Scratch, ShorterValuesTakeThePlaceOfOthers) {
  Result<Scratch> disk = Scratch::in(std::filesystem::temp_directory_path());
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  for (Scratch scratch : {Scratch(), *disk}) {
    Result<KeptVector> a = scratch.keep(sequence(5, 10));
    const Result<KeptVector> b = scratch.keep(sequence(20, 10));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->size(), 10U);
    ASSERT_TRUE(a->replace(sequence(7, 5)).ok());
    EXPECT_EQ(a->size(), 5U);
    EXPECT_EQ(*a->load(), sequence(7, 5));
    EXPECT_EQ(*b->load(), sequence(20, 10));
  }
}

}  // namespace
}  // namespace zkapex
