// ristretto255 (RFC 9496): a group of prime order ℓ = 2^252 + 27742317777372353535851937790883648493.
// Arithmetic and equality are complete and constant time; functions ending in _var, elsewhere, are not.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "algebra/edwards.h"
#include "algebra/group_kernels.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/threads.h"

namespace zkapex {

class Scalar;

class Point {
 public:
  static constexpr size_t kBytes = 32;

  constexpr Point() : p_(ExtendedPoint::identity()) {}
  // Any point of the curve stands for a group element (that of its coset of small torsion).
  constexpr explicit Point(const ExtendedPoint& p) : p_(p) {}
  constexpr explicit Point(const AffinePoint& p) : p_(to_extended(p)) {}

  static constexpr Point identity() { return {}; }
  static Point base();

  // Exactly 32 bytes, canonical; the identity (32 zero bytes) is accepted.
  static Result<Point> decode(ByteView bytes);
  [[nodiscard]] std::array<uint8_t, 32> encode() const;

  // The one-way map: uniform bytes (a hash) to an element of which nobody knows a discrete logarithm.
  static Point from_uniform_bytes(std::span<const uint8_t, 64> bytes);

  [[nodiscard]] bool is_identity() const { return either(p_.X.is_zero(), p_.Y.is_zero()); }
  [[nodiscard]] Point twice() const { return Point(zkapex::twice(p_)); }
  [[nodiscard]] const ExtendedPoint& extended() const { return p_; }

  friend Point operator+(const Point& a, const Point& b) { return Point(add(a.p_, to_cached(b.p_))); }
  friend Point operator-(const Point& a, const Point& b) { return Point(add(a.p_, negate(to_cached(b.p_)))); }
  friend Point operator-(const Point& a) { return Point(negate(a.p_)); }
  Point& operator+=(const Point& b) { return *this = *this + b; }
  Point& operator-=(const Point& b) { return *this = *this - b; }
  friend bool operator==(const Point& a, const Point& b) {
    return either(a.p_.X * b.p_.Y == a.p_.Y * b.p_.X, a.p_.Y * b.p_.Y == a.p_.X * b.p_.X);
  }

 private:
  ExtendedPoint p_;
};

// s·p in constant time, for secret scalars.
[[nodiscard]] Point multiply(const Point& p, const Scalar& s);

// One inversion for all, or for each thread's share.
[[nodiscard]] std::vector<AffinePoint> batch_to_affine(std::span<const Point> points, ThreadPool* pool = nullptr);

// Batches: four exponentiations side by side where the CPU allows it. Without a pool they run in the calling thread.
[[nodiscard]] std::vector<std::array<uint8_t, 32>> encode_batch(std::span<const Point> points,
                                                                ThreadPool* pool = nullptr,
                                                                const GroupKernels& kernels = group_kernels());
// The error names the index of the first encoding that is not an element.
[[nodiscard]] Result<std::vector<AffinePoint>> decode_batch(std::span<const std::array<uint8_t, 32>> encodings,
                                                            ThreadPool* pool = nullptr,
                                                            const GroupKernels& kernels = group_kernels());
[[nodiscard]] std::vector<Point> from_uniform_bytes_batch(std::span<const std::array<uint8_t, 64>> inputs,
                                                          ThreadPool* pool = nullptr,
                                                          const GroupKernels& kernels = group_kernels());

}  // namespace zkapex
