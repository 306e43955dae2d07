// OpenBLAS chooses its kernels by the processor's model number when it is loaded, and for one that is newer than itself
// takes its slowest, a tenth as fast. Its choice can be made for it, in the environment that a program begins with.
#pragma once

#include <string_view>

namespace zkapex {

// The kernels that OpenBLAS should have in place of `chosen` (its own name for them), or empty where its choice is
// good.
[[nodiscard]] std::string_view better_blas_kernels(std::string_view chosen, bool avx2, bool avx512);

// Starts this program again with better kernels where OpenBLAS has made a bad choice, and the user (OPENBLAS_CORETYPE)
// none. To be called first; comes back where there is nothing to do, or another BLAS is loaded.
void choose_blas_kernels(char** argv);

}  // namespace zkapex
