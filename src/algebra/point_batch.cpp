#include <algorithm>

#include "algebra/point.h"
#include "algebra/ristretto.h"

namespace zkapex {

namespace {

// body(begin, end) over [0, count), in the pool if there is one.
template <class Body>
void for_ranges(ThreadPool* pool, size_t count, size_t grain, const Body& body) {
  if (pool == nullptr) {
    body(size_t{0}, count);
  } else {
    pool->for_ranges(count, grain, body);
  }
}

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
  for_ranges(pool, count, kPiece, [&](size_t begin, size_t end) { run_range<Step>(kernels, begin, end, input, sink); });
}

void to_affine(std::span<const Point> points, AffinePoint* out) {
  // prefix[k] = Z_0 … Z_(k−1); Z is never zero.
  std::vector<Fe> prefix;
  prefix.reserve(points.size());
  Fe product = Fe::one();
  for (const Point& p : points) {
    prefix.push_back(product);
    product = product * p.extended().Z;
  }
  Fe inverse = product.invert();
  for (size_t k = points.size(); k-- > 0;) {
    const ExtendedPoint& p = points[k].extended();
    const Fe z_inverse = inverse * prefix[k];
    inverse = inverse * p.Z;
    out[k] = {p.X * z_inverse, p.Y * z_inverse};
  }
}

}  // namespace

std::vector<AffinePoint> batch_to_affine(std::span<const Point> points, ThreadPool* pool) {
  std::vector<AffinePoint> out(points.size());
  for_ranges(pool, points.size(), 1024,
             [&](size_t begin, size_t end) { to_affine(points.subspan(begin, end - begin), out.data() + begin); });
  return out;
}

std::vector<std::array<uint8_t, 32>> encode_batch(std::span<const Point> points, ThreadPool* pool,
                                                  const GroupKernels& kernels) {
  std::vector<std::array<uint8_t, 32>> out(points.size());
  run_batch<ristretto::Encoding>(
      kernels, pool, points.size(), [&](size_t k) { return points[k].extended(); },
      [&](size_t k, const std::array<uint8_t, 32>& bytes) { out[k] = bytes; });
  return out;
}

Result<std::vector<AffinePoint>> decode_batch(std::span<const std::array<uint8_t, 32>> encodings, ThreadPool* pool,
                                              const GroupKernels& kernels) {
  std::vector<AffinePoint> out(encodings.size());
  std::vector<uint8_t> valid(encodings.size(), 0);
  for_ranges(pool, encodings.size(), kPiece, [&](size_t begin, size_t end) {
    if (begin == end) return;
    if (kernels.decode != nullptr) {
      kernels.decode(encodings[begin].data(), end - begin, out[begin].x.v, &valid[begin]);
      return;
    }
    run_range<ristretto::Decoding>(
        kernels, begin, end, [&](size_t k) { return std::span<const uint8_t, 32>(encodings[k]); },
        [&](size_t k, const std::optional<ExtendedPoint>& p) {
          valid[k] = p.has_value();
          if (p) out[k] = {p->X, p->Y};  // Z is one
        });
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
  for_ranges(pool, out.size(), kPiece, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) out[k] = Point(halves[2 * k]) + Point(halves[2 * k + 1]);
  });
  return out;
}

}  // namespace zkapex
