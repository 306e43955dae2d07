#include "learning/block_accumulator.h"

#include <algorithm>

#include "learning/block_products.h"
#include "learning/torch.h"

namespace zkapex {

BlockAccumulator::BlockAccumulator(int64_t first_block, int64_t blocks, int64_t block, int64_t entries, int64_t columns,
                                   int64_t pending, const at::TensorOptions& placed)
    : block_(block) {
  const int64_t begin = first_block * block, end = std::min(entries, begin + blocks * block);
  row_ = begin / columns;
  rows_ = (end + columns - 1) / columns - row_;
  offset_ = begin - row_ * columns;
  length_ = end - begin;
  waiting_ = at::zeros({blocks, pending, block}, placed);
  sums_ = at::zeros({blocks, block, block}, placed);
}

void BlockAccumulator::add(const Tensor& gradients) {
  const int64_t n = gradients.size(0), whole = length_ / block_, rest = length_ % block_;
  const Tensor entries = gradients.flatten(1).narrow(1, offset_, length_), to = waiting_.narrow(1, filled_, n);
  // Sample by sample becomes block by block, so that a product reads one piece of memory.
  if (whole > 0) {
    to.narrow(0, 0, whole).copy_(entries.narrow(1, 0, whole * block_).unflatten(1, {whole, block_}).transpose(0, 1));
  }
  if (rest > 0) to.select(0, whole).narrow(1, 0, rest).copy_(entries.narrow(1, whole * block_, rest));
  filled_ += n;
  if (room() == 0) flush();
}

void BlockAccumulator::flush() {
  add_block_products(sums_, waiting_.narrow(1, 0, filled_));
  flops_ += static_cast<double>(sums_.size(0) * block_) * static_cast<double>((block_ + 1) * filled_);
  filled_ = 0;
}

Tensor BlockAccumulator::finish(int64_t samples) {
  if (filled_ > 0) flush();
  waiting_.reset();
  // The upper triangles from the lower ones, few blocks at a time: copies of all would take as much memory again.
  constexpr int64_t kPiece = 64;
  for (int64_t first = 0; first < sums_.size(0); first += kPiece) {
    const Tensor piece = sums_.narrow(0, first, std::min(kPiece, sums_.size(0) - first));
    piece.copy_((piece.tril() + piece.tril(-1).transpose(1, 2)).div_(samples));
  }
  return std::move(sums_);
}

}  // namespace zkapex
