// Products block by block: sums of outer ones, on which the accumulation of Fisher blocks spends its time, and those of
// matrices with vectors, which take as long as the matrices take to be read.
#pragma once

#include "learning/tensor.h"

namespace zkapex {

// sums[i] += Gᵢᵀ Gᵢ for every block i, where Gᵢ = gradients[i] is [k, B]: B entries of k samples. `sums` is
// [blocks, B, B] and contiguous, `gradients` [blocks, k, B] with rows that are; both of one type, on one device. Only
// the lower triangles of the sums are meant: what lies above them is undefined.
void add_block_products(const Tensor& sums, const Tensor& gradients);

// The same by libtorch's batched product, on any device: what add_block_products does on a GPU, and on the CPU in a
// build without OpenBLAS.
void add_block_products_batched(const Tensor& sums, const Tensor& gradients);

// Symmetric matrices [blocks, B, B] times vectors [blocks, B], all in floats and contiguous.
[[nodiscard]] Tensor symmetric_products(const Tensor& matrices, const Tensor& vectors);
// The same by libtorch, on any device; on the CPU it copies each matrix first.
[[nodiscard]] Tensor symmetric_products_batched(const Tensor& matrices, const Tensor& vectors);

}  // namespace zkapex
