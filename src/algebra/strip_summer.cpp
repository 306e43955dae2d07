#include "algebra/strip_summer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "algebra/msm.h"

namespace zkapex {

namespace {

constexpr size_t kGroupEntries = 2048;  // in tables of one pass: 256 KiB, half of a small L2 cache

constexpr size_t kOctetsAhead = 6;  // of rows, which lie far apart and come from memory

// Bits of q in an exception v = low + 2^w q, at least what a table has.
unsigned multiple_bits(unsigned width) { return width == 0 ? 8 : std::max(ChunkTables::kLeastBits, 9 - width); }

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

}  // namespace

StripSummer::StripSummer(std::span<const AffinePoint> generators, const RowStrips& strips, ChunkTables chunks,
                         ThreadPool& pool, const GroupKernels& kernels)
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

void StripSummer::add(const Strip& strip) {
  widths_.assign(strips_.widths(strip).begin(), strips_.widths(strip).end());
  if (!extract(strip)) {  // the sample misled: all bits of all entries
    std::ranges::fill(widths_, static_cast<uint8_t>(rows_.bits));
    (void)extract(strip);
  }
  add_chunks(strip);
  if (!exceptions_.empty()) add_exceptions(strip);
}

std::vector<ExtendedPoint> StripSummer::sums() {
  const std::vector<TableEntry> offset = entries_of(std::span(&offset_, 1));
  const std::vector<uint16_t> first(8 * octets_, 0), once(octets_, 1);
  kernels_.add_entries(sums_.data(), octets_, offset.data(), first.data(), once.data());
  std::vector<ExtendedPoint> out(8 * octets_);
  kernels_.export_octets(sums_.data(), octets_, out.data()->X.v);
  return out;
}

bool StripSummer::extract(const Strip& strip) {
  StripReader reader(rows_, strip, widths_);
  const size_t bits = 8 * std::accumulate(widths_.begin(), widths_.end(), size_t{0});
  const size_t chunks = (bits + chunk_bits_ - 1) / chunk_bits_;
  const size_t most = rows_.rows * strip.groups * kGroupColumns / 8;
  if (indices_.size() < chunks * stride()) indices_.resize(chunks * stride());
  seen_.assign(chunks, 0);
  exceptions_.clear();
  deepest_.assign(octets_, 0);
  size_t stored = 0;
  for (size_t octet = 0; octet < octets_; ++octet) {
    prefetch_rows(8 * (octet + kOctetsAhead), strip);
    reader.read(8 * octet);
    for (size_t k = 0; k < chunks; ++k) seen_[k] |= cut_chunk(reader, k, &indices_[k * stride() + 8 * octet]);
    stored += note_exceptions(reader, octet);
    if (stored > most) return false;
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

void StripSummer::prefetch_rows(size_t first, const Strip& strip) const {
  const size_t begin = strip.first_group * rows_.bits;
  const size_t last = std::min(begin + strip.groups * rows_.bits, rows_.row_bytes()) - 1;
  for (size_t r = first; r < std::min(first + 8, rows_.rows); ++r) {
    __builtin_prefetch(rows_.row(r) + begin);
    __builtin_prefetch(rows_.row(r) + last);
  }
}

uint32_t StripSummer::cut_chunk(const StripReader& reader, size_t k, uint16_t* out) const {
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

size_t StripSummer::note_exceptions(const StripReader& reader, size_t octet) {
  size_t deepest = 0;
  for (size_t i = 0; i < 8; ++i) deepest = std::max(deepest, reader.exceptions(i).size());
  if (deepest == 0) return 0;
  const size_t first = exceptions_.size();
  exceptions_.resize(first + 8 * deepest, RowException{0, 0});  // nothing is a multiple of zero
  for (size_t i = 0; i < 8; ++i) {
    for (size_t k = 0; k < reader.exceptions(i).size(); ++k) exceptions_[first + 8 * k + i] = reader.exceptions(i)[k];
  }
  deepest_[octet] = static_cast<uint16_t>(deepest);
  return 8 * deepest;
}

void StripSummer::append_basis(const Strip& strip, size_t first, size_t count, std::vector<Point>& out) const {
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
        .append(static_cast<unsigned>(power), static_cast<unsigned>(powers), rows_.bits > 1 && power + powers == width,
                out);
    k += powers;
  }
}

std::vector<TableEntry> StripSummer::entries_of(std::span<const Point> points) const {
  const std::vector<AffinePoint> affine = batch_to_affine(points);
  std::vector<TableEntry> entries(affine.size());
  kernels_.make_entries(affine.data()->x.v, affine.size(), entries.data());
  return entries;
}

void StripSummer::build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits,
                               TableEntry* out) {
  scratch_.resize(std::max(scratch_.size(), table_scratch_octets(tables << bits)));
  kernels_.build_tables(basis, origins, tables, bits, out, scratch_.data());
}

void StripSummer::add_chunks(const Strip& strip) {
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

std::vector<Point> StripSummer::take_halves(std::span<const Point> points) {
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

void StripSummer::add_exceptions(const Strip& strip) {
  std::array<bool, kGroupColumns * StripReader::kMostNarrowGroups> used{};
  for (const RowException& e : exceptions_) used[e.column] |= e.multiple != 0;
  std::array<size_t, kGroupColumns * StripReader::kMostNarrowGroups> first{};
  size_t total = 0;
  for (unsigned bits = ChunkTables::kLeastBits; bits <= 8; ++bits) {
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

}  // namespace zkapex
