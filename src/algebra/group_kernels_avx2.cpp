#include "algebra/group_kernels.h"

namespace zkapex {
const GroupKernels* avx2_group_kernels() { return nullptr; }
}  // namespace zkapex
