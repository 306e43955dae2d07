#include "learning/head_attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "learning/small_product.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kMostTokens = 64;
constexpr int64_t kHeadsAtOnce = 16;  // of a thread

size_t padded(size_t columns) { return (columns + kSmallColumns - 1) / kSmallColumns * kSmallColumns; }

// One head of one sample: its rows are `hidden` numbers apart in tensors, and packed, padded by zeros, in scratch.
struct HeadShape {
  size_t queries, tokens, width, hidden, heads;

  HeadShape(const Tensor& q, const Tensor& k, int64_t head_count)
      : queries(static_cast<size_t>(q.size(1))),
        tokens(static_cast<size_t>(k.size(1))),
        width(static_cast<size_t>(q.size(2) / head_count)),
        hidden(static_cast<size_t>(q.size(2))),
        heads(static_cast<size_t>(head_count)) {}
  // Where head `index` of all samples begins: in q and what is like it, in k and v, in scores.
  [[nodiscard]] size_t in_queries(size_t index) const { return first(index, queries); }
  [[nodiscard]] size_t in_tokens(size_t index) const { return first(index, tokens); }
  [[nodiscard]] size_t in_scores(size_t index) const { return index * queries * tokens; }

 private:
  [[nodiscard]] size_t first(size_t index, size_t rows) const {
    return index / heads * rows * hidden + index % heads * width;
  }
};

// body(first, last) on ranges of all heads of all samples.
template <class Body>
void for_heads(int64_t count, const Body& body) {
  at::parallel_for(0, count, kHeadsAtOnce,
                   [&](int64_t first, int64_t last) { body(static_cast<size_t>(first), static_cast<size_t>(last)); });
}

class Panel {
 public:
  Panel(size_t rows, size_t columns) : columns_(columns), stride_(padded(columns)), values_(rows * stride_) {}

  void load(const float* from, size_t stride) {
    for (size_t i = 0; i < rows(); ++i) std::copy_n(from + i * stride, columns_, &values_[i * stride_]);
  }
  void load_transposed(const float* from, size_t stride) {
    for (size_t j = 0; j < columns_; ++j) {
      for (size_t i = 0; i < rows(); ++i) values_[i * stride_ + j] = from[j * stride + i];
    }
  }
  void store(float* to, size_t stride) const {
    for (size_t i = 0; i < rows(); ++i) std::copy_n(&values_[i * stride_], columns_, to + i * stride);
  }
  // this = a b
  void multiply(SmallProduct product, const Panel& a, const Panel& b) {
    product(rows(), a.columns_, stride_, a.view(), b.view(), values_.data(), stride_);
  }
  float* row(size_t i) { return &values_[i * stride_]; }
  [[nodiscard]] size_t stride() const { return stride_; }

 private:
  [[nodiscard]] size_t rows() const { return values_.size() / stride_; }
  [[nodiscard]] SmallMatrix view() const { return {values_.data(), stride_}; }

  size_t columns_, stride_;
  std::vector<float> values_;
};

class HeadAttention : public torch::autograd::Function<HeadAttention> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads) {
    const HeadShape s(q, k, heads);
    const int64_t all = q.size(0) * heads;
    const auto product = small_product();
    const float *from_q = q.data_ptr<float>(), *from_k = k.data_ptr<float>(), *from_v = v.data_ptr<float>();
    Tensor scores = at::empty({all, q.size(1), k.size(1)}, q.options());
    auto* to_scores = scores.data_ptr<float>();
    for_heads(all, [&](size_t first, size_t last) {
      Panel query(s.queries, s.width), key(s.width, s.tokens), out(s.queries, s.tokens);
      for (size_t i = first; i < last; ++i) {
        query.load(from_q + s.in_queries(i), s.hidden);
        key.load_transposed(from_k + s.in_tokens(i), s.hidden);
        out.multiply(product, query, key);
        out.store(to_scores + s.in_scores(i), s.tokens);
      }
    });
    const Tensor weights = at::softmax(scores.mul_(1 / std::sqrt(static_cast<double>(s.width))), -1);
    Tensor mixed = at::empty_like(q);
    const auto* from_weights = weights.data_ptr<float>();
    auto* to_mixed = mixed.data_ptr<float>();
    for_heads(all, [&](size_t first, size_t last) {
      Panel weight(s.queries, s.tokens), value(s.tokens, s.width), out(s.queries, s.width);
      for (size_t i = first; i < last; ++i) {
        weight.load(from_weights + s.in_scores(i), s.tokens);
        value.load(from_v + s.in_tokens(i), s.hidden);
        out.multiply(product, weight, value);
        out.store(to_mixed + s.in_queries(i), s.hidden);
      }
    });
    context->save_for_backward({q, k, v, weights});
    context->saved_data["heads"] = heads;
    return mixed;
  }

  // With P the weights, S the scores and G the gradient of P V: ∂V = Pᵀ G, ∂P = G Vᵀ,
  // ∂S = P ∘ (∂P − sums over rows of ∂P ∘ P) / √d, ∂Q = ∂S K, ∂K = ∂Sᵀ Q.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
    const Tensor gradient = gradients[0].contiguous();
    const int64_t heads = context->saved_data["heads"].toInt();
    const HeadShape s(q, k, heads);
    const auto product = small_product();
    const float scale = 1 / std::sqrt(static_cast<float>(s.width));
    Tensor by_q = at::empty_like(q), by_k = at::empty_like(k), by_v = at::empty_like(v);
    const float *from_q = q.data_ptr<float>(), *from_k = k.data_ptr<float>(), *from_v = v.data_ptr<float>(),
                *from_weights = weights.data_ptr<float>(), *from_gradient = gradient.data_ptr<float>();
    float *to_q = by_q.data_ptr<float>(), *to_k = by_k.data_ptr<float>(), *to_v = by_v.data_ptr<float>();
    for_heads(q.size(0) * heads, [&](size_t first, size_t last) {
      Panel own(s.queries, s.width), value(s.width, s.tokens), weight(s.queries, s.tokens), inner(s.queries, s.tokens),
          turned(s.tokens, s.queries), keys(s.tokens, s.width), at_queries(s.queries, s.width),
          at_tokens(s.tokens, s.width);
      for (size_t i = first; i < last; ++i) {
        own.load(from_gradient + s.in_queries(i), s.hidden);
        weight.load(from_weights + s.in_scores(i), s.tokens);
        turned.load_transposed(from_weights + s.in_scores(i), s.tokens);
        at_tokens.multiply(product, turned, own);
        at_tokens.store(to_v + s.in_tokens(i), s.hidden);

        value.load_transposed(from_v + s.in_tokens(i), s.hidden);
        inner.multiply(product, own, value);
        for (size_t r = 0; r < s.queries; ++r) {
          float* row = inner.row(r);
          const float* p = weight.row(r);
          float sum = 0;
          for (size_t c = 0; c < s.tokens; ++c) sum += row[c] * p[c];
          for (size_t c = 0; c < s.tokens; ++c) row[c] = p[c] * (row[c] - sum) * scale;
        }
        keys.load(from_k + s.in_tokens(i), s.hidden);
        at_queries.multiply(product, inner, keys);
        at_queries.store(to_q + s.in_queries(i), s.hidden);

        turned.load_transposed(inner.row(0), inner.stride());
        own.load(from_q + s.in_queries(i), s.hidden);
        at_tokens.multiply(product, turned, own);
        at_tokens.store(to_k + s.in_tokens(i), s.hidden);
      }
    });
    return {by_q, by_k, by_v, Tensor()};
  }
};

}  // namespace

bool few_tokens(const Tensor& x, int64_t heads) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.size(1) <= kMostTokens &&
         x.size(2) / heads <= kMostTokens;
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads) {
  return HeadAttention::apply(q.contiguous(), k.contiguous(), v.contiguous(), heads);
}

}  // namespace zkapex
