// libtorch's tensor, and no function on it: what the headers of this room need. learning/torch.h, with the functions,
// takes three times as long to compile.
#pragma once

#include <ATen/core/Tensor.h>

namespace zkapex {

using at::Tensor;

}  // namespace zkapex
