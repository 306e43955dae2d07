// The maps of RFC 9496 between byte strings and curve points. Each needs one square root, whose long exponentiation
// stands between a `begin` and a `finish`, so that batches can run many exponentiations side by side:
//   state.begin(input); power = state.radicand().power_p58(); state.finish(power)
#pragma once

#include <array>
#include <optional>
#include <span>

#include "algebra/edwards.h"

namespace zkapex::ristretto {

class Encoding {  // 4.3.2
 public:
  using Input = ExtendedPoint;
  using Output = std::array<uint8_t, 32>;
  explicit Encoding(const ExtendedPoint& p);
  [[nodiscard]] Fe radicand() const { return sqrt_ratio_radicand(Fe::one(), v_); }
  [[nodiscard]] Output finish(const Fe& power) const;

 private:
  ExtendedPoint p_;
  Fe u1_, u2_, v_;
};

class Decoding {  // 4.3.1
 public:
  using Input = std::span<const uint8_t, 32>;
  using Output = std::optional<ExtendedPoint>;
  explicit Decoding(std::span<const uint8_t, 32> bytes);
  [[nodiscard]] Fe radicand() const { return sqrt_ratio_radicand(Fe::one(), w_); }
  [[nodiscard]] Output finish(const Fe& power) const;

 private:
  bool valid_;  // canonical and not negative
  Fe s_, u1_, u2_, v_, w_;
};

class Map {  // 4.3.4, MAP: half of the one-way map
 public:
  using Input = std::span<const uint8_t, 32>;
  using Output = ExtendedPoint;
  explicit Map(std::span<const uint8_t, 32> bytes);
  [[nodiscard]] Fe radicand() const { return sqrt_ratio_radicand(u_, v_); }
  [[nodiscard]] Output finish(const Fe& power) const;

 private:
  Fe t_, r_, u_, v_;
};

}  // namespace zkapex::ristretto
