#include "learning/block_accumulator.h"

#include <cblas.h>

#include <algorithm>

namespace zkapex {

BlockAccumulator::BlockAccumulator(int64_t first_block, int64_t blocks, int64_t block, int64_t entries, int64_t columns,
                                   int64_t pending, const at::TensorOptions& placed)
    : block_(block) {
  const int64_t begin = first_block * block, end = std::min(entries, begin + blocks * block);
  row_ = begin / columns;
  rows_ = (end + columns - 1) / columns - row_;
  offset_ = begin - row_ * columns;
  length_ = end - begin;
  waiting_ = at::zeros({pending, blocks * block}, placed);
  sums_ = at::zeros({blocks, block, block}, placed);
}

void BlockAccumulator::add(const Tensor& gradients) {
  const int64_t n = gradients.size(0);
  waiting_.narrow(0, filled_, n).narrow(1, 0, length_).copy_(gradients.flatten(1).narrow(1, offset_, length_));
  filled_ += n;
  if (filled_ == waiting_.size(0)) flush();
}

void BlockAccumulator::flush() {
  const int64_t blocks = sums_.size(0);
  const bool plain = waiting_.is_cpu() && waiting_.scalar_type() == at::kFloat;
  if (plain) {
    // A symmetric rank-k update per block touches one triangle only: half the work of a product. Inside a parallel
    // region the BLAS runs each on one thread.
    const float* gradients = waiting_.data_ptr<float>();
    float* sums = sums_.data_ptr<float>();
    const auto b = static_cast<int>(block_), k = static_cast<int>(filled_), stride = static_cast<int>(waiting_.size(1));
    at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, b, k, 1.0F, gradients + i * block_, stride, 1.0F,
                    sums + i * block_ * block_, b);
      }
    });
  } else {
    const Tensor g = waiting_.narrow(0, 0, filled_).view({filled_, blocks, block_}).transpose(0, 1);
    sums_.baddbmm_(g.transpose(1, 2), g);
  }
  flops_ += static_cast<double>(blocks * block_) * static_cast<double>((block_ + 1) * filled_);
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
