// The inner loops of the group that have more than one implementation: portable, four lanes at a time in AVX2 + FMA,
// and eight in AVX-512 IFMA. All are always compiled on x86-64; `group_kernels()` is the one for this machine. The
// batch, multi-scalar and row commitment functions are written once, over this table of functions.
//
// Memory crosses the border as plain arrays: field elements are 5 limbs (Fe), affine points 10, extended points 20, all
// tight. What only kernels look into is opaque and means nothing to another implementation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace zkapex {

// An affine point prepared for addition (a NielsPoint).
struct alignas(64) TableEntry {
  unsigned char bytes[128];
};

// Eight extended points that are worked on together.
struct alignas(64) PointOctet {
  unsigned char bytes[1280];
};

// One extended point that is gathered and scattered alone.
struct alignas(32) Bucket {
  unsigned char bytes[160];
};

// Sums before and products during the inversion that makes `entries` table entries affine.
constexpr size_t table_scratch_octets(size_t entries) { return entries / 8 + (entries / 8 + 3) / 4; }

// What of a signed index names an entry; the other bit is its sign.
inline constexpr uint16_t kIndexMask = 0x7fff;

// Sums by buckets that are taken side by side.
inline constexpr size_t kBucketStreams = 8;

struct GroupKernels {
  InstructionSet set;

  // Each of `count` field elements to the power (p − 5)/8, in place.
  void (*power_p58)(uint64_t* elements, size_t count);

  // As ristretto::Decoding: `count` encodings of 32 bytes to affine points. valid[k] is 1, or 0 where number k is none,
  // and its point means nothing. Null in implementations that have no more for it than `power_p58`.
  void (*decode)(const uint8_t* encodings, size_t count, uint64_t* affine_points, uint8_t* valid);

  void (*make_entries)(const uint64_t* affine_points, size_t count, TableEntry* out);

  // For each of `tables` consecutive groups of `bits` ≥ 3 basis points, all 2^bits subset sums: entry i is the sum of
  // the basis points at the set bits of i, and of the table's origin if `origins` is not null. One inversion for all.
  // `scratch` holds table_scratch_octets(tables · 2^bits).
  void (*build_tables)(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits,
                       TableEntry* out, PointOctet* scratch);

  void (*clear_octets)(PointOctet* octets, size_t count);  // to the identity
  // For every table t and row r: row r += entry indices[t · index_stride + r] of table t; eight rows to an octet.
  // Entry 0 of every table is the identity: rows that are worked on together and whose indices are all zero are
  // skipped.
  void (*add_lookups)(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count, unsigned bits,
                      const uint16_t* indices, size_t index_stride);
  // The same without skipping, where an index with bit 15 set stands for the opposite of the entry that the others
  // name.
  void (*add_signed_lookups)(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count,
                             unsigned bits, const uint16_t* indices, size_t index_stride);
  // Octet q of rows has counts[q] octets of indices, its first after the last of octet q − 1: row s of it += entry
  // indices[s] of the table for each of them.
  void (*add_entries)(PointOctet* rows, size_t octets, const TableEntry* table, const uint16_t* indices,
                      const uint16_t* counts);
  void (*export_octets)(const PointOctet* octets, size_t count, uint64_t* extended_points);

  void (*clear_buckets)(Bucket* buckets, size_t count);  // to the identity
  // kBucketStreams independent streams: for k < count, bucket |digit| of stream s gains sign(digit)·entry k of stream
  // s. Bucket 0 collects rubbish. The buckets of different streams do not overlap.
  void (*fill_buckets)(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                       Bucket* const* buckets);
  // For each stream Σ_b b·bucket[b] over 1 ≤ b < count, as kBucketStreams extended points.
  void (*sum_buckets)(const Bucket* const* buckets, size_t count, uint64_t* extended_points);

  // Eight combinations with the same scalars: point j < 8 is Σ_t s_t·entry[8 t + j] over t < terms, where
  // s_t = Σ_k digits[k · terms + t] 2^k over k < bits and digits are −1, 0 and 1.
  void (*combine)(const TableEntry* entries, const int8_t* digits, size_t terms, size_t bits,
                  uint64_t* extended_points);

  // For benchmarks and tests: each of `count` field elements times factor^rounds, and each of `count` extended points
  // plus rounds·(affine point), by one operation after another; `count` is a multiple of eight, at most 64.
  void (*repeat_multiplication)(uint64_t* elements, size_t count, const uint64_t* factor, size_t rounds);
  void (*repeat_mixed_addition)(uint64_t* extended_points, size_t count, const uint64_t* affine_point, size_t rounds);
};

[[nodiscard]] const GroupKernels& portable_group_kernels();
// Those of `set`, which this machine must have: see detect_instruction_set.
[[nodiscard]] const GroupKernels& group_kernels(InstructionSet set);
[[nodiscard]] const GroupKernels& group_kernels();

}  // namespace zkapex
