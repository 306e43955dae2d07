#include "argument/sumcheck_table.h"

namespace zkapex {

size_t SumcheckTable::length() const {
  if (const auto* chosen = std::get_if<Chosen>(&values)) return chosen->bytes.size();
  if (const auto* blocks = std::get_if<Blocks>(&values)) return blocks->block.size() << blocks->block_bits;
  if (const auto* periodic = std::get_if<Periodic>(&values)) return periodic->length;
  if (const auto* scalars = std::get_if<Scalars>(&values)) return scalars->size();
  if (const auto* small = std::get_if<std::span<const int64_t>>(&values)) return small->size();
  if (const auto* wide = std::get_if<std::span<const int128>>(&values)) return wide->size();
  return std::get<std::span<const uint8_t>>(values).size();
}

bool SumcheckTable::integers() const {
  return std::holds_alternative<std::span<const int64_t>>(values) ||
         std::holds_alternative<std::span<const int128>>(values) ||
         std::holds_alternative<std::span<const uint8_t>>(values);
}

const SumcheckTable::Blocks* SumcheckTable::blocks() const {
  const auto* blocks = std::get_if<Blocks>(&values);
  return blocks != nullptr && blocks->block_bits > 0 ? blocks : nullptr;
}

bool SumcheckTable::fold_structure(const Scalar& challenge) {
  if (auto* blocks = std::get_if<Blocks>(&values)) {
    if (blocks->block_bits > 0) {
      --blocks->block_bits;
      return true;
    }
    values = Scalars(blocks->block.begin(), blocks->block.end());
    return false;
  }
  auto* periodic = std::get_if<Periodic>(&values);
  if (periodic == nullptr) return false;
  periodic->length = (periodic->length + 1) / 2;
  if (periodic->period.size() > 1) {
    const PairFolder fold(challenge);
    std::vector<Scalar> half(periodic->period.size() / 2);
    for (size_t i = 0; i < half.size(); ++i) half[i] = fold(periodic->period[2 * i], periodic->period[2 * i + 1]);
    periodic->period = std::move(half);
  }
  return true;
}

}  // namespace zkapex
