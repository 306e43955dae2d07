#include "algebra/row_commit.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "algebra/msm.h"
#include "algebra/row_strips.h"
#include "base/first_error.h"
#include "base/secret.h"

namespace zkapex {

namespace {

constexpr size_t kBatchRows = size_t{1} << 16;
constexpr size_t kIndexBudget = kBatchRows * 16;  // indices extracted at a time
constexpr size_t kGroupEntries = 2048;            // in tables of one pass: 256 KiB, half of a small L2 cache
constexpr unsigned kMinTableBits = 3, kMaxTableBits = 11;

// Relative costs, measured: a table entry (an addition, its share of the inversion), a look-up with its addition, an
// addition to a bucket, the sum over one bucket of eight lanes, an exception (of eight rows the one with the most
// counts).
constexpr double kEntryCost = 72, kLookupCost = 35, kBucketCost = 42, kBucketSumCost = 680, kExceptionCost = 70;
constexpr double kHalfCost = 8600;

// A table of 2^b sums serves chunks of b bits. Or of b + 1: with c the sum of all points of a chunk, the subset sums of
// an index and of its complement are c/2 + x and c/2 − x, so x is tabulated for half of the indices, and the c/2, the
// same for all rows, are added at the end. Halving a point costs as much as some 120 entries.
class ChunkTables {
 public:
  explicit ChunkTables(unsigned bits) : bits_(bits) {}
  static ChunkTables choose(size_t rows) {
    ChunkTables best(kMinTableBits);
    for (unsigned b = kMinTableBits + 1; b <= kMaxTableBits; ++b) {
      if (ChunkTables(b).cost_per_row_bit(rows) < best.cost_per_row_bit(rows)) best = ChunkTables(b);
    }
    return best;
  }

  [[nodiscard]] bool is_signed() const { return bits_ >= 8; }
  [[nodiscard]] unsigned bits() const { return bits_; }
  [[nodiscard]] size_t size() const { return size_t{1} << bits_; }
  [[nodiscard]] unsigned chunk_bits() const { return bits_ + (is_signed() ? 1 : 0); }
  [[nodiscard]] double cost_per_row_bit(size_t rows) const {
    const double once = static_cast<double>(size()) * kEntryCost + (is_signed() ? kHalfCost : 0);
    return (once / static_cast<double>(rows) + kLookupCost) / chunk_bits();
  }
  // Which entry a chunk looks up, with its sign.
  [[nodiscard]] uint16_t index(uint32_t chunk) const {
    if (!is_signed()) return static_cast<uint16_t>(chunk);
    const uint32_t opposite = (chunk >> bits_) - 1;  // all ones where the highest bit is not set
    return static_cast<uint16_t>(((chunk ^ opposite) & (size() - 1)) | (opposite & ~uint32_t{kIndexMask}));
  }

 private:
  unsigned bits_;
};

bool buckets_are_cheaper(const PackedRows& rows) {
  const double per_entry = ChunkTables::choose(rows.rows).cost_per_row_bit(rows.rows) * rows.bits;
  const unsigned windows = (rows.bits + 10) / 11;
  const double buckets = static_cast<double>(size_t{1} << (std::min(rows.bits, 11U) - 1));
  const double entries = static_cast<double>(rows.entries);
  return windows * (kBucketCost * entries + kBucketSumCost * buckets) < per_entry * entries;
}

// 2^power times a generator, one power after another; the multiple of an entry's sign bit is negative.
class Multiples {
 public:
  explicit Multiples(const AffinePoint& generator) : multiple_(generator) {}

  // Appends those of `count` powers from `first` on, which only grows from call to call.
  void append(unsigned first, unsigned count, bool negative_last, std::vector<Point>& out) {
    for (unsigned k = 0; k < count; ++k) {
      for (; power_ < first + k; ++power_) multiple_ = multiple_.twice();
      out.push_back(negative_last && k + 1 == count ? -multiple_ : multiple_);
    }
  }

 private:
  Point multiple_;
  unsigned power_ = 0;
};

// Adds up strips for one batch of rows.
class StripSummer {
 public:
  StripSummer(std::span<const AffinePoint> generators, const RowStrips& strips, ChunkTables chunks, ThreadPool& pool,
              const GroupKernels& kernels)
      : generators_(generators),
        strips_(strips),
        rows_(strips.rows()),
        pool_(pool),
        kernels_(kernels),
        chunk_tables_(chunks),
        chunk_bits_(chunks.chunk_bits()),
        octets_((rows_.rows + 7) / 8),
        sums_(octets_) {
    kernels_.clear_octets(sums_.data(), octets_);
  }

  void add(const Strip& strip) {
    widths_.assign(strips_.widths(strip).begin(), strips_.widths(strip).end());
    if (!extract(strip)) {  // the sample misled: all bits of all entries
      std::ranges::fill(widths_, static_cast<uint8_t>(rows_.bits));
      (void)extract(strip);
    }
    add_chunks(strip);
    if (!exceptions_.empty()) add_exceptions(strip);
  }

  [[nodiscard]] std::vector<ExtendedPoint> sums() {
    const std::vector<TableEntry> offset = entries_of(std::span(&offset_, 1));
    const std::vector<uint16_t> first(8 * octets_, 0), once(octets_, 1);
    kernels_.add_entries(sums_.data(), octets_, offset.data(), first.data(), once.data());
    std::vector<ExtendedPoint> out(8 * octets_);
    kernels_.export_octets(sums_.data(), octets_, out.data()->X.v);
    return out;
  }

 private:
  // Between columns of indices: a cache line more than the rows, or columns of 2^16 rows would share cache sets.
  [[nodiscard]] size_t stride() const { return 8 * octets_ + 32; }

  // Fills one column of indices per chunk that is not zero in all rows; these chunks are `active_`. False if there are
  // more exceptions than an eighth of the entries.
  bool extract(const Strip& strip) {
    StripReader reader(rows_, strip, widths_);
    const size_t bits = 8 * std::accumulate(widths_.begin(), widths_.end(), size_t{0});
    const size_t chunks = (bits + chunk_bits_ - 1) / chunk_bits_;
    const size_t most = rows_.rows * strip.groups * kGroupColumns / 8;
    if (indices_.size() < chunks * stride()) indices_.resize(chunks * stride());
    seen_.assign(chunks, 0);
    exceptions_.clear();
    deepest_.assign(octets_, 0);
    size_t found = 0;
    for (size_t octet = 0; octet < octets_; ++octet) {
      prefetch_rows(8 * (octet + 1), strip);
      reader.read(8 * octet);
      for (size_t k = 0; k < chunks; ++k) seen_[k] |= cut_chunk(reader, k, &indices_[k * stride() + 8 * octet]);
      found += note_exceptions(reader, octet);
      if (found > most) return false;
    }
    active_.clear();
    for (size_t k = 0; k < chunks; ++k) {
      if (seen_[k] == 0) continue;
      const auto column = indices_.begin() + static_cast<ptrdiff_t>(k * stride());
      const auto target = indices_.begin() + static_cast<ptrdiff_t>(active_.size() * stride());
      if (target != column) std::copy_n(column, stride(), target);
      active_.push_back(k);
    }
    return true;
  }

  void prefetch_rows(size_t first, const Strip& strip) const {
    for (size_t r = first; r < std::min(first + 16, rows_.rows); ++r)
      __builtin_prefetch(rows_.row(r) + strip.first_group * rows_.bits);
  }

  // out[i] = what chunk k of row i looks up; returns the bits that occur.
  uint32_t cut_chunk(const StripReader& reader, size_t k, uint16_t* out) const {
    // Copies: what is written may be anything to a compiler, members too.
    const ChunkTables tables = chunk_tables_;
    const size_t offset = k * chunk_bits_, stride = reader.stride();
    const uint8_t* at = reader.row(0) + offset / 8;
    const uint32_t shift = offset % 8, mask = (uint32_t{1} << chunk_bits_) - 1;
    uint32_t seen = 0;
    for (size_t i = 0; i < 8; ++i, at += stride) {
      uint32_t word;  // t + 7 ≤ 19 bits are needed
      std::memcpy(&word, at, sizeof word);
      const uint32_t chunk = (word >> shift) & mask;
      seen |= chunk;
      out[i] = tables.index(chunk);
    }
    return seen;
  }

  // Eight rows' exceptions side by side: as many octets as the row with the most has. Returns how many there are.
  size_t note_exceptions(const StripReader& reader, size_t octet) {
    size_t found = 0, deepest = 0;
    for (size_t i = 0; i < 8; ++i) {
      found += reader.exceptions(i).size();
      deepest = std::max(deepest, reader.exceptions(i).size());
    }
    if (deepest == 0) return 0;
    const size_t first = exceptions_.size();
    exceptions_.resize(first + 8 * deepest, RowException{0, 0});  // nothing is a multiple of zero
    for (size_t i = 0; i < 8; ++i) {
      for (size_t k = 0; k < reader.exceptions(i).size(); ++k) exceptions_[first + 8 * k + i] = reader.exceptions(i)[k];
    }
    deepest_[octet] = static_cast<uint16_t>(deepest);
    return found;
  }

  // The points whose bits a row of the strip has: g, 2g, …, −2^(w−1) g for every generator g in turn, from bit `first`
  // on; past the end of the row, the identity.
  void append_basis(const Strip& strip, size_t first, size_t count, std::vector<Point>& out) const {
    size_t group = 0, begin = 0;
    for (size_t k = first; k < first + count;) {
      while (group < strip.groups && k >= begin + kGroupColumns * widths_[group])
        begin += kGroupColumns * widths_[group++];
      const size_t width = group < strip.groups ? widths_[group] : 1;
      const size_t column = (strip.first_group + group) * kGroupColumns + (k - begin) / width;
      if (group == strip.groups || column >= generators_.size()) {
        out.emplace_back();
        ++k;
        continue;
      }
      const size_t power = (k - begin) % width, powers = std::min(width - power, first + count - k);
      Multiples(generators_[column])
          .append(static_cast<unsigned>(power), static_cast<unsigned>(powers),
                  rows_.bits > 1 && power + powers == width, out);
      k += powers;
    }
  }

  std::vector<TableEntry> entries_of(std::span<const Point> points) const {
    const std::vector<AffinePoint> affine = batch_to_affine(points);
    std::vector<TableEntry> entries(affine.size());
    kernels_.make_entries(affine.data()->x.v, affine.size(), entries.data());
    return entries;
  }

  void build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits, TableEntry* out) {
    scratch_.resize(std::max(scratch_.size(), table_scratch_octets(tables << bits)));
    kernels_.build_tables(basis, origins, tables, bits, out, scratch_.data());
  }

  void add_chunks(const Strip& strip) {
    if (active_.empty()) return;
    std::vector<Point> points, basis;
    for (const size_t chunk : active_) append_basis(strip, chunk * chunk_bits_, chunk_bits_, points);
    for (size_t k = 0; k < points.size(); ++k) {
      if (k % chunk_bits_ < chunk_tables_.bits()) basis.push_back(points[k]);
    }
    const std::vector<TableEntry> entries = entries_of(basis);
    const std::vector<TableEntry> origins =
        chunk_tables_.is_signed() ? entries_of(take_halves(points)) : std::vector<TableEntry>();
    const auto add = chunk_tables_.is_signed() ? kernels_.add_signed_lookups : kernels_.add_lookups;
    const size_t group = std::max<size_t>(1, kGroupEntries / chunk_tables_.size());
    const unsigned bits = chunk_tables_.bits();
    for (size_t first = 0; first < active_.size(); first += group) {
      const size_t tables = std::min(group, active_.size() - first);
      tables_.resize(std::max(tables_.size(), tables << bits));
      build_tables(&entries[first * bits], origins.empty() ? nullptr : &origins[first], tables, bits, tables_.data());
      add(sums_.data(), octets_, tables_.data(), tables, bits, &indices_[first * stride()], stride());
    }
  }

  // Of each chunk's points: the last one less c/2, where its table begins. The halves go to the offset of all rows.
  std::vector<Point> take_halves(std::span<const Point> points) {
    std::vector<Point> wholes(points.size() / chunk_bits_);
    for (size_t k = 0; k < points.size(); ++k) wholes[k / chunk_bits_] += points[k];
    const Scalar half = Scalar::from_u64(2).inverse();
    std::vector<Point> out = fold_points_var(batch_to_affine(wholes), {&half, 1}, wholes.size(), pool_, kernels_);
    for (size_t k = 0; k < out.size(); ++k) {
      offset_ += out[k];
      out[k] = points[(k + 1) * chunk_bits_ - 1] - out[k];
    }
    return out;
  }

  // Bits of q in an exception v = low + 2^w q, at least what a table has.
  static unsigned multiple_bits(unsigned width) { return width == 0 ? 8 : std::max(kMinTableBits, 9 - width); }

  // A table of multiples for each column that has exceptions, columns with as many multiples together.
  void add_exceptions(const Strip& strip) {
    std::array<bool, kGroupColumns * StripReader::kMostNarrowGroups> used{};
    for (const RowException& e : exceptions_) used[e.column] |= e.multiple != 0;
    std::array<size_t, kGroupColumns * StripReader::kMostNarrowGroups> first{};
    size_t total = 0;
    for (unsigned bits = kMinTableBits; bits <= 8; ++bits) {
      std::vector<Point> points;
      const size_t begin = total;
      for (size_t column = 0; column < strip.groups * kGroupColumns; ++column) {
        const unsigned width = widths_[column / kGroupColumns];
        if (!used[column] || multiple_bits(width) != bits) continue;
        Multiples(generators_[strip.first_group * kGroupColumns + column]).append(width, bits, true, points);
        first[column] = total;
        total += size_t{1} << bits;
      }
      if (points.empty()) continue;
      tables_.resize(std::max(tables_.size(), total));
      build_tables(entries_of(points).data(), nullptr, points.size() / bits, bits, &tables_[begin]);
    }
    if (indices_.size() < exceptions_.size()) indices_.resize(exceptions_.size());
    for (size_t k = 0; k < exceptions_.size(); ++k) {
      const auto [column, multiple] = exceptions_[k];
      const unsigned mask = (1U << multiple_bits(widths_[column / kGroupColumns])) - 1;
      indices_[k] = static_cast<uint16_t>(multiple == 0 ? 0 : first[column] + (static_cast<unsigned>(multiple) & mask));
    }
    kernels_.add_entries(sums_.data(), octets_, tables_.data(), indices_.data(), deepest_.data());
  }

  std::span<const AffinePoint> generators_;
  const RowStrips& strips_;
  PackedRows rows_;
  ThreadPool& pool_;
  const GroupKernels& kernels_;
  ChunkTables chunk_tables_;
  unsigned chunk_bits_;
  size_t octets_;
  std::vector<PointOctet> sums_, scratch_;
  Point offset_;  // that is missing in all rows
  std::vector<TableEntry> tables_;
  // Of the strip at hand:
  std::vector<uint8_t> widths_;
  std::vector<uint32_t> seen_;                                // bits of each chunk that occur
  std::vector<size_t> active_;                                // chunks that are not zero in all rows
  std::vector<uint16_t, WipingAllocator<uint16_t>> indices_;  // a column of stride() rows per chunk; then of exceptions
  std::vector<RowException, WipingAllocator<RowException>> exceptions_;
  std::vector<uint16_t> deepest_;  // octets of exceptions that each octet of rows has
};

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
                         {tables.cost_per_row_bit(rows.rows), kExceptionCost});
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
