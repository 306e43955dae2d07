// Powers in the field, sixteen elements at a time (field8_avx512.h). Only for *_avx512.cpp files.
#pragma once

#include "algebra/field8_avx512.h"

#if defined(__x86_64__)

// Not inlined: registers are given out anew for each.
#define ZKAPEX_KERNEL [[gnu::noinline, maybe_unused]] static

namespace zkapex {
namespace {

// Two octets at once: a lone chain of squarings waits for its own results.
struct Fe16 {
  Fe8 a, b;
};
ZKAPEX_KERNEL void multiply_both(Fe16* x, const Fe16* y) {
  x->a = multiply(x->a, y->a);
  x->b = multiply(x->b, y->b);
}
ZKAPEX_KERNEL void square_times(Fe16* x, int times) {
  Fe8 a = x->a, b = x->b;
  for (int k = 0; k < times; ++k) {
    a = carried(square(a));
    b = carried(square(b));
  }
  x->a = a;
  x->b = b;
}

// x ← x^(2^times) · y
ZKAPEX_LANES void shift_multiply(Fe16* x, int times, const Fe16* y) {
  square_times(x, times);
  multiply_both(x, y);
}

// x ← x^(2^250 − 1), x11 ← x^11: the ladder of field.cpp.
ZKAPEX_KERNEL void ladder(Fe16* x, Fe16* x11) {
  Fe16 x2 = *x, x9, ones10, ones20, ones50, t;
  square_times(&x2, 1);
  x9 = x2;
  shift_multiply(&x9, 2, x);
  *x11 = x9;
  multiply_both(x11, &x2);
  t = *x11;
  shift_multiply(&t, 1, &x9);  // 2^5 − 1
  ones10 = t;
  shift_multiply(&ones10, 5, &t);
  ones20 = ones10;
  shift_multiply(&ones20, 10, &ones10);
  ones50 = ones20;
  shift_multiply(&ones50, 20, &ones20);
  shift_multiply(&ones50, 10, &ones10);
  t = ones50;
  shift_multiply(&t, 50, &ones50);  // 2^100 − 1
  *x = t;
  shift_multiply(x, 100, &t);
  shift_multiply(x, 50, &ones50);
}

// x ← x^((p − 5)/8)
ZKAPEX_LANES void power_p58(Fe16* x) {
  const Fe16 base = *x;
  Fe16 x11;
  ladder(x, &x11);
  shift_multiply(x, 2, &base);
}

// x ← 1/x: p − 2 = 2^5 (2^250 − 1) + 11.
ZKAPEX_KERNEL void invert(Fe8* x) {
  Fe16 both = {*x, *x}, x11;
  ladder(&both, &x11);
  shift_multiply(&both, 5, &x11);
  *x = both.a;
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
