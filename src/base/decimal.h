// Positive decimal numbers as people write them, kept exactly: digits * 10^-places. No binary rounding decides
// anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

struct Decimal {
  static constexpr uint64_t kMaxDigits = 1'000'000'000'000'000;  // up to 15 digits
  static constexpr uint32_t kMaxPlaces = 18;

  uint64_t digits = 0;  // no trailing zero unless places is 0: one form for each number
  uint32_t places = 0;

  // "0.04", "4e-2", "1.5", "12"; a number above zero within the limits above.
  static Result<Decimal> parse(std::string_view text);
  // From digits and places as stored; refuses any but the one form.
  static Result<Decimal> from_parts(uint64_t digits, uint32_t places);

  [[nodiscard]] std::string text() const;  // "4e-2"; parse gives it back
  [[nodiscard]] double approximate() const;
  bool operator==(const Decimal&) const = default;
};

}  // namespace zkapex
