#include "learning/head_attention.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "learning/small_product.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

TEST(SmallProduct, IsThePlainSumForEveryShapeAndInstructionSet) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    for (const auto& [rows, inner, columns] : {std::array<size_t, 3>{1, 1, 8}, {17, 24, 24}, {4, 17, 32}, {5, 3, 56}}) {
      const size_t a_stride = inner + 3, b_stride = columns + 1, out_stride = columns + 2;
      std::vector<float> a(rows * a_stride), b(inner * b_stride), out(rows * out_stride, 7);
      for (float& x : a) x = uniform(random);
      for (float& x : b) x = uniform(random);
      small_product(set)(rows, inner, columns, {a.data(), a_stride}, {b.data(), b_stride}, out.data(), out_stride);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (size_t k = 0; k < inner; ++k) sum += double{a[i * a_stride + k]} * double{b[k * b_stride + j]};
          EXPECT_NEAR(out[i * out_stride + j], sum, 1e-5) << name(set);
        }
        for (size_t j = columns; j < out_stride; ++j) EXPECT_EQ(out[i * out_stride + j], 7) << "beyond the columns";
      }
    }
  }
}

// In double precision, by libtorch's own products.
Tensor plain(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads) {
  const auto split = [&](const Tensor& y) {
    return y.view({y.size(0), y.size(1), heads, y.size(2) / heads}).transpose(1, 2);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(2) / heads));
  const Tensor weights = at::softmax(at::matmul(split(q), split(k).transpose(-2, -1)) * scale, -1);
  return at::matmul(weights, split(v)).transpose(1, 2).reshape(q.sizes());
}

TEST(HeadAttention, IsThePlainFormulaWithItsGradients) {
  const at::AutoGradMode grad(true);
  at::manual_seed(1);
  struct Case {
    int64_t samples, queries, tokens, heads, width;
  };
  for (const auto& [n, queries, tokens, heads, width] :
       {Case{3, 17, 17, 4, 24}, Case{2, 1, 17, 4, 24}, Case{1, 1, 1, 1, 1}, Case{9, 5, 8, 3, 7},
        Case{2, 64, 64, 2, 64}}) {
    const auto leaf = [&](int64_t rows) { return at::randn({n, rows, heads * width}).set_requires_grad(true); };
    const Tensor q = leaf(queries), k = leaf(tokens), v = leaf(tokens);
    const Tensor gradient = at::randn({n, queries, heads * width});
    const auto exact = [](const Tensor& t) { return t.detach().to(at::kDouble).set_requires_grad(true); };
    const Tensor q2 = exact(q), k2 = exact(k), v2 = exact(v);
    ASSERT_TRUE(few_tokens(k, heads));
    const Tensor out = attend(q, k, v, heads), expected = plain(q2, k2, v2, heads);
    out.backward(gradient);
    expected.backward(gradient.to(at::kDouble));
    EXPECT_LT(relative_difference(out, expected), 1e-5);
    // Relative to the gradient that came in: of a single token those of q and k are zero.
    const auto difference = [&](const Tensor& a, const Tensor& b) {
      return ((a.grad().to(at::kDouble) - b.grad()).abs().max() / gradient.abs().max()).item<double>();
    };
    EXPECT_LT(difference(q, q2), 1e-5);
    EXPECT_LT(difference(k, k2), 1e-5);
    EXPECT_LT(difference(v, v2), 1e-5);
  }
}

TEST(HeadAttention, TakesStridedTensorsAndLeavesTheRestToLibtorch) {
  const at::NoGradGuard no_grad;
  const Tensor x = at::randn({2, 9, 32}), apart = x.transpose(0, 1).contiguous().transpose(0, 1);
  ASSERT_FALSE(apart.is_contiguous());
  EXPECT_TRUE(at::equal(attend(apart, apart, apart, 4), attend(x, x, x, 4)));
  EXPECT_FALSE(few_tokens(x.to(at::kDouble), 4));
  EXPECT_FALSE(few_tokens(at::zeros({1, 65, 32}), 4));
  EXPECT_FALSE(few_tokens(at::zeros({1, 9, 65}), 1));
}

}  // namespace
}  // namespace zkapex
