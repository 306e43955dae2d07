#include "algebra/msm.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/secret.h"

namespace zkapex {

namespace {

constexpr unsigned kScalarBits = 254;          // below ℓ < 2^253, and a sign
constexpr unsigned kMaxWindowBits = 13;        // 14 would take as long, and twice the memory for buckets
constexpr unsigned kMaxScalarWindowBits = 11;  // 10 to 13 take as long; all buckets are in memory at once

// Sums over the same points, one a row of scalars, are cut twice: scalars into windows of bits, points into parts of
// equal length. A stream is one window of one row over one part; it owns a set of buckets, and kBucketStreams of them
// make a task. Those of a part follow one another: kernels are faster where all streams of a task read the same points.
struct Plan {
  unsigned window_bits = 1;
  size_t windows = 1, parts = 1, rows = 1;
  size_t part_size = 0;

  [[nodiscard]] size_t streams() const { return windows * parts * rows; }
  [[nodiscard]] size_t of_part() const { return rows * windows; }    // streams
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

Plan make_plan(size_t points, unsigned bits, size_t rows, size_t threads, unsigned most_window_bits = kMaxWindowBits) {
  Plan best;
  double best_cost = std::numeric_limits<double>::infinity();
  const size_t most_parts = std::min({4 * threads, points, PreparedPoints::kPadding});
  for (unsigned w = 1; w <= std::min(most_window_bits, bits); ++w) {
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

// value = Σ_k digit_k 2^(w k) with −2^(w−1) ≤ digit_k ≤ 2^(w−1); digit k of value i goes to out[k · stride + i].
// Scalars: to each window but the last its half is added first, which makes carries of them all, and then is taken
// away from the digits. What the last one has is at most its half: 2^(w · windows) is above 2^253.
void signed_windows(std::span<const Scalar> scalars, const Scalar& weight, const Plan& plan, int16_t* out,
                    size_t stride) {
  constexpr size_t kAtOnce = 64;
  const unsigned w = plan.window_bits;
  Words4 halves{};
  for (size_t k = 0; k + 1 < plan.windows; ++k) halves[(k * w + w - 1) / 64] |= uint64_t{1} << ((k * w + w - 1) % 64);
  uint64_t limbs[5][kAtOnce] = {};
  const bool weighted = weight != Scalar::one();
  for (size_t first = 0; first < scalars.size(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, scalars.size() - first);
    for (size_t i = 0; i < count; ++i) {
      const Scalar& scalar = scalars[first + i];
      Words4 value = weighted ? (weight * scalar).canonical_limbs() : scalar.canonical_limbs();
      NativeWords::add4(value, halves);
      for (size_t l = 0; l < value.size(); ++l) limbs[l][i] = value[l];
    }
    for (size_t k = 0; k < plan.windows; ++k) {
      const bool last = k + 1 == plan.windows;
      const uint64_t half = uint64_t{1} << (w - 1), mask = last ? ~uint64_t{0} : 2 * half - 1;
      const size_t limb = k * w / 64, shift = k * w % 64;
      for (size_t i = 0; i < count; ++i) {
        const uint64_t bits = limbs[limb][i] >> shift | limbs[limb + 1][i] << 1 << (63 - shift);
        out[k * stride + first + i] = static_cast<int16_t>((bits & mask) - (last ? 0 : half));
      }
    }
  }
  wipe(std::span(&limbs[0][0], sizeof limbs / sizeof limbs[0][0]));  // as the digits are
}

// Of 64-bit integers, `size` of them at most kTogether.
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

// The streams of one task. Lanes without a stream of their own repeat the last one; nobody reads their sums.
struct Lanes {
  const TableEntry* entries[kBucketStreams];
  const int16_t* digits[kBucketStreams];
  Bucket* buckets[kBucketStreams];

  // digits: [row][window][point], `stride` of them. Parts of points have `part_size`, and memory is of this task alone.
  Lanes(const Plan& plan, size_t task, const TableEntry* all_entries, const int16_t* all_digits, size_t stride,
        size_t part_size, Bucket* memory) {
    for (size_t s = 0; s < kBucketStreams; ++s) {
      const size_t stream = std::min(kBucketStreams * task + s, plan.streams() - 1);
      const size_t first = stream / plan.of_part() * part_size;
      entries[s] = all_entries + first;
      digits[s] = all_digits + stream % plan.of_part() * stride + first;
      buckets[s] = memory + s * plan.buckets();
    }
  }
};

// What each row is, from the sums of its streams.
std::vector<Point> join_streams(std::span<const ExtendedPoint> sums, const Plan& plan) {
  std::vector<Point> out(plan.rows);
  for (size_t row = 0; row < plan.rows; ++row) {
    for (size_t window = plan.windows; window-- > 0;) {
      for (unsigned k = 0; k < plan.window_bits; ++k) out[row] = out[row].twice();
      for (size_t part = 0; part < plan.parts; ++part)
        out[row] += Point(sums[part * plan.of_part() + row * plan.windows + window]);
    }
  }
  return out;
}

// Of every row Σ_k (scalar k)·(point k); digits: [row][window][point, and zeros up to padded()].
std::vector<Point> sum_by_buckets(const Digits& digits, const PreparedPoints& points, const Plan& plan,
                                  ThreadPool& pool) {
  const GroupKernels& kernels = points.kernels();
  std::vector<ExtendedPoint> sums(kBucketStreams * plan.tasks());
  pool.for_each(plan.tasks(), [&](size_t task) {
    std::vector<Bucket> memory(kBucketStreams * plan.buckets());
    const Lanes lanes(plan, task, points.entries(), digits.data(), plan.padded(), plan.part_size, memory.data());
    kernels.clear_buckets(memory.data(), memory.size());
    kernels.fill_buckets(lanes.entries, lanes.digits, plan.part_size, lanes.buckets);
    kernels.sum_buckets(lanes.buckets, plan.buckets(), sums[kBucketStreams * task].X.v);
  });
  return join_streams(sums, plan);
}

constexpr size_t kPiece = 8192;  // points

// One sum over scalars and points that come piece by piece. Buckets stay for all of it, entries and digits for a piece:
// new memory for all points would take the system longer than the additions.
class PieceSummer {
 public:
  PieceSummer(size_t points, ThreadPool& pool, const GroupKernels& kernels)
      : kernels_(kernels),
        pool_(pool),
        plan_(make_plan(points, kScalarBits, 1, pool.size(), kMaxScalarWindowBits)),
        room_(std::min(points, kPiece)),
        entries_(room_ + PreparedPoints::kPadding, TableEntry{}),
        digits_(plan_.windows * entries_.size()),
        buckets_(kBucketStreams * plan_.tasks() * plan_.buckets()) {
    pool.for_each(plan_.tasks(),
                  [&](size_t task) { kernels_.clear_buckets(buckets_of(task), kBucketStreams * plan_.buckets()); });
  }

  void add(const WeightedPoints& term) {
    for (size_t done = 0; done < term.points.size();) {
      const size_t count = std::min(term.points.size() - done, room_ - filled_);
      pool_.for_ranges(count, kTogether, [&](size_t begin, size_t end) {
        const size_t to = filled_ + begin;
        kernels_.make_entries(term.points[done + begin].x.v, end - begin, &entries_[to]);
        signed_windows(term.scalars.subspan(done + begin, end - begin), term.weight, plan_, &digits_[to],
                       entries_.size());
      });
      filled_ += count;
      done += count;
      if (filled_ == room_) flush();
    }
  }

  Point finish() {
    flush();
    std::vector<ExtendedPoint> sums(kBucketStreams * plan_.tasks());
    pool_.for_each(plan_.tasks(), [&](size_t task) {
      const Lanes lanes(plan_, task, entries_.data(), digits_.data(), 0, 0, buckets_of(task));
      kernels_.sum_buckets(lanes.buckets, plan_.buckets(), sums[kBucketStreams * task].X.v);
    });
    return join_streams(sums, plan_)[0];
  }

 private:
  Bucket* buckets_of(size_t task) { return &buckets_[task * kBucketStreams * plan_.buckets()]; }

  void flush() {
    const size_t part_size = (filled_ + plan_.parts - 1) / plan_.parts, padded = part_size * plan_.parts;
    for (size_t window = 0; window < plan_.windows; ++window)
      std::fill_n(&digits_[window * entries_.size() + filled_], padded - filled_, int16_t{0});
    pool_.for_each(plan_.tasks(), [&](size_t task) {
      const Lanes lanes(plan_, task, entries_.data(), digits_.data(), entries_.size(), part_size, buckets_of(task));
      kernels_.fill_buckets(lanes.entries, lanes.digits, part_size, lanes.buckets);
    });
    filled_ = 0;
  }

  const GroupKernels& kernels_;
  ThreadPool& pool_;
  Plan plan_;
  size_t room_, filled_ = 0;  // of a piece, in points
  std::vector<TableEntry> entries_;
  Digits digits_;  // [window][entry]
  UnsetVector<Bucket> buckets_;
};

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
    : kernels_(&kernels), size_(points.size()) {
  entries_.reserve(size_ + kPadding);
  entries_.resize(size_);
  pool.for_ranges(size_, 1024, [&](size_t begin, size_t end) {
    kernels.make_entries(points[begin].x.v, end - begin, &entries_[begin]);
  });
  entries_.resize(size_ + kPadding, TableEntry{});
}

Result<Point> msm_var(std::span<const WeightedPoints> terms, ThreadPool& pool, const GroupKernels& kernels) {
  size_t points = 0;
  for (const WeightedPoints& term : terms) {
    ZKAPEX_CHECK(check_lengths(term.scalars.size(), term.points.size()));
    points += term.points.size();
  }
  if (points == 0) return Point();
  PieceSummer sum(points, pool, kernels);
  for (const WeightedPoints& term : terms) sum.add(term);
  return sum.finish();
}

Result<Point> msm_var(std::span<const Scalar> scalars, std::span<const AffinePoint> points, ThreadPool& pool,
                      const GroupKernels& kernels) {
  const WeightedPoints all{points, scalars};
  return msm_var({&all, 1}, pool, kernels);
}

uint64_t msm_bytes(size_t points, unsigned threads) {
  const Plan plan = make_plan(points, kScalarBits, 1, threads, kMaxScalarWindowBits);
  return (std::min(points, kPiece) + PreparedPoints::kPadding) * (sizeof(TableEntry) + plan.windows * sizeof(int16_t)) +
         kBucketStreams * plan.tasks() * (plan.buckets() * sizeof(Bucket) + sizeof(ExtendedPoint));
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
