// The part of libtorch that this room uses: tensors with automatic differentiation, for the files that compute with
// them. The modules, optimizers and loaders of <torch/torch.h> are left out: they would triple the time to compile.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "learning/tensor.h"
