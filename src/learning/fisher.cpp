#include "learning/fisher.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "learning/block_accumulator.h"
#include "learning/runtime.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

// Samples whose gradients, of so many entries each, are made at a time. On a CPU they should stay in its caches until
// they are added; a GPU needs many to be busy.
int64_t chunk_samples(const Tensor& like, int64_t entries) {
  const int64_t bytes = int64_t{like.is_cpu() ? 8 : 1024} << 20;
  return std::max<int64_t>(1, bytes / (entries * static_cast<int64_t>(like.element_size())));
}

Status check_losses(const Tensor& losses) {
  if (!at::isfinite(losses).all().item<bool>()) return error("the loss of a sample is not finite (NaN or infinite)");
  return Done{};
}

}  // namespace

Result<DiagonalFisher> diagonal_fisher(const Model& model, const BatchSource& batches,
                                       const std::vector<std::string>& covered) {
  return catch_torch([&]() -> Result<DiagonalFisher> {
    DiagonalFisher out;
    for (const std::string& name : covered) {
      const Tensor* weight = model.parameters().find(name);
      if (!weight) return error("the model has no weight '{}'", name);
      out.gradient.push_back(at::zeros_like(weight->detach()));
      out.diagonal.push_back(at::zeros_like(weight->detach()));
    }
    const auto visit = [&](const LayerTrace& trace) {
      const int64_t n = trace.inputs.size(0), rows = trace.outputs.size(2), columns = trace.inputs.size(2);
      const int64_t chunk = chunk_samples(trace.inputs, rows * columns);
      for (int64_t first = 0; first < n; first += chunk) {
        const Tensor g = trace.samples(first, std::min(chunk, n - first), 0, rows);
        out.gradient[trace.layer].add_(g.sum(0));
        out.diagonal[trace.layer].add_(g.square_().sum(0));
      }
    };
    ZKAPEX_CHECK(batches([&](const Batch& batch) -> Status {
      ZKAPEX_CHECK(check_losses(trace_batch(model, batch, covered, visit)));
      out.samples += batch.size();
      return Done{};
    }));
    if (out.samples == 0) return error("there are no samples to take gradients of");
    for (Tensor& t : out.gradient) t.div_(out.samples);
    for (Tensor& t : out.diagonal) t.div_(out.samples);
    return out;
  });
}

Result<std::vector<std::vector<FisherPass>>> plan_block_fisher(const std::vector<int64_t>& weight_sizes,
                                                               const BlockFisherOptions& options) {
  const int64_t block = options.block;
  if (block <= 0 || options.pending <= 0) return error("the block size and the samples at once must be positive");
  // A block's sums and its share of the gradients that wait.
  const int64_t bytes_per_block = static_cast<int64_t>(sizeof(float)) * block * (block + options.pending);
  const int64_t room = options.memory / bytes_per_block;
  if (room < 1) {
    return error("a memory of {} bytes does not hold one block of {}: {} bytes are needed", options.memory, block,
                 bytes_per_block);
  }
  std::vector<std::vector<FisherPass>> passes;
  int64_t left = 0, skip = options.skip;
  for (size_t layer = 0; layer < weight_sizes.size(); ++layer) {
    const int64_t blocks = (weight_sizes[layer] + block - 1) / block;
    const int64_t skipped = std::min(skip, blocks);
    skip -= skipped;
    for (int64_t first = skipped; first < blocks;) {
      if (left == 0) {
        passes.emplace_back();
        left = room;
      }
      const int64_t count = std::min(left, blocks - first);
      passes.back().push_back({layer, first, count});
      first += count;
      left -= count;
    }
  }
  return passes;
}

namespace {

// One round over the data for the slices of one pass.
Status accumulate(const Model& model, const BatchSource& batches, const std::vector<std::string>& covered,
                  std::vector<std::pair<FisherPass, BlockAccumulator>>& slices, BlockFisherReport& report) {
  std::vector<std::string> names;  // the weights of this pass
  std::vector<std::vector<BlockAccumulator*>> targets;
  for (auto& [pass, accumulator] : slices) {
    if (names.empty() || names.back() != covered[pass.layer]) {
      names.push_back(covered[pass.layer]);
      targets.emplace_back();
    }
    targets.back().push_back(&accumulator);
  }
  const auto visit = [&](const LayerTrace& trace) {
    wait_for(trace.inputs.device());
    const Stopwatch watch;
    const int64_t n = trace.inputs.size(0), columns = trace.inputs.size(2);
    for (BlockAccumulator* target : targets[trace.layer]) {
      const int64_t chunk = chunk_samples(trace.inputs, target->rows() * columns);
      for (int64_t first = 0; first < n;) {
        const int64_t count = std::min({chunk, n - first, target->room()});
        target->add(trace.samples(first, count, target->row(), target->rows()));
        first += count;
      }
    }
    wait_for(trace.inputs.device());
    report.accumulate_seconds += watch.seconds();
  };
  report.samples = 0;
  return batches([&](const Batch& batch) -> Status {
    ZKAPEX_CHECK(check_losses(trace_batch(model, batch, names, visit)));
    report.samples += batch.size();
    return Done{};
  });
}

}  // namespace

Result<BlockFisherReport> block_fisher(const Model& model, const BatchSource& batches,
                                       const std::vector<std::string>& covered, const BlockFisherOptions& options,
                                       const FisherSink& sink) {
  return catch_torch([&]() -> Result<BlockFisherReport> {
    std::vector<int64_t> sizes;
    for (const std::string& name : covered) {
      const Tensor* weight = model.parameters().find(name);
      if (!weight) return error("the model has no weight '{}'", name);
      sizes.push_back(weight->numel());
    }
    ZKAPEX_TRY(const auto passes, plan_block_fisher(sizes, options));
    BlockFisherReport report;
    for (const std::vector<FisherPass>& pass : passes) {
      std::vector<std::pair<FisherPass, BlockAccumulator>> slices;
      for (const FisherPass& slice : pass) {
        const Tensor& weight = *model.parameters().find(covered[slice.layer]);
        slices.emplace_back(slice, BlockAccumulator(slice.first, slice.count, options.block, weight.numel(),
                                                    weight.size(1), options.pending, model.placement().options()));
      }
      ZKAPEX_CHECK(accumulate(model, batches, covered, slices, report));
      if (report.samples == 0) return error("there are no samples to take gradients of");
      for (auto& [slice, accumulator] : slices) {
        const Tensor values = accumulator.finish(report.samples).cpu();
        report.blocks += slice.count;
        report.flops += accumulator.flops();
        ZKAPEX_CHECK(sink({slice.layer, slice.first, values}));
      }
      ++report.passes;
    }
    return report;
  });
}

}  // namespace zkapex
