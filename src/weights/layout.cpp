#include "weights/layout.h"

#include <algorithm>
#include <bit>

namespace zkapex {

namespace {

enum TensorKind : uint8_t { kUnchanged, kCovered, kSplit };  // as layouts are written

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

uint64_t Geometry::stride() const { return std::bit_ceil(block); }

Status Geometry::check() const {
  if (block < 1 || block > kMaxBlock) return error("blocks of {} are outside 1 to {}", block, kMaxBlock);
  if (!std::has_single_bit(row) || row > kMaxRow)
    return error("rows of {} entries: the length must be a power of two, at most {}", row, kMaxRow);
  if (row < stride()) return error("rows of {} entries are too short: a block of {} takes {}", row, block, stride());
  return Done{};
}

Result<Layout> Layout::make(const std::vector<TensorInfo>& tensors, const CoverPatterns& cover, Geometry geometry) {
  std::vector<LayoutTensor> parts;
  for (const TensorInfo& info : tensors) {
    LayoutTensor part;
    part.name = info.name;
    part.shape = info.shape;
    part.covered = is_covered(cover, info.name);
    part.split = !part.covered && (info.dtype == Dtype::kI64 || info.dtype == Dtype::kU64);
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (std::none_of(parts.begin(), parts.end(), [](const auto& t) { return t.covered; }))
    return error("no tensor of the model matches {}", fmt::join(cover, " or "));
  return build(std::move(parts), geometry);
}

Result<Layout> Layout::build(std::vector<LayoutTensor> tensors, Geometry geometry) {
  ZKAPEX_CHECK(geometry.check());
  if (tensors.size() > kMaxTensors) return error("{} tensors are over the limit of {}", tensors.size(), kMaxTensors);
  Layout out;
  out.geometry_ = geometry;
  const uint64_t n = geometry.row, block = geometry.block, stride = geometry.stride();
  for (size_t k = 0; k < tensors.size(); ++k) {
    LayoutTensor& t = tensors[k];
    if (k > 0 && tensors[k - 1].name >= t.name)
      return error("tensor '{}' does not come after '{}' by name", t.name, tensors[k - 1].name);
    if (t.name.size() > kMaxName) return error("a tensor name of {} bytes is over {}", t.name.size(), kMaxName);
    if (t.shape.size() > kMaxDims) return error("tensor '{}' has more than {} dimensions", t.name, kMaxDims);
    ZKAPEX_TRY(t.count, element_count({t.name, Dtype::kU8, t.shape}));
    if (t.count > kMaxPadded) return error("tensor '{}' has {} weights, over {}", t.name, t.count, kMaxPadded);
    uint64_t& next_row = t.covered ? out.rows_ : out.unchanged_rows_;
    t.first_row = next_row;
    const uint64_t entries = t.covered ? ceil_div(t.count, block) * stride : t.split ? 2 * t.count : t.count;
    t.rows = ceil_div(entries, n);
    next_row += t.rows;
    if (next_row > kMaxPadded / n) return error("the model has more than {} weights with padding", kMaxPadded);
    if (!t.covered) continue;
    t.first_coordinate = out.coordinates_;
    out.coordinates_ += t.count;
    t.first_slot = t.first_row * geometry.blocks_per_row();
    t.first_block = out.blocks_;
    out.blocks_ += ceil_div(t.count, block);
    t.full_blocks = t.count / block;
    t.rest = t.count % block;
    if (t.count > 0) out.covered_.push_back(k);
  }
  if (out.coordinates_ == 0) return error("the layout covers no weight");
  out.tensors_ = std::move(tensors);
  return out;
}

// The covered tensor with the largest `first` that is not above `value`.
size_t Layout::covered_tensor(uint64_t LayoutTensor::*first, uint64_t value) const {
  const auto after = std::upper_bound(covered_.begin(), covered_.end(), value,
                                      [&](uint64_t v, size_t t) { return v < tensors_[t].*first; });
  return *(after - 1);
}

Layout::Place Layout::place(uint64_t coordinate) const {
  const size_t tensor = covered_tensor(&LayoutTensor::first_coordinate, coordinate);
  return {tensor, coordinate - tensors_[tensor].first_coordinate};
}

uint64_t Layout::padded_index(uint64_t coordinate) const {
  const Place at = place(coordinate);
  const uint64_t block = geometry_.block;
  return (tensors_[at.tensor].first_slot + at.element / block) * geometry_.stride() + at.element % block;
}

std::optional<uint64_t> Layout::coordinate(uint64_t padded_index) const {
  const auto index = block_in_slot(padded_index / geometry_.stride());
  if (!index) return std::nullopt;
  const Block at = block(*index);
  const uint64_t j = padded_index % geometry_.stride();
  if (j >= at.count) return std::nullopt;
  return at.first_coordinate + j;
}

Layout::Block Layout::block(uint64_t index) const {
  const size_t tensor = covered_tensor(&LayoutTensor::first_block, index);
  const LayoutTensor& t = tensors_[tensor];
  const uint64_t number = index - t.first_block, first = number * geometry_.block;
  return {.tensor = tensor,
          .slot = t.first_slot + number,
          .first = first,
          .count = std::min(geometry_.block, t.count - first),
          .first_coordinate = t.first_coordinate + first};
}

std::optional<uint64_t> Layout::block_in_slot(uint64_t slot) const {
  if (slot >= slots()) return std::nullopt;
  const LayoutTensor& t = tensors_[covered_tensor(&LayoutTensor::first_slot, slot)];
  const uint64_t number = slot - t.first_slot;
  if (number >= t.full_blocks + (t.rest > 0 ? 1 : 0)) return std::nullopt;
  return t.first_block + number;
}

Status Layout::check_some(const std::vector<TensorView>& tensors, bool all) const {
  size_t k = 0;
  const auto may_lack = [&] { return !all && !tensors_[k].covered; };
  for (const TensorView& given : tensors) {
    while (k < tensors_.size() && tensors_[k].name < given.name() && may_lack()) ++k;
    if (k == tensors_.size() || given.name() < tensors_[k].name)
      return error("tensor '{}' of the checkpoint is not in the deployment's layout", given.name());
    if (given.name() != tensors_[k].name) break;
    if (given.shape() != tensors_[k].shape)
      return error("tensor '{}' has shape [{}], the deployment's layout says [{}]", given.name(),
                   fmt::join(given.shape(), ", "), fmt::join(tensors_[k].shape, ", "));
    ++k;
  }
  while (k < tensors_.size() && may_lack()) ++k;
  if (k < tensors_.size())
    return error("the checkpoint lacks tensor '{}' of the deployment's layout", tensors_[k].name);
  return Done{};
}

Status Layout::check_tensors(const std::vector<TensorView>& tensors) const { return check_some(tensors, true); }
Status Layout::check_covered(const std::vector<TensorView>& tensors) const { return check_some(tensors, false); }

void Layout::serialize(ByteWriter& out) const {
  out.u64(geometry_.block);
  out.u64(geometry_.row);
  out.u32(static_cast<uint32_t>(tensors_.size()));
  for (const LayoutTensor& t : tensors_) {
    out.text(t.name);
    out.u8(t.covered ? kCovered : t.split ? kSplit : kUnchanged);
    out.u8(static_cast<uint8_t>(t.shape.size()));
    for (const uint64_t dim : t.shape) out.u64(dim);
  }
}

Result<Layout> Layout::parse(ByteReader& in) {
  Geometry geometry;
  ZKAPEX_TRY(geometry.block, in.u64());
  ZKAPEX_TRY(geometry.row, in.u64());
  ZKAPEX_TRY(const uint32_t count, in.u32());
  if (count > kMaxTensors) return error("{} tensors are over the limit of {}", count, kMaxTensors);
  std::vector<LayoutTensor> tensors;
  for (uint32_t k = 0; k < count; ++k) {  // grows with what is really there: each tensor takes bytes
    LayoutTensor t;
    ZKAPEX_TRY(t.name, in.text(kMaxName));
    ZKAPEX_TRY(const uint8_t kind, in.u8());
    if (kind > kSplit) return error("tensor '{}': its kind is {}, not 0, 1 or 2", t.name, kind);
    t.covered = kind == kCovered;
    t.split = kind == kSplit;
    ZKAPEX_TRY(const uint8_t dims, in.u8());
    for (uint8_t d = 0; d < dims; ++d) {
      ZKAPEX_TRY(const uint64_t dim, in.u64());
      t.shape.push_back(dim);
    }
    tensors.push_back(std::move(t));
  }
  return build(std::move(tensors), geometry);
}

Sha256::Digest Layout::digest() const {
  ByteWriter out;
  out.text("zkapex layout 1");
  serialize(out);
  return sha256(out.bytes());
}

}  // namespace zkapex
