#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <cmath>

#include "cli/learning/bench.h"

namespace zkapex::cli {

namespace {

namespace nn = torch::nn;

struct PlainBlock : nn::Module {
  PlainBlock(int64_t width, int64_t inner, int64_t head_count) : heads(head_count) {
    const auto linear = [&](const char* name, int64_t in, int64_t out) {
      return register_module(name, nn::Linear(in, out));
    };
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
    query = linear("query", width, width);
    key = linear("key", width, width);
    value = linear("value", width, width);
    output = linear("output", width, width);
    fc1 = linear("fc1", width, inner);
    fc2 = linear("fc2", inner, width);
  }

  torch::Tensor forward(torch::Tensor x) {
    const int64_t n = x.size(0), t = x.size(1), width = x.size(2);
    const auto y = norm1(x);
    const auto split = [&](const torch::Tensor& z) { return z.view({n, t, heads, width / heads}).transpose(1, 2); };
    const auto q = split(query(y)), k = split(key(y)), v = split(value(y));
    const auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(width / heads));
    const auto attended = torch::matmul(torch::softmax(scores, -1), v).transpose(1, 2).reshape({n, t, width});
    x = x + output(attended);
    return x + fc2(torch::gelu(fc1(norm2(x))));
  }

  int64_t heads;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear query{nullptr}, key{nullptr}, value{nullptr}, output{nullptr}, fc1{nullptr}, fc2{nullptr};
};

struct PlainVit : nn::Module {
  explicit PlainVit(const ModelConfig& config) {
    const VitConfig& vit = *config.vit();
    patches = register_module(
        "patches", nn::Conv2d(nn::Conv2dOptions(vit.channels, config.hidden, vit.patch_size).stride(vit.patch_size)));
    class_token = register_parameter("class_token", torch::zeros({1, 1, config.hidden}));
    positions = register_parameter("positions", torch::randn({1, vit.patches() + 1, config.hidden}) * 0.02);
    for (int64_t i = 0; i < config.layers; ++i) {
      blocks.push_back(register_module("block" + std::to_string(i),
                                       std::make_shared<PlainBlock>(config.hidden, config.intermediate, config.heads)));
    }
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({config.hidden})));
    classifier = register_module("classifier", nn::Linear(config.hidden, vit.classes));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    auto x = patches(images).flatten(2).transpose(1, 2);
    x = torch::cat({class_token.expand({images.size(0), 1, -1}), x}, 1) + positions;
    for (const auto& block : blocks) x = block->forward(x);
    return classifier(norm(x.select(1, 0)));
  }

  nn::Conv2d patches{nullptr};
  torch::Tensor class_token, positions;
  std::vector<std::shared_ptr<PlainBlock>> blocks;
  nn::LayerNorm norm{nullptr};
  nn::Linear classifier{nullptr};
};

}  // namespace

std::function<void()> plain_training_step(const ModelConfig& config, const Batch& batch, double rate) {
  const auto model = std::make_shared<PlainVit>(config);
  model->to(batch.inputs.device());
  const auto optimizer = std::make_shared<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions(rate));
  return [=] {
    optimizer->zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model->forward(batch.inputs), batch.labels);
    loss.backward();
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer->step();
  };
}

}  // namespace zkapex::cli
