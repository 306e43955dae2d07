// A sum of scalars, reduced once at the end: 320 bits, an addition with carry for each.
#pragma once

#include "algebra/scalar.h"

namespace zkapex {

// A scalar's words are below l < 2^253, so 2^67 terms fit: no loop reaches that.
class ScalarSum {
 public:
  ZKAPEX_INLINE void add(const Scalar& a) { high_ += NativeWords::add4(low_, a.montgomery_words()); }
  ScalarSum& operator+=(const ScalarSum& other) {
    high_ += other.high_ + NativeWords::add4(low_, other.low_);
    return *this;
  }
  [[nodiscard]] Scalar reduce() const;

 private:
  Words4 low_{};
  uint64_t high_ = 0;
};

}  // namespace zkapex
