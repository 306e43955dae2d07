#include "algebra/row_commit.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "algebra/msm.h"
#include "base/first_error.h"
#include "base/secret.h"

namespace zkapex {

namespace {

constexpr size_t kBatchRows = size_t{1} << 16;
constexpr size_t kIndexBudget = kBatchRows * 16;  // indices extracted at a time
constexpr size_t kGroupEntries = 2048;            // in tables of one pass: 256 KiB, half of a small L2 cache
constexpr unsigned kMinChunkBits = 3, kMaxChunkBits = 11;

// Relative costs, measured: a table entry (an addition, its share of the inversion), a look-up with its addition, an
// addition to a bucket, the sum over one bucket of eight lanes.
constexpr double kEntryCost = 72, kLookupCost = 35, kBucketCost = 42, kBucketSumCost = 680;

double table_cost_per_row_bit(size_t rows, unsigned chunk_bits) {
  const double entries = static_cast<double>(size_t{1} << chunk_bits);
  return (entries * kEntryCost / static_cast<double>(rows) + kLookupCost) / chunk_bits;
}

unsigned choose_chunk_bits(size_t rows) {
  unsigned best = kMinChunkBits;
  for (unsigned t = best + 1; t <= kMaxChunkBits; ++t) {
    if (table_cost_per_row_bit(rows, t) < table_cost_per_row_bit(rows, best)) best = t;
  }
  return best;
}

bool buckets_are_cheaper(const PackedRows& rows) {
  const double per_entry = table_cost_per_row_bit(rows.rows, choose_chunk_bits(rows.rows)) * rows.bits;
  const unsigned windows = (rows.bits + 10) / 11;
  const double buckets = static_cast<double>(size_t{1} << (std::min(rows.bits, 11U) - 1));
  const double entries = static_cast<double>(rows.entries);
  return windows * (kBucketCost * entries + kBucketSumCost * buckets) < per_entry * entries;
}

// The points of the expanded basis, in order, from any position on.
class ExpandedBasis {
 public:
  ExpandedBasis(std::span<const AffinePoint> generators, unsigned bits, size_t size)
      : generators_(generators), bits_(bits), size_(size) {}

  // Appends `count` points from position `first` on; past the end, the identity.
  void append(size_t first, size_t count, std::vector<Point>& out) {
    for (size_t k = first; k < first + count; ++k) out.push_back(k < size_ ? at(k) : Point());
  }

 private:
  Point at(size_t k) {
    const unsigned power = static_cast<unsigned>(k % bits_);
    if (k / bits_ != generator_ || power < power_) {
      generator_ = k / bits_;
      power_ = 0;
      multiple_ = Point(generators_[generator_]);
    }
    for (; power_ < power; ++power_) multiple_ = multiple_.twice();
    return bits_ > 1 && power == bits_ - 1 ? -multiple_ : multiple_;
  }

  std::span<const AffinePoint> generators_;
  unsigned bits_;
  size_t size_;
  size_t generator_ = std::numeric_limits<size_t>::max();  // multiple_ = 2^power_ · this generator
  unsigned power_ = 0;
  Point multiple_;
};

// Adds up a range of chunks for one batch of rows.
class ChunkSummer {
 public:
  ChunkSummer(std::span<const AffinePoint> generators, const PackedRows& rows, const GroupKernels& kernels)
      : rows_(rows),
        kernels_(kernels),
        basis_(generators, rows.bits, rows.row_bits()),
        chunk_bits_(choose_chunk_bits(rows.rows)),
        octets_((rows.rows + 7) / 8),
        sums_(octets_) {
    kernels_.clear_octets(sums_.data(), octets_);
  }

  static size_t chunks(const PackedRows& rows) {
    const unsigned t = choose_chunk_bits(rows.rows);
    return (rows.row_bits() + t - 1) / t;
  }

  void add_chunks(size_t begin, size_t end) {
    const size_t block = std::clamp(kIndexBudget / stride(), size_t{16}, size_t{256});
    indices_.assign(std::min(block, end - begin) * stride(), 0);
    for (size_t first = begin; first < end; first += block) add_block(first, std::min(end, first + block));
  }

  [[nodiscard]] std::vector<ExtendedPoint> sums() const {
    std::vector<ExtendedPoint> out(8 * octets_);
    kernels_.export_octets(sums_.data(), octets_, out.data()->X.v);
    return out;
  }

 private:
  // Between columns of indices: a cache line more than the rows, or columns of 2^16 rows would share cache sets.
  [[nodiscard]] size_t stride() const { return 8 * octets_ + 32; }
  [[nodiscard]] size_t table_size() const { return size_t{1} << chunk_bits_; }

  // out[i] = the bits [offset, offset + t) of row first + i, those past its end zero; returns the bits that occur.
  uint32_t extract_chunk(size_t first, size_t count, size_t offset, uint16_t* out) const {
    const size_t left = rows_.row_bytes() - offset / 8, shift = offset % 8;
    const uint32_t mask = (1U << std::min<size_t>(chunk_bits_, rows_.row_bits() - offset)) - 1;
    const uint8_t* at = rows_.row(first) + offset / 8;
    uint32_t seen = 0;
    for (size_t i = 0; i < count; ++i, at += rows_.row_stride_bytes) {
      uint32_t word = 0;  // t + 7 ≤ 18 bits are needed
      if (left >= 4) {    // one load
        word = at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
      } else {
        for (size_t k = 0; k < left; ++k) word |= uint32_t{at[k]} << (8 * k);
      }
      const uint32_t index = (word >> shift) & mask;
      seen |= index;
      out[i] = static_cast<uint16_t>(index);
    }
    return seen;
  }

  // Fills one column of indices per chunk that is not zero in all rows; returns those chunks.
  std::vector<size_t> extract(size_t begin, size_t end) {
    constexpr size_t kTile = 8;  // rows side by side: with a stride of 4 KiB no more share a set of the nearest cache
    std::vector<uint32_t> seen(end - begin, 0);
    for (size_t first = 0; first < rows_.rows; first += kTile) {
      const size_t count = std::min(kTile, rows_.rows - first);
      for (size_t r = first + kTile; r < std::min(first + 3 * kTile, rows_.rows); ++r) {
        __builtin_prefetch(rows_.row(r) + begin * chunk_bits_ / 8);
      }
      for (size_t k = begin; k < end; ++k) {
        seen[k - begin] |= extract_chunk(first, count, k * chunk_bits_, &indices_[(k - begin) * stride() + first]);
      }
    }
    std::vector<size_t> active;
    for (size_t k = begin; k < end; ++k) {
      if (seen[k - begin] == 0) continue;
      const auto column = indices_.begin() + static_cast<ptrdiff_t>((k - begin) * stride());
      const auto target = indices_.begin() + static_cast<ptrdiff_t>(active.size() * stride());
      if (target != column) std::copy_n(column, stride(), target);
      active.push_back(k);
    }
    return active;
  }

  void add_block(size_t begin, size_t end) {
    const std::vector<size_t> active = extract(begin, end);
    if (active.empty()) return;
    std::vector<Point> points;
    for (size_t chunk : active) basis_.append(chunk * chunk_bits_, chunk_bits_, points);
    const std::vector<AffinePoint> affine = batch_to_affine(points);
    std::vector<TableEntry> entries(affine.size());
    kernels_.make_entries(affine.data()->x.v, affine.size(), entries.data());

    const size_t group = std::max<size_t>(1, kGroupEntries / table_size());
    for (size_t first = 0; first < active.size(); first += group) {
      const size_t tables = std::min(group, active.size() - first);
      tables_.resize(tables * table_size());
      scratch_.resize(table_scratch_octets(tables_.size()));
      kernels_.build_tables(&entries[first * chunk_bits_], tables, chunk_bits_, tables_.data(), scratch_.data());
      kernels_.add_lookups(sums_.data(), octets_, tables_.data(), tables, chunk_bits_, &indices_[first * stride()],
                           stride());
    }
  }

  PackedRows rows_;
  const GroupKernels& kernels_;
  ExpandedBasis basis_;
  unsigned chunk_bits_;
  size_t octets_;
  std::vector<PointOctet> sums_, scratch_;
  std::vector<TableEntry> tables_;
  std::vector<uint16_t, WipingAllocator<uint16_t>> indices_;  // a column of stride() rows per chunk
};

// Threads split the chunks, so that each table is built once, and take more of them as they get ready; their sums are
// added at the end.
void commit_batch(std::span<const AffinePoint> generators, const PackedRows& rows, ThreadPool& pool,
                  const GroupKernels& kernels, std::span<Point> out) {
  const size_t chunks = ChunkSummer::chunks(rows), tasks = std::min<size_t>(pool.size(), chunks);
  const size_t parts = std::min(chunks, 32 * tasks);
  std::atomic<size_t> next{0};
  std::vector<std::vector<ExtendedPoint>> sums(tasks);
  pool.for_each(tasks, [&](size_t task) {
    ChunkSummer summer(generators, rows, kernels);
    for (size_t part = next++; part < parts; part = next++)
      summer.add_chunks(part * chunks / parts, (part + 1) * chunks / parts);
    sums[task] = summer.sums();
  });
  for (size_t r = 0; r < out.size(); ++r) out[r] = Point(sums[0][r]);
  for (size_t task = 1; task < tasks; ++task) {
    for (size_t r = 0; r < out.size(); ++r) out[r] += Point(sums[task][r]);
  }
}

Result<std::vector<Point>> commit_by_buckets(std::span<const AffinePoint> generators, const PackedRows& rows,
                                             ThreadPool& pool, const GroupKernels& kernels) {
  const PreparedPoints prepared(generators, pool, kernels);
  std::vector<Point> out(rows.rows);
  FirstError failed;
  const auto commit_row = [&](size_t r) {
    std::vector<int64_t> values(rows.entries);
    for (size_t l = 0; l < rows.entries; ++l) values[l] = rows.at(r, l);
    failed.take(msm_small_var(values, prepared, pool), out[r]);
  };
  if (rows.rows >= pool.size()) {  // a row to each thread; fewer rows share the threads one after another
    pool.for_each(rows.rows, commit_row);
  } else {
    for (size_t r = 0; r < rows.rows; ++r) commit_row(r);
  }
  ZKAPEX_CHECK(failed.status());
  return out;
}

Status check_view(size_t generators, const PackedRows& rows) {
  if (rows.bits < 1 || rows.bits > kMaxEntryBits) {
    return error("entries of {} bits; from 1 to {} are supported", rows.bits, kMaxEntryBits);
  }
  if (rows.entries > generators) return error("rows of {} entries over {} generators", rows.entries, generators);
  if (rows.rows > 1 && rows.row_stride_bytes < rows.row_bytes()) {
    return error("rows of {} bytes overlap at a stride of {}", rows.row_bytes(), rows.row_stride_bytes);
  }
  if (rows.data == nullptr && rows.rows > 0 && rows.entries > 0) return error("rows without data");
  return Done{};
}

}  // namespace

Result<std::vector<Point>> commit_rows_var(std::span<const AffinePoint> generators, const PackedRows& rows,
                                           ThreadPool& pool, const GroupKernels& kernels) {
  ZKAPEX_CHECK(check_view(generators.size(), rows));
  if (rows.rows == 0 || rows.entries == 0) return std::vector<Point>(rows.rows);
  const std::span<const AffinePoint> used = generators.first(rows.entries);
  if (buckets_are_cheaper(rows)) return commit_by_buckets(used, rows, pool, kernels);
  std::vector<Point> out(rows.rows);
  for (size_t first = 0; first < rows.rows; first += kBatchRows) {
    PackedRows batch = rows;
    batch.data = rows.row(first);
    batch.rows = std::min(kBatchRows, rows.rows - first);
    commit_batch(used, batch, pool, kernels, std::span(out).subspan(first, batch.rows));
  }
  return out;
}

BlindingBase::BlindingBase(const Point& h) : h_(h) {
  std::vector<Point> powers = {h};
  while (powers.size() < 253) powers.push_back(powers.back().twice());
  powers_ = batch_to_affine(powers);
}

std::vector<Point> BlindingBase::multiply_var(std::span<const Scalar> blindings, ThreadPool& pool,
                                              const GroupKernels& kernels) const {
  SecretVector<uint8_t> bytes(Scalar::kBytes * blindings.size());
  for (size_t k = 0; k < blindings.size(); ++k) {
    const std::array<uint8_t, Scalar::kBytes> scalar = blindings[k].to_bytes();
    std::copy(scalar.begin(), scalar.end(), bytes.data() + Scalar::kBytes * k);
  }
  const PackedRows rows{bytes.data(), blindings.size(), Scalar::kBytes, powers_.size(), 1};
  return commit_rows_var(powers_, rows, pool, kernels).value();  // this view is always well formed
}

Result<std::vector<Point>> commit_rows_var(std::span<const AffinePoint> generators, const PackedRows& rows,
                                           const BlindingBase& base, std::span<const Scalar> blindings,
                                           ThreadPool& pool, const GroupKernels& kernels) {
  if (blindings.size() != rows.rows) return error("{} blindings for {} rows", blindings.size(), rows.rows);
  ZKAPEX_TRY(std::vector<Point> out, commit_rows_var(generators, rows, pool, kernels));
  const std::vector<Point> blinding_points = base.multiply_var(blindings, pool, kernels);
  for (size_t r = 0; r < out.size(); ++r) out[r] += blinding_points[r];
  return out;
}

}  // namespace zkapex
