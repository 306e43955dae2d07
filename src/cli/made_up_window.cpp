#include "cli/made_up_window.h"

#include <cmath>
#include <random>

#include "base/first_error.h"
#include "unlearning/apply.h"

namespace zkapex::cli {

namespace {

// A well mixed function of a seed and an index: made-up data without storing it.
uint64_t mix(uint64_t seed, uint64_t x) {
  x += seed * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

CoordinateReader made_up_weights(const Deployment& deployment, uint64_t seed) {
  return [&deployment, seed](uint64_t first, std::span<int64_t> out) {
    const double unit = std::ldexp(1.0, static_cast<int>(deployment.parameters().weights.fraction_bits));
    for (size_t k = 0; k < out.size(); ++k) {
      const uint64_t bits = mix(seed, first + k);
      double sum = -2;  // four uniform numbers: near enough to normal
      for (unsigned part = 0; part < 4; ++part) sum += static_cast<double>(bits >> (16 * part) & 0xffff) / 65536;
      out[k] = std::llround(0.02 * std::sqrt(3.0) * sum * unit);
    }
    return Status(Done{});
  };
}

BaseRows made_up_base(const Deployment& deployment, uint64_t seed) {
  const CoordinateReader near = made_up_weights(deployment, seed);
  return {[&deployment, near](uint64_t first_row, std::span<int64_t> out) -> Status {
            ZKAPEX_CHECK(read_rows(deployment.layout(), first_row, out, near));
            for (int64_t& v : out) v += v / 32;
            return Done{};
          },
          {}};
}

Result<Deployment> made_up_anchor(const Deployment& deployment, const BaseRows& base, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  Anchor anchor{.limits = {}, .base = {}, .tensors = {}, .squares = {}};
  FirstError failed;
  for (const LayoutTensor& tensor : layout.tensors()) {
    std::vector<Wide> of_row(tensor.rows);
    pool.for_each(tensor.rows, [&](size_t t) {
      std::vector<int64_t> row(layout.geometry().row);
      failed.note(base.covered(tensor.first_row + t, row));
      uint128 sum = 0;  // of weights below 2^38, and a row has at most 2^22
      for (const int64_t v : row) sum += static_cast<uint128>(static_cast<int128>(v) * v);
      of_row[t] = Wide::from(sum);
    });
    anchor.tensors.push_back(Anchored::kNear);
    Wide& square = anchor.squares.emplace_back();
    for (const Wide& row : of_row) square += row;
  }
  ZKAPEX_CHECK(failed.status());
  return Deployment::make(layout, deployment.parameters(), std::move(anchor));
}

Result<std::vector<int16_t>> made_up_factors(const FactorSettings& settings, size_t count, uint64_t seed) {
  constexpr size_t kSamples = 64;
  const size_t entries = triangle_size(settings.block);
  std::vector<int16_t> out(count * entries);
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  FactorMaker maker(settings);
  for (size_t k = 0; k < count; ++k) {
    std::vector<double> gradients(kSamples * settings.block);
    for (double& g : gradients) g = normal(rng);
    ZKAPEX_TRY(const FactorStatistics statistics,
               maker.from_gradients(gradients, settings.block, std::span(out).subspan(k * entries, entries)));
    (void)statistics;
  }
  return out;
}

Status make_up_store(const Path& path, const Deployment& deployment, uint64_t seed, ThreadPool& pool,
                     ProgressStyle style) {
  constexpr size_t kPatterns = 32;
  const uint64_t block = deployment.layout().geometry().block, entries = triangle_size(block);
  const Parameters& p = deployment.parameters();
  const FactorSettings settings{.block = block, .bits = p.curvature_bits, .floor = p.floor, .damping = {}};
  ZKAPEX_TRY(const std::vector<int16_t> patterns, made_up_factors(settings, kPatterns, seed));
  ZKAPEX_TRY(StoreWriter writer, StoreWriter::open(path, store_header_for(deployment), "", true));
  Progress progress(style, "making curvature", "blocks", deployment.layout().blocks());
  constexpr uint64_t kAtOnce = 512;
  std::vector<int16_t> factors(kAtOnce * entries);
  for (uint64_t first = writer.blocks(); first < deployment.layout().blocks(); first += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, deployment.layout().blocks() - first);
    pool.for_each(count, [&](size_t b) {
      const int16_t* pattern = patterns.data() + mix(seed, first + b) % kPatterns * entries;
      int16_t* out = factors.data() + b * entries;
      for (size_t j = 0; j < block; ++j) {
        const bool flip = (mix(seed, (first + b) * block + j) & 1) != 0;
        for (size_t l = 0; l <= j; ++l)
          out[triangle_size(j) + l] =
              static_cast<int16_t>(flip ? -pattern[triangle_size(j) + l] : pattern[triangle_size(j) + l]);
      }
    });
    ZKAPEX_CHECK(writer.append(std::span<const int16_t>(factors).first(count * entries)));
    progress.advance(count);
  }
  return writer.finish();
}

Result<Mask> made_up_mask(const Deployment& deployment, double ratio, uint64_t seed, bool guided) {
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = "bench";
  const auto limit = static_cast<uint64_t>(ratio * 0x1p53);
  for (uint64_t c = 0; c < deployment.layout().coordinates(); ++c) {
    if (mix(seed, c ^ 0x5555555555555555ULL) >> 11 < limit) mask.support.push_back(c);
  }
  if (!guided) return mask;
  mask.op = Operator::kGuided;
  GuideMaker maker(deployment, mask.support);
  std::vector<double> displacement;
  for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
    const Layout::Block block = deployment.layout().block(b);
    displacement.clear();
    for (uint64_t c = block.first_coordinate; c < block.first_coordinate + block.count; ++c) {
      const auto which = static_cast<int>(mix(seed, c ^ 0xaaaaaaaaaaaaaaaaULL) % 3) - 1;
      displacement.push_back(0.002 * which);
    }
    ZKAPEX_CHECK(maker.add_block(displacement));
  }
  mask.guidance = {.pull = 16'129,
                   .progress = 0,
                   .distance = Guidance::kMaxDistance,
                   .distance_removed = Guidance::kMaxDistance,
                   .guide = maker.finish()};
  return mask;
}

}  // namespace zkapex::cli
