#include "learning/block_products.h"

#include "learning/torch.h"
#ifdef ZKAPEX_CBLAS
#include <cblas.h>
#endif

namespace zkapex {

void add_block_products_batched(const Tensor& sums, const Tensor& gradients) {
  sums.baddbmm_(gradients.transpose(1, 2), gradients);
}

Tensor symmetric_products_batched(const Tensor& matrices, const Tensor& vectors) {
  return at::bmm(matrices, vectors.unsqueeze(2)).squeeze(2);
}

Tensor symmetric_products(const Tensor& matrices, const Tensor& vectors) {
  if (!matrices.is_cpu()) return symmetric_products_batched(matrices, vectors);
  Tensor out = at::zeros_like(vectors);
  const int64_t side = vectors.size(1);
  const float *m = matrices.data_ptr<float>(), *v = vectors.data_ptr<float>();
  float* sums = out.data_ptr<float>();
  at::parallel_for(0, vectors.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * side; row < end * side; ++row) {
      // A row times an entry: rows are columns, and no sum has to be put together across lanes.
      const float* __restrict from = m + row * side;
      float* __restrict to = sums + row / side * side;
      const float factor = v[row];
      for (int64_t k = 0; k < side; ++k) to[k] += factor * from[k];
    }
  });
  return out;
}

#ifdef ZKAPEX_CBLAS

namespace {

// C += Aᵀ A for A [k, n], the lower triangle of C [n, n] only: half the work of a product.
void add_product(int n, int k, const float* a, float* c) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, n, k, 1, a, n, 1, c, n);
}
void add_product(int n, int k, const double* a, double* c) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, k, 1, a, n, 1, c, n);
}

template <class T>
void add_on_cpu(const Tensor& sums, const Tensor& gradients) {
  const int64_t in = gradients.stride(0), out = sums.stride(0);
  const auto n = static_cast<int>(sums.size(1)), k = static_cast<int>(gradients.size(1));
  const T* g = gradients.data_ptr<T>();
  T* c = sums.data_ptr<T>();
  // Inside a parallel region the BLAS runs each update on one thread.
  at::parallel_for(0, sums.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) add_product(n, k, g + i * in, c + i * out);
  });
}

}  // namespace

void add_block_products(const Tensor& sums, const Tensor& gradients) {
  if (!sums.is_cpu()) return add_block_products_batched(sums, gradients);
  if (sums.scalar_type() == at::kFloat) return add_on_cpu<float>(sums, gradients);
  add_on_cpu<double>(sums, gradients);
}

#else

void add_block_products(const Tensor& sums, const Tensor& gradients) { add_block_products_batched(sums, gradients); }

#endif

}  // namespace zkapex
