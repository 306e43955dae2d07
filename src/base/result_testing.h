// What a test asks a result for: `.error()` of one that is ok would crash, where the test should fail.
#pragma once

#include <string>

#include "base/result.h"

namespace zkapex::testing {

// The sentence of an error, or words that are in none.
template <class T>
[[nodiscard]] std::string refusal(const Result<T>& result) {
  return result.ok() ? "(accepted)" : result.error().message;
}

}  // namespace zkapex::testing
