#include "algebra/msm.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/secret.h"

namespace zkapex {

namespace {

// A signed integer of 256 bits, two's complement, least significant limb first.
using Wide = std::array<uint64_t, 4>;

constexpr unsigned kScalarBits = 254;    // below ℓ < 2^253, and a sign
constexpr unsigned kMaxWindowBits = 13;  // 14 would take as long, and twice the memory for buckets

// Sums over the same points, one a row of scalars, are cut twice: scalars into windows of bits, points into parts of
// equal length. A stream is one window of one row over one part; it owns a set of buckets, and kBucketStreams of them
// make a task. Those of a part follow one another: kernels are faster where all streams of a task read the same points.
struct Plan {
  unsigned window_bits = 1;
  size_t windows = 1, parts = 1, rows = 1;
  size_t part_size = 0;

  [[nodiscard]] size_t streams() const { return windows * parts * rows; }
  [[nodiscard]] size_t padded() const { return parts * part_size; }  // less than points + parts
  [[nodiscard]] size_t tasks() const { return (streams() + kBucketStreams - 1) / kBucketStreams; }
  [[nodiscard]] size_t buckets() const { return (size_t{1} << (window_bits - 1)) + 1; }  // digits 0 to 2^(w − 1)
};

// Measured: the sum over one bucket takes about twice the time of an addition to it.
double cost(const Plan& plan, size_t threads) {
  const size_t rounds = (plan.tasks() + threads - 1) / threads;
  return static_cast<double>(rounds) *
         (static_cast<double>(plan.part_size) + 2.0 * static_cast<double>(plan.buckets()));
}

Plan make_plan(size_t points, unsigned bits, size_t rows, size_t threads) {
  Plan best;
  double best_cost = std::numeric_limits<double>::infinity();
  const size_t most_parts = std::min({4 * threads, points, PreparedPoints::kPadding});
  for (unsigned w = 1; w <= std::min(kMaxWindowBits, bits); ++w) {
    for (size_t parts = 1; parts <= most_parts; ++parts) {
      const Plan plan{w, (bits + w - 1) / w, parts, rows, (points + parts - 1) / parts};
      if (const double c = cost(plan, threads); c < best_cost) {
        best = plan;
        best_cost = c;
      }
    }
  }
  return best;
}

// value = Σ_k digit_k 2^(w k) with −2^(w−1) ≤ digit_k ≤ 2^(w−1); digit k goes to out[k · stride].
void signed_windows(const Wide& value, const Plan& plan, int16_t* out, size_t stride) {
  const unsigned w = plan.window_bits;
  const int half = 1 << (w - 1), full = 1 << w;
  const uint64_t sign = uint64_t{0} - (value.back() >> 63);
  int carry = 0;
  for (size_t k = 0; k < plan.windows; ++k) {
    const size_t offset = k * w, limb = offset / 64, shift = offset % 64;
    uint64_t bits = value[limb] >> shift;
    if (shift + w > 64) bits |= (limb + 1 < value.size() ? value[limb + 1] : sign) << (64 - shift);
    const int raw = static_cast<int>(bits & static_cast<uint64_t>(full - 1));
    // The last window keeps its sign; the others round to the nearest multiple and carry.
    const bool last = k + 1 == plan.windows;
    const int digit = raw + carry;
    carry = !last && digit >= half ? 1 : 0;
    const bool negative = last ? raw >= half : carry != 0;
    out[k * stride] = static_cast<int16_t>(negative ? digit - full : digit);
  }
}

// The same of 64-bit integers, `size` of them at most kTogether.
constexpr size_t kTogether = 1024;
void signed_windows(const int64_t* values, size_t size, const Plan& plan, int16_t* out, size_t stride) {
  const unsigned w = plan.window_bits;
  const uint64_t half = uint64_t{1} << (w - 1), mask = 2 * half - 1;
  int64_t rest[kTogether];
  std::copy_n(values, size, rest);
  for (size_t k = 0; k + 1 < plan.windows; ++k, out += stride) {
    for (size_t i = 0; i < size; ++i) {
      const auto bits = static_cast<uint64_t>(rest[i]);
      out[i] = static_cast<int16_t>(((bits + half) & mask) - half);
      rest[i] = (rest[i] >> w) + static_cast<int64_t>((bits & mask) >> (w - 1));
    }
  }
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<int16_t>(rest[i]);
  wipe(std::span(rest, size));  // as the digits are
}

using Digits = std::vector<int16_t, WipingAllocator<int16_t>>;

// Of every row Σ_k (scalar k)·(point k); digits: [row][window][point, and zeros up to padded()].
std::vector<Point> sum_by_buckets(const Digits& digits, const PreparedPoints& points, const Plan& plan,
                                  ThreadPool& pool) {
  const GroupKernels& kernels = points.kernels();
  const size_t of_part = plan.rows * plan.windows;
  std::vector<ExtendedPoint> sums(kBucketStreams * plan.tasks());
  pool.for_each(plan.tasks(), [&](size_t task) {
    std::vector<Bucket> memory(kBucketStreams * plan.buckets());
    const TableEntry* entries[kBucketStreams];
    const int16_t* stream_digits[kBucketStreams];
    Bucket* buckets[kBucketStreams];
    for (size_t s = 0; s < kBucketStreams; ++s) {
      // Lanes without a stream of their own repeat the last one; nobody reads their sums.
      const size_t stream = std::min(kBucketStreams * task + s, plan.streams() - 1);
      const size_t first = stream / of_part * plan.part_size;
      entries[s] = points.entries() + first;
      stream_digits[s] = &digits[stream % of_part * plan.padded() + first];
      buckets[s] = &memory[s * plan.buckets()];
    }
    kernels.clear_buckets(memory.data(), memory.size());
    kernels.fill_buckets(entries, stream_digits, plan.part_size, buckets);
    kernels.sum_buckets(buckets, plan.buckets(), sums[kBucketStreams * task].X.v);
  });

  std::vector<Point> out(plan.rows);
  for (size_t row = 0; row < plan.rows; ++row) {
    for (size_t window = plan.windows; window-- > 0;) {
      for (unsigned k = 0; k < plan.window_bits; ++k) out[row] = out[row].twice();
      for (size_t part = 0; part < plan.parts; ++part)
        out[row] += Point(sums[part * of_part + row * plan.windows + window]);
    }
  }
  return out;
}

Point sum_scalars(std::span<const Scalar> scalars, const PreparedPoints& points, ThreadPool& pool) {
  if (scalars.empty()) return {};
  const Plan plan = make_plan(scalars.size(), kScalarBits, 1, pool.size());
  Digits digits(plan.windows * plan.padded(), 0);
  pool.for_ranges(scalars.size(), kTogether, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) signed_windows(scalars[k].canonical_limbs(), plan, &digits[k], plan.padded());
  });
  return sum_by_buckets(digits, points, plan, pool)[0];
}

// Rows of as many integers as there are points.
std::vector<Point> sum_integers(std::span<const int64_t> values, const PreparedPoints& points, ThreadPool& pool) {
  const size_t n = points.size(), rows = n == 0 ? 1 : values.size() / n;
  if (n == 0) return std::vector<Point>(rows);
  uint64_t used = 0;  // v or −v − 1, whichever is not negative, has the bits of v without its sign
  for (const int64_t v : values) used |= static_cast<uint64_t>(v ^ (v >> 63));
  const Plan plan = make_plan(n, static_cast<unsigned>(std::bit_width(used)) + 1, rows, pool.size());
  Digits digits(rows * plan.windows * plan.padded(), 0);
  const size_t pieces = (n + kTogether - 1) / kTogether;
  pool.for_ranges(rows * pieces, 1, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      const size_t row = k / pieces, first = k % pieces * kTogether;
      signed_windows(&values[row * n + first], std::min(kTogether, n - first), plan,
                     &digits[row * plan.windows * plan.padded() + first], plan.padded());
    }
  });
  return sum_by_buckets(digits, points, plan, pool);
}

Status check_lengths(size_t scalars, size_t points) {
  if (scalars != points)
    return error("a sum of {} scalars over {} points: there must be one for each", scalars, points);
  return Done{};
}

}  // namespace

PreparedPoints::PreparedPoints(std::span<const AffinePoint> points, ThreadPool& pool, const GroupKernels& kernels)
    : PreparedPoints(std::span(&points, 1), pool, kernels) {}

PreparedPoints::PreparedPoints(std::span<const std::span<const AffinePoint>> lists, ThreadPool& pool,
                               const GroupKernels& kernels)
    : kernels_(&kernels), size_(0) {
  for (const auto& points : lists) size_ += points.size();
  entries_.reserve(size_ + kPadding);
  entries_.resize(size_);
  TableEntry* next = entries_.data();
  for (const auto& points : lists) {
    pool.for_ranges(points.size(), 1024, [&](size_t begin, size_t end) {
      kernels.make_entries(points[begin].x.v, end - begin, next + begin);
    });
    next += points.size();
  }
  entries_.resize(size_ + kPadding, TableEntry{});
}

Result<Point> msm_var(std::span<const Scalar> scalars, const PreparedPoints& points, ThreadPool& pool) {
  ZKAPEX_CHECK(check_lengths(scalars.size(), points.size()));
  return sum_scalars(scalars, points, pool);
}

Result<Point> msm_var(std::span<const Scalar> scalars, std::span<const AffinePoint> points, ThreadPool& pool,
                      const GroupKernels& kernels) {
  ZKAPEX_CHECK(check_lengths(scalars.size(), points.size()));
  return msm_var(scalars, PreparedPoints(points, pool, kernels), pool);
}

Result<Point> msm_var(std::span<const Scalar> scalars, std::span<const Point> points, ThreadPool& pool,
                      const GroupKernels& kernels) {
  ZKAPEX_CHECK(check_lengths(scalars.size(), points.size()));
  return msm_var(scalars, batch_to_affine(points, &pool), pool, kernels);
}

Result<Point> msm_small_var(std::span<const int64_t> values, const PreparedPoints& points, ThreadPool& pool) {
  ZKAPEX_CHECK(check_lengths(values.size(), points.size()));
  return sum_integers(values, points, pool)[0];
}

Result<std::vector<Point>> msm_rows_var(std::span<const int64_t> values, const PreparedPoints& points,
                                        ThreadPool& pool) {
  constexpr size_t kRowsAtOnce = 32;  // whose digits are in memory
  const size_t n = points.size();
  if (n == 0 || values.size() % n != 0) return error("{} integers do not fill rows of {}", values.size(), n);
  const size_t rows = values.size() / n, batches = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  std::vector<Point> out;
  for (size_t batch = 0; batch < batches; ++batch) {
    const size_t first = rows * batch / batches, count = rows * (batch + 1) / batches - first;
    const std::vector<Point> sums = sum_integers(values.subspan(first * n, count * n), points, pool);
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

Result<Point> msm_small_var(std::span<const int64_t> values, std::span<const AffinePoint> points, ThreadPool& pool,
                            const GroupKernels& kernels) {
  ZKAPEX_CHECK(check_lengths(values.size(), points.size()));
  return msm_small_var(values, PreparedPoints(points, pool, kernels), pool);
}

}  // namespace zkapex
