// The part of libtorch that this room uses: tensors with automatic differentiation, for the files that compute with
// them. The modules, optimizers and loaders of <torch/torch.h> are left out: they would triple the time to compile.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "learning/tensor.h"

namespace zkapex {

// Runs `body`, which returns a Result or a Status, and turns what libtorch throws into its error. Every function of
// this room that others call and that touches tensors goes through here.
template <class Body>
[[nodiscard]] auto catch_torch(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& e) {
    return Error{std::string("libtorch: ") + e.what_without_backtrace()};
  } catch (const std::bad_alloc&) {
    return Error{"out of memory"};
  } catch (const std::exception& e) {
    return Error{std::string("libtorch: ") + e.what()};
  }
}

}  // namespace zkapex
