// The field of integers mod p = 2^255 − 19, one element at a time, in portable 64-bit arithmetic and constant time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zkapex {

// An element is v[0] + v[1]·2^51 + … + v[4]·2^204, not necessarily reduced.
//
// Bounds. Call 2^51 + 2^14 the unit. An element has magnitude m if every limb is below m units.
//   magnitude 1 ("tight"): every product, square, decoded or carried element
//   a + b: magnitude m_a + m_b;  a − b: magnitude m_a + 2, and b must be tight;  −b: magnitude 2, b tight
//   products and squares take factors up to magnitude 7 ("loose", limbs below 2^54)
// Built with ZKAPEX_CHECK_BOUNDS, a violation traps.
struct Fe {
  uint64_t v[5];

  static constexpr uint64_t kLimbMask = (uint64_t{1} << 51) - 1;
  static constexpr uint64_t kUnit = (uint64_t{1} << 51) + (uint64_t{1} << 14);

  static constexpr Fe from_u64(uint64_t x) { return {{x & kLimbMask, x >> 51, 0, 0, 0}}; }
  static constexpr Fe zero() { return from_u64(0); }
  static constexpr Fe one() { return from_u64(1); }

  // Little-endian; bit 255 is ignored and values from p to 2^255 − 1 are reduced (what the one-way map asks for).
  static Fe from_bytes(std::span<const uint8_t, 32> bytes);
  // Only values below p, bit 255 clear.
  static std::optional<Fe> from_canonical_bytes(std::span<const uint8_t, 32> bytes);
  [[nodiscard]] std::array<uint8_t, 32> to_bytes() const;

  // The same value with tight limbs.
  [[nodiscard]] constexpr Fe carried() const;
  // The same value in [0, p).
  [[nodiscard]] Fe canonical() const;

  [[nodiscard]] bool is_zero() const;
  // RFC 9496: an element is negative if the canonical value is odd.
  [[nodiscard]] bool is_negative() const;
  [[nodiscard]] Fe abs() const;

  [[nodiscard]] constexpr Fe square() const;
  [[nodiscard]] Fe square_times(int times) const;
  [[nodiscard]] Fe power_p58() const;  // x^((p − 5)/8)
  [[nodiscard]] Fe invert() const;     // 0 ↦ 0

  constexpr void check([[maybe_unused]] uint64_t magnitude) const {
#ifdef ZKAPEX_CHECK_BOUNDS
    for (uint64_t limb : v) {
      if (limb >= magnitude * kUnit) __builtin_trap();
    }
#endif
  }
};

constexpr Fe operator+(const Fe& a, const Fe& b) {
  return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3], a.v[4] + b.v[4]}};
}

constexpr Fe operator-(const Fe& a, const Fe& b) {
  b.check(1);
  constexpr uint64_t k0 = 2 * (Fe::kLimbMask - 18), k = 2 * Fe::kLimbMask;  // 2p
  return {{a.v[0] + k0 - b.v[0], a.v[1] + k - b.v[1], a.v[2] + k - b.v[2], a.v[3] + k - b.v[3], a.v[4] + k - b.v[4]}};
}

constexpr Fe operator-(const Fe& a) { return Fe::zero() - a; }

namespace field_detail {

using Wide = unsigned __int128;

constexpr Wide wide(uint64_t a, uint64_t b) { return static_cast<Wide>(a) * b; }

// Columns below 77·2^108 (products of limbs below 2^54) to tight limbs.
constexpr Fe carry(Wide t0, Wide t1, Wide t2, Wide t3, Wide t4) {
  t1 += static_cast<uint64_t>(t0 >> 51);
  t2 += static_cast<uint64_t>(t1 >> 51);
  t3 += static_cast<uint64_t>(t2 >> 51);
  t4 += static_cast<uint64_t>(t3 >> 51);
  // t4 holds no factor 19, so the carry out is below 2^59.4 and 19 times it fits.
  const uint64_t low = (static_cast<uint64_t>(t0) & Fe::kLimbMask) + 19 * static_cast<uint64_t>(t4 >> 51);
  return {{low & Fe::kLimbMask, (static_cast<uint64_t>(t1) & Fe::kLimbMask) + (low >> 51),
           static_cast<uint64_t>(t2) & Fe::kLimbMask, static_cast<uint64_t>(t3) & Fe::kLimbMask,
           static_cast<uint64_t>(t4) & Fe::kLimbMask}};
}

}  // namespace field_detail

constexpr Fe operator*(const Fe& a, const Fe& b) {
  using field_detail::wide;
  a.check(7);
  b.check(7);
  const uint64_t b1 = 19 * b.v[1], b2 = 19 * b.v[2], b3 = 19 * b.v[3], b4 = 19 * b.v[4];
  return field_detail::carry(
      wide(a.v[0], b.v[0]) + wide(a.v[1], b4) + wide(a.v[2], b3) + wide(a.v[3], b2) + wide(a.v[4], b1),
      wide(a.v[0], b.v[1]) + wide(a.v[1], b.v[0]) + wide(a.v[2], b4) + wide(a.v[3], b3) + wide(a.v[4], b2),
      wide(a.v[0], b.v[2]) + wide(a.v[1], b.v[1]) + wide(a.v[2], b.v[0]) + wide(a.v[3], b4) + wide(a.v[4], b3),
      wide(a.v[0], b.v[3]) + wide(a.v[1], b.v[2]) + wide(a.v[2], b.v[1]) + wide(a.v[3], b.v[0]) + wide(a.v[4], b4),
      wide(a.v[0], b.v[4]) + wide(a.v[1], b.v[3]) + wide(a.v[2], b.v[2]) + wide(a.v[3], b.v[1]) + wide(a.v[4], b.v[0]));
}

constexpr Fe Fe::square() const {
  using field_detail::wide;
  check(7);
  const uint64_t d0 = 2 * v[0], d1 = 2 * v[1], d2 = 2 * v[2], v3 = 19 * v[3], v4 = 19 * v[4];
  return field_detail::carry(
      wide(v[0], v[0]) + wide(d1, v4) + wide(d2, v3), wide(d0, v[1]) + wide(d2, v4) + wide(v[3], v3),
      wide(d0, v[2]) + wide(v[1], v[1]) + wide(2 * v[3], v4), wide(d0, v[3]) + wide(d1, v[2]) + wide(v[4], v4),
      wide(d0, v[4]) + wide(d1, v[3]) + wide(v[2], v[2]));
}

constexpr Fe Fe::carried() const {
  const uint64_t c0 = v[0] >> 51, c1 = v[1] >> 51, c2 = v[2] >> 51, c3 = v[3] >> 51, c4 = v[4] >> 51;
  return {{(v[0] & kLimbMask) + 19 * c4, (v[1] & kLimbMask) + c0, (v[2] & kLimbMask) + c1, (v[3] & kLimbMask) + c2,
           (v[4] & kLimbMask) + c3}};
}

// By value, so any magnitudes up to 7 and any representations compare.
[[nodiscard]] bool operator==(const Fe& a, const Fe& b);

// choose ? a : b, without a branch or an address that depends on `choose`.
constexpr Fe select(bool choose, const Fe& a, const Fe& b) {
  const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(choose);
  Fe out{};
  for (size_t k = 0; k < 5; ++k) out.v[k] = b.v[k] ^ (mask & (a.v[k] ^ b.v[k]));
  return out;
}

// a or b, both evaluated.
constexpr bool either(bool a, bool b) { return (static_cast<unsigned>(a) | static_cast<unsigned>(b)) != 0; }

constexpr void swap_if(bool swap, Fe& a, Fe& b) {
  const Fe old_a = a;
  a = select(swap, b, a);
  b = select(swap, old_a, b);
}

// RFC 9496, 4.2, SQRT_RATIO_M1: (true, √(u/v)) if u/v is a square, else (false, √(i·u/v)); the root is not negative.
struct SquareRoot {
  bool was_square;
  Fe root;
};
[[nodiscard]] SquareRoot sqrt_ratio_m1(const Fe& u, const Fe& v);

// The same in two halves around its one long exponentiation, so that many exponentiations can run side by side:
// power = radicand(u, v).power_p58(); finish_sqrt_ratio_m1(u, v, power). The factors are tight.
[[nodiscard]] Fe sqrt_ratio_radicand(const Fe& u, const Fe& v);
[[nodiscard]] SquareRoot finish_sqrt_ratio_m1(const Fe& u, const Fe& v, const Fe& power);

// RFC 9496, 4.1.
inline constexpr Fe kEdwardsD = {{0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff}};
inline constexpr Fe kEdwards2D = {
    {0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff}};
inline constexpr Fe kSqrtM1 = {{0x61b274a0ea0b0, 0x0d5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d}};
inline constexpr Fe kSqrtAdMinusOne = {
    {0x7f6a0497b2e1b, 0x1836f0a97afd2, 0x7d747f6be7638, 0x456079e7e6498, 0x376931bf2b834}};
inline constexpr Fe kInvSqrtAMinusD = {
    {0x0fdaa805d40ea, 0x2eb482e57d339, 0x007610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff}};
inline constexpr Fe kOneMinusDSq = {
    {0x409c1945fc176, 0x719abc6a1fc4f, 0x1c37f90b20684, 0x06bccca55eedf, 0x029072a8b2b3e}};
inline constexpr Fe kDMinusOneSq = {
    {0x55aaa44ed4d20, 0x59603c3332635, 0x26d3baf4a7928, 0x120a66e6997a9, 0x5968b37af66c2}};
inline constexpr Fe kOneHalf = {{0x7fffffffffff7, 0x7ffffffffffff, 0x7ffffffffffff, 0x7ffffffffffff, 0x3ffffffffffff}};

}  // namespace zkapex
