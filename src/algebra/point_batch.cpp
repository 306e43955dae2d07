#include <algorithm>

#include "algebra/point.h"
#include "algebra/ristretto.h"

namespace zkapex {

namespace {

constexpr size_t kPiece = 64;  // steps in flight: their states stay in the nearest cache

// Step(input(k)).finish(…) for every k in [begin, end), with the exponentiations of kPiece steps side by side.
template <class Step, class Input, class Sink>
void run_range(const GroupKernels& kernels, size_t begin, size_t end, const Input& input, const Sink& sink) {
  std::vector<Step> steps;
  std::vector<Fe> powers;
  steps.reserve(kPiece);
  powers.reserve(kPiece);
  for (size_t first = begin; first < end; first += kPiece) {
    const size_t last = std::min(end, first + kPiece);
    steps.clear();
    powers.clear();
    for (size_t k = first; k < last; ++k) powers.push_back(steps.emplace_back(input(k)).radicand());
    kernels.power_p58(powers.data()->v, powers.size());
    for (size_t k = first; k < last; ++k) sink(k, steps[k - first].finish(powers[k - first]));
  }
}

template <class Step, class Input, class Sink>
void run_batch(const GroupKernels& kernels, ThreadPool* pool, size_t count, const Input& input, const Sink& sink) {
  const auto range = [&](size_t begin, size_t end) { run_range<Step>(kernels, begin, end, input, sink); };
  if (pool == nullptr) {
    range(0, count);
  } else {
    pool->for_ranges(count, kPiece, range);
  }
}

}  // namespace

std::vector<std::array<uint8_t, 32>> encode_batch(std::span<const Point> points, ThreadPool* pool,
                                                  const GroupKernels& kernels) {
  std::vector<std::array<uint8_t, 32>> out(points.size());
  run_batch<ristretto::Encoding>(
      kernels, pool, points.size(), [&](size_t k) { return points[k].extended(); },
      [&](size_t k, const std::array<uint8_t, 32>& bytes) { out[k] = bytes; });
  return out;
}

Result<std::vector<Point>> decode_batch(std::span<const std::array<uint8_t, 32>> encodings, ThreadPool* pool,
                                        const GroupKernels& kernels) {
  std::vector<Point> out(encodings.size());
  std::vector<uint8_t> valid(encodings.size(), 0);
  run_batch<ristretto::Decoding>(
      kernels, pool, encodings.size(), [&](size_t k) { return std::span<const uint8_t, 32>(encodings[k]); },
      [&](size_t k, const std::optional<ExtendedPoint>& p) {
        valid[k] = p.has_value();
        if (p) out[k] = Point(*p);
      });
  const auto bad = std::find(valid.begin(), valid.end(), 0);
  if (bad == valid.end()) return out;
  const auto index = static_cast<size_t>(bad - valid.begin());
  return error("element {} is not a canonical ristretto255 encoding: {}", index, to_hex(encodings[index]));
}

std::vector<Point> from_uniform_bytes_batch(std::span<const std::array<uint8_t, 64>> inputs, ThreadPool* pool,
                                            const GroupKernels& kernels) {
  std::vector<ExtendedPoint> halves(2 * inputs.size());
  run_batch<ristretto::Map>(
      kernels, pool, halves.size(),
      [&](size_t k) { return std::span<const uint8_t, 32>(&inputs[k / 2][32 * (k % 2)], 32); },
      [&](size_t k, const ExtendedPoint& p) { halves[k] = p; });
  std::vector<Point> out(inputs.size());
  for (size_t k = 0; k < out.size(); ++k) out[k] = Point(halves[2 * k]) + Point(halves[2 * k + 1]);
  return out;
}

}  // namespace zkapex
