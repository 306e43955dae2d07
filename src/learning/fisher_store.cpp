#include "learning/fisher_store.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "curvature/store.h"
#include "learning/mask_tensors.h"
#include "unlearning/apply.h"

namespace zkapex {

namespace {

constexpr int64_t kBlocksAtOnce = 256;  // factored and appended together

// Factors blocks in parallel.
class SliceFactorer {
 public:
  SliceFactorer(const FactorSettings& settings, ThreadPool& pool) : settings_(settings), pool_(pool) {}

  // `values` [blocks, B, B]; `sizes(k)`: real coordinates of block k.
  Status run(const Tensor& values, const std::function<size_t(int64_t)>& sizes, std::vector<int16_t>& factors,
             std::vector<FactorStatistics>& statistics) {
    const auto block = static_cast<size_t>(values.size(1)), count = static_cast<size_t>(values.size(0));
    const Tensor floats = values.to(at::kFloat).contiguous();
    const float* entries = floats.data_ptr<float>();
    factors.resize(count * triangle_size(block));
    statistics.resize(count);
    std::mutex mutex;
    std::optional<Error> failure;
    pool_.for_ranges(count, 1, [&](size_t begin, size_t end) {
      FactorMaker maker(settings_);
      std::vector<double> matrix;
      for (size_t k = begin; k < end; ++k) {
        const size_t size = sizes(static_cast<int64_t>(k));
        matrix.resize(size * size);
        for (size_t row = 0; row < size; ++row)
          std::copy_n(entries + (k * block + row) * block, size, &matrix[row * size]);
        auto made = maker.from_matrix(matrix, size, {&factors[k * triangle_size(block)], triangle_size(block)});
        if (made.ok()) {
          statistics[k] = *made;
        } else {
          const std::lock_guard lock(mutex);
          failure = made.error();
        }
      }
    });
    if (failure) return *failure;
    return Done{};
  }

 private:
  FactorSettings settings_;
  ThreadPool& pool_;
};

}  // namespace

Result<FisherStoreReport> write_fisher_store(Model& model, const BatchSource& batches, const Deployment& deployment,
                                             const FisherStoreOptions& options, const std::filesystem::path& path,
                                             ThreadPool& pool, const std::function<void(uint64_t)>& advance) {
  const Layout& layout = deployment.layout();
  const StoreHeader header = store_header_for(deployment);
  const FactorSettings settings{
      .block = header.block, .bits = header.bits, .floor = header.floor, .damping = options.damping};
  ZKAPEX_CHECK(settings.check());
  ZKAPEX_TRY(const std::vector<std::string> covered, covered_by(model, layout));
  ZKAPEX_TRY(StoreWriter writer, StoreWriter::open(path, header, options.run, options.overwrite));
  FisherStoreReport report;
  report.resumed_at = writer.blocks();
  if (advance) advance(writer.blocks());

  SliceFactorer factorer(settings, pool);
  std::vector<int16_t> factors;
  std::vector<FactorStatistics> statistics;
  uint64_t samples = 0;  // of the latest pass
  const BatchSource counted = [&](const BatchVisitor& visit) {
    samples = 0;
    return batches([&](const Batch& batch) {
      samples += static_cast<uint64_t>(batch.size());
      return visit(batch);
    });
  };
  const BlockFisherOptions how{.block = static_cast<int64_t>(header.block),
                               .memory = options.memory,
                               .pending = options.pending,
                               .skip = static_cast<int64_t>(writer.blocks())};
  const FisherSink sink = [&](const FisherSlice& slice) -> Status {
    const LayoutTensor& tensor = layout.tensors()[layout.covered()[slice.layer]];
    const uint64_t first = tensor.first_block + static_cast<uint64_t>(slice.first);
    if (first != writer.blocks()) return error("Fisher block {} came where {} was expected", first, writer.blocks());
    for (int64_t begin = 0; begin < slice.values.size(0); begin += kBlocksAtOnce) {
      const int64_t count = std::min(kBlocksAtOnce, slice.values.size(0) - begin);
      const auto size_of = [&](int64_t k) { return layout.block(first + static_cast<uint64_t>(begin + k)).count; };
      ZKAPEX_CHECK(factorer.run(slice.values.narrow(0, begin, count), size_of, factors, statistics));
      ZKAPEX_CHECK(writer.append(factors));
      for (size_t k = 0; k < statistics.size(); ++k) {
        statistics[k].rank_deficient = samples < size_of(static_cast<int64_t>(k));
        report.factors.add(statistics[k]);
      }
    }
    // All of the slice at once: its first blocks alone seem to have taken the whole pass over the samples.
    if (advance) advance(static_cast<uint64_t>(slice.values.size(0)));
    return Done{};
  };
  if (writer.blocks() < header.blocks) {
    ZKAPEX_TRY(report.fisher, block_fisher(model, counted, covered, how, sink));
  }
  ZKAPEX_CHECK(writer.finish());
  return report;
}

}  // namespace zkapex
