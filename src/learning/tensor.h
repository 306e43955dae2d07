// libtorch's tensor with its members, but no functions on it: what the headers of this room need. learning/torch.h,
// with the functions, takes three times as long to compile.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/result.h"

namespace zkapex {

using at::Tensor;

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
