// The first error of a parallel loop, whose bodies cannot return one.
#pragma once

#include <mutex>
#include <optional>

#include "base/result.h"

namespace zkapex {

class FirstError {
 public:
  void note(const Status& status) {
    if (!status.ok()) set(status.error());
  }
  // Stores the value where there is one.
  template <class T>
  void take(Result<T> result, T& value) {
    if (result.ok()) {
      value = std::move(result).value();
    } else {
      set(result.error());
    }
  }
  // After the loop.
  [[nodiscard]] Status status() const { return error_ ? Status(*error_) : Status(Done{}); }

 private:
  void set(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }

  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace zkapex
