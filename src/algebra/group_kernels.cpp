#include "algebra/group_kernels.h"

#include <bit>

#include "algebra/edwards.h"

namespace zkapex {

namespace {

static_assert(sizeof(NielsPoint) <= sizeof(TableEntry) && sizeof(ExtendedPoint) == sizeof(Bucket) &&
              8 * sizeof(ExtendedPoint) == sizeof(PointOctet));

// Kernels of this file keep NielsPoints in entries and ExtendedPoints in octets and buckets.
const NielsPoint& niels(const TableEntry& entry) { return *reinterpret_cast<const NielsPoint*>(entry.bytes); }
void set(TableEntry& entry, const NielsPoint& p) { *reinterpret_cast<NielsPoint*>(entry.bytes) = p; }
ExtendedPoint& point(Bucket& bucket) { return *reinterpret_cast<ExtendedPoint*>(bucket.bytes); }
const ExtendedPoint& point(const Bucket& bucket) { return *reinterpret_cast<const ExtendedPoint*>(bucket.bytes); }
ExtendedPoint* points(PointOctet* octets) { return reinterpret_cast<ExtendedPoint*>(octets->bytes); }
const ExtendedPoint* points(const PointOctet* octets) { return reinterpret_cast<const ExtendedPoint*>(octets->bytes); }

void power_p58(uint64_t* elements, size_t count) {
  Fe* fe = reinterpret_cast<Fe*>(elements);
  for (size_t k = 0; k < count; ++k) fe[k] = fe[k].power_p58();
}

void make_entries(const uint64_t* affine_points, size_t count, TableEntry* out) {
  const AffinePoint* affine = reinterpret_cast<const AffinePoint*>(affine_points);
  for (size_t k = 0; k < count; ++k) set(out[k], to_niels(affine[k]));
}

void build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits, TableEntry* out,
                  PointOctet* scratch) {
  const size_t size = size_t{1} << bits, total = tables * size;
  ExtendedPoint* sums = points(scratch);
  for (size_t t = 0; t < tables; ++t) {
    ExtendedPoint* table = sums + t * size;
    table[0] = ExtendedPoint::identity();
    if (origins != nullptr) table[0] = add(table[0], niels(origins[t]));
    for (size_t i = 1; i < size; ++i) {
      const size_t top = std::bit_floor(i);
      table[i] = add(table[i - top], niels(basis[t * bits + static_cast<size_t>(std::countr_zero(top))]));
    }
  }
  Fe* prefix = reinterpret_cast<Fe*>(sums + total);
  Fe product = Fe::one();
  for (size_t i = 0; i < total; ++i) {
    prefix[i] = product;
    product = product * sums[i].Z;
  }
  Fe inverse = product.invert();
  for (size_t i = total; i-- > 0;) {
    const Fe z_inverse = inverse * prefix[i];
    inverse = inverse * sums[i].Z;
    set(out[i], to_niels({sums[i].X * z_inverse, sums[i].Y * z_inverse}));
  }
}

void clear_octets(PointOctet* octets, size_t count) {
  for (size_t k = 0; k < 8 * count; ++k) points(octets)[k] = ExtendedPoint::identity();
}

void add_lookups(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count, unsigned bits,
                 const uint16_t* indices, size_t index_stride) {
  for (size_t r = 0; r < 8 * octets; ++r) {
    ExtendedPoint& row = points(rows)[r];
    for (size_t t = 0; t < table_count; ++t) {
      const uint16_t index = indices[t * index_stride + r];
      if (index != 0) row = add(row, niels(tables[(t << bits) + index]));
    }
  }
}

void add_signed_lookups(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count, unsigned bits,
                        const uint16_t* indices, size_t index_stride) {
  for (size_t r = 0; r < 8 * octets; ++r) {
    ExtendedPoint& row = points(rows)[r];
    for (size_t t = 0; t < table_count; ++t) {
      const uint16_t index = indices[t * index_stride + r];
      const NielsPoint& entry = niels(tables[(t << bits) + (index & kIndexMask)]);
      row = add(row, (index & ~kIndexMask) != 0 ? negate(entry) : entry);
    }
  }
}

void add_entries(PointOctet* rows, size_t octets, const TableEntry* table, const uint16_t* indices,
                 const uint16_t* counts) {
  for (size_t q = 0; q < octets; ++q) {
    for (size_t k = 0; k < counts[q]; ++k, indices += 8) {
      for (size_t s = 0; s < 8; ++s) {
        ExtendedPoint& row = points(rows)[8 * q + s];
        row = add(row, niels(table[indices[s]]));
      }
    }
  }
}

void export_octets(const PointOctet* octets, size_t count, uint64_t* extended_points) {
  ExtendedPoint* out = reinterpret_cast<ExtendedPoint*>(extended_points);
  for (size_t k = 0; k < 8 * count; ++k) out[k] = points(octets)[k];
}

void clear_buckets(Bucket* buckets, size_t count) {
  for (size_t k = 0; k < count; ++k) point(buckets[k]) = ExtendedPoint::identity();
}

void fill_buckets(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                  Bucket* const* buckets) {
  for (size_t s = 0; s < kBucketStreams; ++s) {
    for (size_t k = 0; k < count; ++k) {
      const int digit = digits[s][k];
      if (digit == 0) continue;
      ExtendedPoint& bucket = point(buckets[s][digit < 0 ? -digit : digit]);
      const NielsPoint& entry = niels(entries[s][k]);
      bucket = add(bucket, digit < 0 ? negate(entry) : entry);
    }
  }
}

void sum_buckets(const Bucket* const* buckets, size_t count, uint64_t* extended_points) {
  for (size_t s = 0; s < kBucketStreams; ++s) {
    // Σ b·B_b = Σ_b (B_b + B_(b+1) + …)
    ExtendedPoint tail = ExtendedPoint::identity(), sum = tail;
    for (size_t b = count; b-- > 1;) {
      tail = add(tail, to_cached(point(buckets[s][b])));
      sum = add(sum, to_cached(tail));
    }
    reinterpret_cast<ExtendedPoint*>(extended_points)[s] = sum;
  }
}

void combine(const TableEntry* entries, const int8_t* digits, size_t terms, size_t bits, uint64_t* extended_points) {
  for (size_t j = 0; j < 8; ++j) {
    ExtendedPoint sum = ExtendedPoint::identity();
    for (size_t k = bits; k-- > 0;) {
      sum = twice(sum);
      for (size_t t = 0; t < terms; ++t) {
        const int digit = digits[k * terms + t];
        const NielsPoint& entry = niels(entries[8 * t + j]);
        if (digit != 0) sum = add(sum, digit < 0 ? negate(entry) : entry);
      }
    }
    reinterpret_cast<ExtendedPoint*>(extended_points)[j] = sum;
  }
}

void repeat_multiplication(uint64_t* elements, size_t count, const uint64_t* factor, size_t rounds) {
  Fe* fe = reinterpret_cast<Fe*>(elements);
  const Fe y = *reinterpret_cast<const Fe*>(factor);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < count; ++k) fe[k] = fe[k] * y;
  }
}

void repeat_mixed_addition(uint64_t* extended_points, size_t count, const uint64_t* affine_point, size_t rounds) {
  ExtendedPoint* p = reinterpret_cast<ExtendedPoint*>(extended_points);
  const NielsPoint q = to_niels(*reinterpret_cast<const AffinePoint*>(affine_point));
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < count; ++k) p[k] = add(p[k], q);
  }
}

}  // namespace

const GroupKernels& portable_group_kernels() {
  static constexpr GroupKernels kernels = {
      .set = InstructionSet::kPortable,
      .power_p58 = power_p58,
      .decode = nullptr,
      .make_entries = make_entries,
      .build_tables = build_tables,
      .clear_octets = clear_octets,
      .add_lookups = add_lookups,
      .add_signed_lookups = add_signed_lookups,
      .add_entries = add_entries,
      .export_octets = export_octets,
      .clear_buckets = clear_buckets,
      .fill_buckets = fill_buckets,
      .sum_buckets = sum_buckets,
      .combine = combine,
      .repeat_multiplication = repeat_multiplication,
      .repeat_mixed_addition = repeat_mixed_addition,
  };
  return kernels;
}

#if defined(__x86_64__)
// group_kernels_avx2.cpp, group_kernels_avx512.cpp; what they have runs only where the CPU agrees.
const GroupKernels& avx2_group_kernels();
const GroupKernels& avx512_group_kernels();
#endif

const GroupKernels& group_kernels([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512_group_kernels();
  if (set == InstructionSet::kAvx2) return avx2_group_kernels();
#endif
  return portable_group_kernels();
}

const GroupKernels& group_kernels() { return group_kernels(instruction_set()); }

}  // namespace zkapex
