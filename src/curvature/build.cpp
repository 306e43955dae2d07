#include "curvature/build.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace zkapex {

namespace {

constexpr uint64_t kBlocksPerPiece = 8;

Result<FactorStatistics> from_gradients(const TensorView& tensor, const Layout::Block& block, FactorMaker& maker,
                                        std::span<int16_t> factor) {
  const uint64_t samples = tensor.shape()[0], weights = tensor.shape()[1];
  std::vector<double> gradients(samples * block.count);
  for (uint64_t s = 0; s < samples; ++s)
    ZKAPEX_CHECK(tensor.read(s * weights + block.first, std::span(gradients).subspan(s * block.count, block.count)));
  return maker.from_gradients(gradients, block.count, factor);
}

Result<FactorStatistics> from_blocks(const TensorView& tensor, const Layout::Block& block, FactorMaker& maker,
                                     std::span<int16_t> factor) {
  const uint64_t width = tensor.shape()[1], first = block.first / width * width * width;
  std::vector<double> fisher(block.count * block.count);
  for (uint64_t i = 0; i < block.count; ++i)
    ZKAPEX_CHECK(tensor.read(first + i * width, std::span(fisher).subspan(i * block.count, block.count)));
  return maker.from_matrix(fisher, block.count, factor);
}

}  // namespace

Result<FisherSource> checkpoint_fisher(const Layout& layout, const Checkpoint& fisher) {
  std::vector<std::optional<TensorView>> views(layout.tensors().size());
  const uint64_t width = layout.geometry().block;
  for (const size_t k : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[k];
    ZKAPEX_TRY(TensorView view, fisher.get(t.name));
    const std::vector<uint64_t>& shape = view.shape();
    const bool gradients = shape.size() == 2 && shape[0] > 0 && shape[1] == t.count;
    const uint64_t blocks = t.full_blocks + (t.rest > 0 ? 1 : 0);
    if (!gradients && shape != std::vector<uint64_t>{blocks, width, width})
      return error("tensor '{}' has shape [{}]; gradients have [samples, {}], Fisher blocks have [{}, {}, {}]", t.name,
                   fmt::join(shape, ", "), t.count, blocks, width, width);
    views[k] = std::move(view);
  }
  return FisherSource(
      [&layout, views = std::move(views)](uint64_t index, FactorMaker& maker, std::span<int16_t> factor) {
        const Layout::Block block = layout.block(index);
        const TensorView& tensor = *views[block.tensor];
        return tensor.shape().size() == 2 ? from_gradients(tensor, block, maker, factor)
                                          : from_blocks(tensor, block, maker, factor);
      });
}

void StoreStatistics::add(const FactorStatistics& block) {
  ++blocks;
  rank_deficient += block.rank_deficient ? 1 : 0;
  raised += block.raised ? 1 : 0;
  zero += block.zero ? 1 : 0;
  largest_condition = std::max(largest_condition, block.condition);
  mean_log10_condition += (std::log10(block.condition) - mean_log10_condition) / static_cast<double>(blocks);
  if (block.requested_damping > 0)
    largest_damping_ratio = std::max(largest_damping_ratio, block.damping / block.requested_damping);
}

Status append_blocks(StoreWriter& writer, const FactorSettings& settings, const FisherSource& source, uint64_t count,
                     ThreadPool& pool, StoreStatistics& statistics,
                     const std::function<void(uint64_t blocks)>& progress) {
  ZKAPEX_CHECK(settings.check());
  const StoreHeader& header = writer.header();
  if (settings.block != header.block || settings.bits != header.bits || settings.floor != header.floor)
    return error("the store has other parameters than the factors to be made");
  const size_t entries = triangle_size(settings.block);
  std::vector<FactorMaker> makers(size_t{4} * pool.size(), FactorMaker(settings));
  const uint64_t batch = makers.size() * kBlocksPerPiece, end = writer.blocks() + count;
  std::vector<int16_t> factors(std::min(batch, count) * entries);
  std::vector<std::optional<Result<FactorStatistics>>> results(batch);
  while (writer.blocks() < end) {
    const uint64_t first = writer.blocks(), piece = std::min(batch, end - first);
    pool.for_each(makers.size(), [&](size_t p) {
      for (uint64_t k = p * kBlocksPerPiece; k < std::min(piece, (p + 1) * kBlocksPerPiece); ++k)
        results[k] = source(first + k, makers[p], std::span(factors).subspan(k * entries, entries));
    });
    for (uint64_t k = 0; k < piece; ++k) {
      if (!results[k]->ok()) return results[k]->error().within(fmt::format("Fisher block {}", first + k));
      statistics.add(**results[k]);
    }
    ZKAPEX_CHECK(writer.append(std::span<const int16_t>(factors).first(piece * entries)));
    progress(piece);
  }
  return Done{};
}

Result<StoreStatistics> build_store(StoreWriter& writer, const FactorSettings& settings, const FisherSource& source,
                                    ThreadPool& pool, const std::function<void(uint64_t blocks)>& progress) {
  StoreStatistics statistics;
  const uint64_t missing = writer.header().blocks - writer.blocks();
  ZKAPEX_CHECK(append_blocks(writer, settings, source, missing, pool, statistics, progress));
  ZKAPEX_CHECK(writer.finish());
  return statistics;
}

}  // namespace zkapex
