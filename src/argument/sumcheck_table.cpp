#include "argument/sumcheck_table.h"

#include <algorithm>

namespace zkapex {

SumcheckKernels::Entries SumcheckTable::entries() const {
  using Form = SumcheckKernels::Form;
  using Entries = SumcheckKernels::Entries;
  struct Visitor {
    bool sparse;
    Entries operator()(const Scalars& v) const { return {Form::kScalars, sparse, v.size(), v.data()}; }
    Entries operator()(const Stored& v) const { return {Form::kStored, sparse, v.length, v.memory.data()}; }
    Entries operator()(std::span<const int64_t> v) const { return {Form::kInt64, sparse, v.size(), v.data()}; }
    Entries operator()(std::span<const int128> v) const { return {Form::kInt128, sparse, v.size(), v.data()}; }
    Entries operator()(std::span<const uint8_t> v) const { return {Form::kBytes, sparse, v.size(), v.data()}; }
    Entries operator()(const Owned& v) const {
      return {v.wide() ? Form::kInt128 : Form::kInt64, sparse, v.length(), v.memory().data()};
    }
    Entries operator()(const Chosen& v) const {
      return {Form::kChosen, sparse, v.bytes.size(), v.block.data(), v.block_bits, 0, v.bytes.data()};
    }
    Entries operator()(const Signed& v) const {
      return {Form::kSigned,
              sparse,
              v.signs.size(),
              v.magnitudes.data(),
              v.block_bits,
              0,
              reinterpret_cast<const uint8_t*>(v.signs.data())};
    }
    Entries operator()(const Blocks& v) const {
      return {Form::kBlocks, sparse, v.block.size() << v.block_bits, v.block.data(), v.block_bits};
    }
    Entries operator()(const Periodic& v) const {
      return {Form::kPeriodic, sparse, v.length, v.period.data(), 0, v.period.size()};
    }
  };
  return std::visit(Visitor{sparse}, values);
}

size_t SumcheckTable::length() const { return entries().length; }

size_t SumcheckTable::leading_zeros() const {
  const Blocks* of = blocks();
  if (of == nullptr) return 0;
  const auto first = std::ranges::find_if(of->block, [](const Scalar& s) { return !s.is_zero(); });
  return static_cast<size_t>(first - of->block.begin()) << of->block_bits;
}

bool SumcheckTable::integers() const {
  using Form = SumcheckKernels::Form;
  const Form form = entries().form;
  return form == Form::kInt64 || form == Form::kInt128 || form == Form::kBytes || form == Form::kSigned;
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
