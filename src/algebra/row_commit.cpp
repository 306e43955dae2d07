#include "algebra/row_commit.h"

#include <algorithm>
#include <atomic>

#include "algebra/msm.h"
#include "algebra/strip_summer.h"
#include "base/first_error.h"
#include "base/secret.h"

namespace zkapex {

namespace {

constexpr size_t kBatchRows = size_t{1} << 16;
constexpr size_t kIndexBudget = kBatchRows * 16;  // indices extracted at a time

// Relative costs, as those of ChunkTables: an addition to a bucket, the sum over one bucket of eight lanes.
constexpr double kBucketCost = 42, kBucketSumCost = 680;

bool buckets_are_cheaper(const PackedRows& rows) {
  const double per_entry = ChunkTables::choose(rows.rows).cost_per_row_bit(rows.rows) * rows.bits;
  const unsigned windows = (rows.bits + 10) / 11;
  const double buckets = static_cast<double>(size_t{1} << (std::min(rows.bits, 11U) - 1));
  const double entries = static_cast<double>(rows.entries);
  return windows * (kBucketCost * entries + kBucketSumCost * buckets) < per_entry * entries;
}

// Threads split the strips, so that each table is built once, and take more of them as they get ready; their sums are
// added at the end.
void commit_batch(std::span<const AffinePoint> generators, const PackedRows& rows, ThreadPool& pool,
                  const GroupKernels& kernels, std::span<Point> out) {
  const ChunkTables tables = ChunkTables::choose(rows.rows);
  const unsigned chunk_bits = tables.chunk_bits();
  const size_t tasks = pool.size(), chunks = (rows.row_bits() + chunk_bits - 1) / chunk_bits;
  const size_t at_once = std::clamp(kIndexBudget / (rows.rows + 32), size_t{16}, size_t{256});
  // Eight chunks are whole groups of any width.
  const RowStrips strips(rows, chunk_bits, std::clamp<size_t>(chunks / (32 * tasks), 8, at_once),
                         {tables.cost_per_row_bit(rows.rows), StripSummer::kExceptionCost});
  std::atomic<size_t> next{0};
  std::vector<std::vector<ExtendedPoint>> sums(std::min(tasks, strips.strips().size()));
  pool.for_each(sums.size(), [&](size_t task) {
    StripSummer summer(generators, strips, tables, pool, kernels);
    for (size_t k = next++; k < strips.strips().size(); k = next++) summer.add(strips.strips()[k]);
    sums[task] = summer.sums();
  });
  for (size_t r = 0; r < out.size(); ++r) out[r] = Point(sums[0][r]);
  for (size_t task = 1; task < sums.size(); ++task) {
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
