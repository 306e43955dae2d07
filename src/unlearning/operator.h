// What a request does to the weights. Mask-only is there for comparison: masked weights zero, all others untouched.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace zkapex {

enum class Operator : uint8_t { kGroupObs = 1, kMaskOnly = 2, kGuided = 3 };

inline constexpr std::array kOperators = {Operator::kGroupObs, Operator::kMaskOnly, Operator::kGuided};

[[nodiscard]] constexpr std::string_view name(Operator op) {
  return op == Operator::kGroupObs ? "group-obs" : op == Operator::kMaskOnly ? "mask-only" : "guided";
}

[[nodiscard]] inline Result<Operator> operator_named(std::string_view text) {
  for (const Operator op : kOperators) {
    if (text == name(op)) return op;
  }
  return error("no operator is named '{}'; there are group-obs, guided and mask-only", text);
}

[[nodiscard]] inline Result<Operator> operator_numbered(uint8_t number) {
  for (const Operator op : kOperators) {
    if (number == static_cast<uint8_t>(op)) return op;
  }
  return error("there is no operator {}", number);
}

}  // namespace zkapex
