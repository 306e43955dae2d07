#include "unlearning/apply.h"

#include <algorithm>
#include <optional>

namespace zkapex {

namespace {

// Buffers of the blocks that are worked on at once: `pieces` runs of blocks, each with its own solver.
struct Piece {
  Piece(const Deployment& deployment, uint64_t pull) : solver(deployment, pull) {}
  GroupObs solver;
  std::vector<int8_t> narrow;
  std::vector<int16_t> wide;
  std::vector<uint32_t> masked;
  std::vector<int64_t> guide;
};

constexpr uint64_t kBlocksPerPiece = 16;

// Positions in the block of its masked weights.
void masked_positions(const Mask& mask, const Layout::Block& block, std::vector<uint32_t>& out) {
  out.clear();
  auto at = std::lower_bound(mask.support.begin(), mask.support.end(), block.first_coordinate);
  for (; at != mask.support.end() && *at < block.first_coordinate + block.count; ++at)
    out.push_back(static_cast<uint32_t>(*at - block.first_coordinate));
}

Result<ObsOutcome> solve_block(Piece& piece, const StoreReader& store, const BlockReader& read, uint64_t index,
                               std::span<int64_t> theta) {
  ZKAPEX_CHECK(read(index, theta));
  if (piece.masked.empty() && piece.guide.empty()) return ObsOutcome{};
  const std::vector<int64_t> before(theta.begin(), theta.end());
  const size_t entries = triangle_size(store.header().block);
  if (store.header().bits <= 8) {
    piece.narrow.resize(entries);
    ZKAPEX_CHECK(store.read(index, 1, std::span(piece.narrow)));
    return piece.solver.solve(std::span<const int8_t>(piece.narrow), {before, piece.masked, piece.guide}, theta);
  }
  piece.wide.resize(entries);
  ZKAPEX_CHECK(store.read(index, 1, std::span(piece.wide)));
  return piece.solver.solve(std::span<const int16_t>(piece.wide), {before, piece.masked, piece.guide}, theta);
}

RuleSums sums_of(const ObsOutcome& outcome) {
  const bool forward = outcome.followed >= 0;
  const Wide followed = Wide::from(static_cast<uint128>(forward ? outcome.followed : -outcome.followed));
  return {.removed = Wide::from(outcome.removed),
          .moved = Wide::from(outcome.moved),
          .forward = forward ? followed : Wide(),
          .backward = forward ? Wide() : followed,
          .guide = Wide::from(outcome.guide)};
}

}  // namespace

StoreHeader store_header_for(const Deployment& deployment) {
  const Parameters& p = deployment.parameters();
  return {.deployment = deployment.digest(),
          .block = static_cast<uint32_t>(deployment.layout().geometry().block),
          .bits = p.curvature_bits,
          .floor = p.floor,
          .blocks = deployment.layout().blocks()};
}

Result<BlockReader> checkpoint_blocks(const Deployment& deployment, const Checkpoint& checkpoint) {
  const Layout& layout = deployment.layout();
  ZKAPEX_CHECK(layout.check_covered(checkpoint.tensors()));
  // By name: a checkpoint that lacks tensors numbers them otherwise than the layout does.
  std::vector<const TensorView*> tensors(layout.tensors().size());
  for (const size_t k : layout.covered()) tensors[k] = checkpoint.find(layout.tensors()[k].name);
  return BlockReader([&layout, tensors = std::move(tensors), format = deployment.parameters().weights](
                         uint64_t index, std::span<int64_t> theta) {
    const Layout::Block block = layout.block(index);
    return format.read(*tensors[block.tensor], block.first, theta);
  });
}

Result<ObsSummary> apply_group_obs(const Deployment& deployment, const Mask& mask, const StoreReader& store,
                                   const BlockReader& read, const BlockSink& sink, ThreadPool& pool) {
  ZKAPEX_CHECK(mask.check_for(deployment));
  if (store.header() != store_header_for(deployment))
    return error("the curvature store was made for another deployment, or with other parameters");
  const Layout& layout = deployment.layout();
  const uint64_t width = layout.geometry().block;
  std::vector<Piece> pieces;
  const uint64_t pull = mask.guidance ? mask.guidance->pull : 0;
  for (unsigned k = 0; k < 4 * pool.size(); ++k) pieces.emplace_back(deployment, pull);
  std::optional<GuideReader> guide;
  if (mask.guidance) guide.emplace(layout, mask.support, mask.guidance->guide);
  const uint64_t batch = pieces.size() * kBlocksPerPiece;
  std::vector<int64_t> weights(batch * width);
  std::vector<std::optional<Result<ObsOutcome>>> outcomes(batch);
  std::vector<uint8_t> has_mask(batch);

  ObsSummary summary;
  const std::vector<RowGroup> groups = row_groups(layout, mask);
  summary.groups.resize(groups.size());
  size_t group = 0;
  for (uint64_t first = 0; first < layout.blocks(); first += batch) {
    const uint64_t count = std::min(batch, layout.blocks() - first);
    pool.for_each(pieces.size(), [&](size_t p) {
      for (uint64_t k = p * kBlocksPerPiece; k < std::min(count, (p + 1) * kBlocksPerPiece); ++k) {
        const Layout::Block block = layout.block(first + k);
        masked_positions(mask, block, pieces[p].masked);
        has_mask[k] = pieces[p].masked.empty() ? 0 : 1;
        if (guide) {
          pieces[p].guide.resize(block.count);
          guide->read(first + k, pieces[p].guide);
        }
        outcomes[k] = solve_block(pieces[p], store, read, first + k, std::span(&weights[k * width], block.count));
      }
    });
    for (uint64_t k = 0; k < count; ++k) {
      const Result<ObsOutcome>& result = *outcomes[k];
      const Layout::Block block = layout.block(first + k);
      if (!result.ok())
        return result.error().within(fmt::format("block {} ('{}' from element {})", first + k,
                                                 layout.tensors()[block.tensor].name, block.first));
      ++summary.blocks;
      summary.masked_blocks += has_mask[k];
      summary.double_precision += result->double_precision ? 1 : 0;
      summary.nearest_plane += result->nearest_plane ? 1 : 0;
      summary.largest_residual = std::max(summary.largest_residual, result->residual);
      const uint64_t row = block.slot / layout.geometry().blocks_per_row();
      while (row >= groups[group].first_row + groups[group].rows) ++group;
      summary.groups[group] += sums_of(*result);
      ZKAPEX_CHECK(sink(first + k, std::span<const int64_t>(&weights[k * width], block.count), *result));
    }
  }
  for (const RuleSums& sums : summary.groups) summary.sums += sums;
  return summary;
}

}  // namespace zkapex
