#include "attestation/past_windows.h"

#include <algorithm>

namespace zkapex {

namespace {

// fn(position in the row span, block) for every block of whole rows.
template <class Fn>
void for_blocks(const Layout& layout, uint64_t first_row, size_t size, const Fn& fn) {
  const uint64_t stride = layout.geometry().stride(), first = first_row * layout.geometry().blocks_per_row();
  for (uint64_t b = 0; b < size / stride; ++b) {
    if (const std::optional<uint64_t> block = layout.block_in_slot(first + b)) fn(b * stride, *block);
  }
}

// Sets to zero what was removed of a block's weights.
template <class Value>
void clear_removed(const Layout::Block& block, std::span<const uint64_t> removed, std::span<Value> weights) {
  const auto first = std::ranges::lower_bound(removed, block.first_coordinate);
  for (auto at = first; at != removed.end() && *at < block.first_coordinate + block.count; ++at)
    weights[*at - block.first_coordinate] = 0;
}

}  // namespace

std::span<const uint64_t> UpdateTerms::removed() const {
  if (windows.empty()) return {};
  return windows.back().mask->support;
}

PastGuide::PastGuide(const Layout& layout, const UpdateTerms& terms, size_t window)
    : layout_(&layout),
      removed_(terms.removed()),
      reader_(layout, terms.windows[window].mask->support, terms.windows[window].mask->guidance->guide) {}

void PastGuide::signs(uint64_t block, std::span<int8_t> out) const {
  reader_.signs(block, out);
  clear_removed(layout_->block(block), removed_, out);
}

void PastGuide::read(uint64_t first_row, std::span<int64_t> out) const {
  std::ranges::fill(out, 0);
  std::vector<int8_t> sign;
  for_blocks(*layout_, first_row, out.size(), [&](size_t at, uint64_t block) {
    sign.resize(layout_->block(block).count);
    signs(block, sign);
    const auto magnitude = static_cast<int64_t>(reader_.magnitude(block));
    for (size_t k = 0; k < sign.size(); ++k) out[at + k] = magnitude * sign[k];
  });
}

RowReader PastGuide::rows() const {
  return [guide = *this](uint64_t first_row, std::span<int64_t> out) -> Status {
    guide.read(first_row, out);
    return Done{};
  };
}

std::vector<Wide> PastGuide::squares() const {
  std::vector<Wide> out;
  std::vector<int8_t> sign;
  for (const size_t tensor : layout_->covered()) {
    Wide& sum = out.emplace_back();
    const LayoutTensor& t = layout_->tensors()[tensor];
    const uint64_t blocks = t.full_blocks + (t.rest != 0 ? 1 : 0);
    for (uint64_t b = t.first_block; b < t.first_block + blocks; ++b) {
      sign.resize(layout_->block(b).count);
      signs(b, sign);
      const auto drawn = static_cast<uint64_t>(std::ranges::count_if(sign, [](int8_t s) { return s != 0; }));
      sum += Wide(drawn) * Wide::square_of(static_cast<int128>(reader_.magnitude(b)));
    }
  }
  return out;
}

RowReader reference_rows(const Layout& layout, const UpdateTerms& terms, const RowReader& base) {
  std::vector<PastGuide> guides;
  for (size_t j = 0; j < terms.windows.size(); ++j) {
    if (terms.windows[j].mask->guidance) guides.emplace_back(layout, terms, j);
  }
  return [&layout, base, removed = terms.removed(), guides](uint64_t first_row, std::span<int64_t> out) -> Status {
    ZKAPEX_CHECK(base(first_row, out));
    std::vector<int64_t> delta(out.size());
    for (const PastGuide& guide : guides) {
      guide.read(first_row, delta);
      for (size_t k = 0; k < out.size(); ++k) out[k] += delta[k];
    }
    for_blocks(layout, first_row, out.size(), [&](size_t at, uint64_t block) {
      clear_removed(layout.block(block), removed, out.subspan(at, layout.block(block).count));
    });
    return Done{};
  };
}

Status check_guides(const UpdateTerms& terms) {
  constexpr uint64_t kMost = uint64_t{1} << 61;  // entries of θ0 are below 2^52 in covered tensors
  std::vector<uint64_t> sums;
  for (const PastWindow& window : terms.windows) {
    if (!window.mask->guidance) continue;
    const std::vector<uint64_t>& scales = window.mask->guidance->guide.scales;
    sums.resize(scales.size());
    for (size_t k = 0; k < scales.size(); ++k) {
      sums[k] += scales[k];  // each below 2^52
      if (sums[k] > kMost) return error("the guides of {} windows add up to too much", terms.windows.size());
    }
  }
  return Done{};
}

}  // namespace zkapex
