// Multi-word arithmetic on 64-bit words: the handful of steps that modular multiplication is made of.
//
// GCC 12 makes twice the instructions needed of 128-bit C (it shuffles the halves through registers and memory), so on
// x86-64 each step is a few lines of assembly. They use the base instruction set only: nothing is dispatched, and the
// compiler still allocates registers and schedules between steps. Multiplication mod l takes half the time of the C.
// For arm64 it makes good code of products, but not of carries: those alone are assembly there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/int128.h"

// Traps if a bound that the arithmetic relies on does not hold; costs nothing unless ZKAPEX_CHECK_BOUNDS is defined.
#ifdef ZKAPEX_CHECK_BOUNDS
#define ZKAPEX_BOUND(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define ZKAPEX_BOUND(condition) ((void)0)
#endif

#define ZKAPEX_INLINE inline __attribute__((always_inline))

namespace zkapex {

// 256-bit integers, least significant word first.
using Words4 = std::array<uint64_t, 4>;

struct WideWord {
  uint64_t low, high;
};

// Every function is a step in terms of integers; nothing is reduced here.
struct PortableWords {
  // a b + c
  static ZKAPEX_INLINE WideWord multiply_add(uint64_t a, uint64_t b, uint64_t c) {
    const uint128 p = static_cast<uint128>(a) * b + c;
    return {static_cast<uint64_t>(p), static_cast<uint64_t>(p >> 64)};
  }
  // a b + c + d, which is at most 2^128 - 1
  static ZKAPEX_INLINE WideWord multiply_add(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    const uint128 p = static_cast<uint128>(a) * b + c + d;
    return {static_cast<uint64_t>(p), static_cast<uint64_t>(p >> 64)};
  }
  // x += y; returns the carry.
  static ZKAPEX_INLINE uint64_t add4(Words4& x, const Words4& y) {
    uint64_t carry = 0;
    for (size_t k = 0; k < 4; ++k) {
      const uint128 s = static_cast<uint128>(x[k]) + y[k] + carry;
      x[k] = static_cast<uint64_t>(s);
      carry = static_cast<uint64_t>(s >> 64);
    }
    return carry;
  }
  // x -= y; returns all ones if x < y, else zero.
  static ZKAPEX_INLINE uint64_t subtract4(Words4& x, const Words4& y) {
    uint64_t mask = 0;
    for (size_t k = 0; k < 4; ++k) {
      const uint128 d = static_cast<uint128>(x[k]) - y[k] - (mask & 1);
      x[k] = static_cast<uint64_t>(d);
      mask = static_cast<uint64_t>(d >> 64);
    }
    return mask;
  }
  // (x2, x1, x0) += (y2, y1, y0), which does not overflow
  static ZKAPEX_INLINE void add3(uint64_t& x0, uint64_t& x1, uint64_t& x2, uint64_t y0, uint64_t y1, uint64_t y2) {
    uint128 s = static_cast<uint128>(x0) + y0;
    x0 = static_cast<uint64_t>(s);
    s = static_cast<uint128>(x1) + y1 + static_cast<uint64_t>(s >> 64);
    x1 = static_cast<uint64_t>(s);
    x2 += y2 + static_cast<uint64_t>(s >> 64);
  }
  // high + (low != 0), which does not overflow
  static ZKAPEX_INLINE uint64_t add_nonzero(uint64_t high, uint64_t low) { return high + (low != 0); }
  // The 9-word sum += the 8-word term
  static ZKAPEX_INLINE void accumulate(uint64_t* sum, const uint64_t* term) {
    uint64_t carry = 0;
    for (size_t k = 0; k < 8; ++k) {
      const uint128 s = static_cast<uint128>(sum[k]) + term[k] + carry;
      sum[k] = static_cast<uint64_t>(s);
      carry = static_cast<uint64_t>(s >> 64);
    }
    sum[8] += carry;
  }
};

#if defined(__x86_64__) && defined(__GNUC__)
struct X86Words {
  static ZKAPEX_INLINE WideWord multiply_add(uint64_t a, uint64_t b, uint64_t c) {
    WideWord p;
    asm("mulq %[b]\n\taddq %[c], %[low]\n\tadcq $0, %[high]"
        : [low] "=&a"(p.low), [high] "=&d"(p.high)
        : "0"(a), [b] "rm"(b), [c] "r"(c)
        : "cc");
    return p;
  }
  // d joins last: only two additions lie between the carries of neighbouring steps.
  static ZKAPEX_INLINE WideWord multiply_add(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    WideWord p;
    asm("mulq %[b]\n\taddq %[c], %[low]\n\tadcq $0, %[high]\n\taddq %[d], %[low]\n\tadcq $0, %[high]"
        : [low] "=&a"(p.low), [high] "=&d"(p.high)
        : "0"(a), [b] "rm"(b), [c] "r"(c), [d] "r"(d)
        : "cc");
    return p;
  }
  static ZKAPEX_INLINE uint64_t add4(Words4& x, const Words4& y) {
    uint64_t carry = 0;
    asm("addq %[y0], %[x0]\n\tadcq %[y1], %[x1]\n\tadcq %[y2], %[x2]\n\tadcq %[y3], %[x3]\n\tadcq $0, %[carry]"
        : [x0] "+r"(x[0]), [x1] "+r"(x[1]), [x2] "+r"(x[2]), [x3] "+r"(x[3]), [carry] "+r"(carry)
        : [y0] "rme"(y[0]), [y1] "rme"(y[1]), [y2] "rme"(y[2]), [y3] "rme"(y[3])
        : "cc");
    return carry;
  }
  static ZKAPEX_INLINE uint64_t subtract4(Words4& x, const Words4& y) {
    uint64_t mask = 0;
    asm("subq %[y0], %[x0]\n\tsbbq %[y1], %[x1]\n\tsbbq %[y2], %[x2]\n\tsbbq %[y3], %[x3]\n\tsbbq $0, %[mask]"
        : [x0] "+r"(x[0]), [x1] "+r"(x[1]), [x2] "+r"(x[2]), [x3] "+r"(x[3]), [mask] "+r"(mask)
        : [y0] "rme"(y[0]), [y1] "rme"(y[1]), [y2] "rme"(y[2]), [y3] "rme"(y[3])
        : "cc");
    return mask;
  }
  static ZKAPEX_INLINE void add3(uint64_t& x0, uint64_t& x1, uint64_t& x2, uint64_t y0, uint64_t y1, uint64_t y2) {
    asm("addq %[y0], %[x0]\n\tadcq %[y1], %[x1]\n\tadcq %[y2], %[x2]"
        : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2)
        : [y0] "r"(y0), [y1] "r"(y1), [y2] "r"(y2)
        : "cc");
  }
  static ZKAPEX_INLINE uint64_t add_nonzero(uint64_t high, uint64_t low) {
    asm("negq %[low]\n\tadcq $0, %[high]" : [high] "+r"(high), [low] "+r"(low) : : "cc");
    return high;
  }
  static ZKAPEX_INLINE void accumulate(uint64_t* sum, const uint64_t* term) {
    asm("addq %[t0], 0(%[sum])\n\tadcq %[t1], 8(%[sum])\n\tadcq %[t2], 16(%[sum])\n\tadcq %[t3], 24(%[sum])\n\t"
        "adcq %[t4], 32(%[sum])\n\tadcq %[t5], 40(%[sum])\n\tadcq %[t6], 48(%[sum])\n\tadcq %[t7], 56(%[sum])\n\t"
        "adcq $0, 64(%[sum])"
        : "+m"(*reinterpret_cast<uint64_t(*)[9]>(sum))
        : [sum] "r"(sum), [t0] "r"(term[0]), [t1] "r"(term[1]), [t2] "r"(term[2]), [t3] "r"(term[3]), [t4] "r"(term[4]),
          [t5] "r"(term[5]), [t6] "r"(term[6]), [t7] "r"(term[7])
        : "cc");
  }
};
using NativeWords = X86Words;
#elif defined(__aarch64__) && defined(__GNUC__)
struct Arm64Words : PortableWords {
  static ZKAPEX_INLINE uint64_t add4(Words4& x, const Words4& y) {
    uint64_t carry;
    asm("adds %[x0], %[x0], %[y0]\n\tadcs %[x1], %[x1], %[y1]\n\tadcs %[x2], %[x2], %[y2]\n\t"
        "adcs %[x3], %[x3], %[y3]\n\tadc %[carry], xzr, xzr"
        : [x0] "+&r"(x[0]), [x1] "+&r"(x[1]), [x2] "+&r"(x[2]), [x3] "+&r"(x[3]), [carry] "=r"(carry)
        : [y0] "r"(y[0]), [y1] "r"(y[1]), [y2] "r"(y[2]), [y3] "r"(y[3])
        : "cc");
    return carry;
  }
  static ZKAPEX_INLINE uint64_t subtract4(Words4& x, const Words4& y) {
    uint64_t mask;
    asm("subs %[x0], %[x0], %[y0]\n\tsbcs %[x1], %[x1], %[y1]\n\tsbcs %[x2], %[x2], %[y2]\n\t"
        "sbcs %[x3], %[x3], %[y3]\n\tsbc %[mask], xzr, xzr"
        : [x0] "+&r"(x[0]), [x1] "+&r"(x[1]), [x2] "+&r"(x[2]), [x3] "+&r"(x[3]), [mask] "=r"(mask)
        : [y0] "r"(y[0]), [y1] "r"(y[1]), [y2] "r"(y[2]), [y3] "r"(y[3])
        : "cc");
    return mask;
  }
  static ZKAPEX_INLINE void add3(uint64_t& x0, uint64_t& x1, uint64_t& x2, uint64_t y0, uint64_t y1, uint64_t y2) {
    asm("adds %[x0], %[x0], %[y0]\n\tadcs %[x1], %[x1], %[y1]\n\tadc %[x2], %[x2], %[y2]"
        : [x0] "+&r"(x0), [x1] "+&r"(x1), [x2] "+r"(x2)
        : [y0] "r"(y0), [y1] "r"(y1), [y2] "r"(y2)
        : "cc");
  }
  static ZKAPEX_INLINE void accumulate(uint64_t* sum, const uint64_t* term) {
    asm("adds %[s0], %[s0], %[t0]\n\tadcs %[s1], %[s1], %[t1]\n\tadcs %[s2], %[s2], %[t2]\n\t"
        "adcs %[s3], %[s3], %[t3]\n\tadcs %[s4], %[s4], %[t4]\n\tadcs %[s5], %[s5], %[t5]\n\t"
        "adcs %[s6], %[s6], %[t6]\n\tadcs %[s7], %[s7], %[t7]\n\tadc %[s8], %[s8], xzr"
        : [s0] "+&r"(sum[0]), [s1] "+&r"(sum[1]), [s2] "+&r"(sum[2]), [s3] "+&r"(sum[3]), [s4] "+&r"(sum[4]),
          [s5] "+&r"(sum[5]), [s6] "+&r"(sum[6]), [s7] "+&r"(sum[7]), [s8] "+r"(sum[8])
        : [t0] "r"(term[0]), [t1] "r"(term[1]), [t2] "r"(term[2]), [t3] "r"(term[3]), [t4] "r"(term[4]),
          [t5] "r"(term[5]), [t6] "r"(term[6]), [t7] "r"(term[7])
        : "cc");
  }
};
using NativeWords = Arm64Words;
#else
using NativeWords = PortableWords;
#endif

}  // namespace zkapex
