#include "learning/blas_kernels.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(BlasKernels, WhatOpenBlasDoesNotKnowGetsWhatItsProcessorCan) {
  EXPECT_EQ(better_blas_kernels("Prescott", true, true), "SkylakeX");
  EXPECT_EQ(better_blas_kernels("Prescott", true, false), "Haswell");
  EXPECT_EQ(better_blas_kernels("Barcelona", true, false), "Haswell");
  EXPECT_EQ(better_blas_kernels("Prescott", false, false), "");
}

TEST(BlasKernels, AGoodChoiceStays) {
  for (const char* chosen : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"})
    EXPECT_EQ(better_blas_kernels(chosen, true, true), "") << chosen;
}

}  // namespace
}  // namespace zkapex
