// The kernels four lanes at a time. No function of this file may run, nor any template or inline function be shared
// with another file, on a machine without AVX2: hence plain pointers and internal linkage only.
//
// Each entry point sets the rounding mode and calls a function that is not inlined (suffix _rz), where the work is
// done.
#include "algebra/group_kernels.h"
#include "algebra/point4_avx2.h"

namespace zkapex {

#if defined(__x86_64__)

namespace {

#define ZKAPEX_KERNEL [[gnu::noinline]] static

// Kernels of this file keep 16 doubles in an entry, 20 in a bucket (point4_avx2.h), two Extended4 in an octet.
static_assert(2 * sizeof(Extended4) == sizeof(PointOctet) && sizeof(Bucket) == 20 * sizeof(double));

ZKAPEX_LANES const double* doubles(const TableEntry* entry) { return reinterpret_cast<const double*>(entry->bytes); }
ZKAPEX_LANES double* doubles(TableEntry* entry) { return reinterpret_cast<double*>(entry->bytes); }
ZKAPEX_LANES const double* doubles(const Bucket* bucket) { return reinterpret_cast<const double*>(bucket->bytes); }
ZKAPEX_LANES double* doubles(Bucket* bucket) { return reinterpret_cast<double*>(bucket->bytes); }
ZKAPEX_LANES Extended4* extended(PointOctet* octets) { return reinterpret_cast<Extended4*>(octets->bytes); }

alignas(64) constexpr double kIdentityEntry[16] = {kHalf4[0], kHalf4[1], kHalf4[2], kHalf4[3],  //
                                                   kHalf4[0], kHalf4[1], kHalf4[2], kHalf4[3],  //
                                                   0,         0,         0,         0,          //
                                                   kHalf4[4], kHalf4[4], 0,         0};

// Two quads at once: a lone chain of squarings waits for its own results.
struct Fe8 {
  Fe4<1> a, b;
};
ZKAPEX_KERNEL void multiply_rz(Fe8* x, const Fe8* y) {
  x->a = x->a * y->a;
  x->b = x->b * y->b;
}
ZKAPEX_KERNEL void square_times_rz(Fe8* x, int times) {
  Fe4<1> a = x->a, b = x->b;
  for (int k = 0; k < times; ++k) {
    a = square(a);
    b = square(b);
  }
  x->a = a;
  x->b = b;
}

// x ← x^(2^times) · y
ZKAPEX_LANES void shift_multiply(Fe8* x, int times, const Fe8* y) {
  square_times_rz(x, times);
  multiply_rz(x, y);
}

// x ← x^(2^250 − 1), x11 ← x^11: the ladder of field.cpp.
ZKAPEX_KERNEL void ladder_rz(Fe8* x, Fe8* x11) {
  Fe8 x2 = *x, x9, ones10, ones20, ones50, t;
  square_times_rz(&x2, 1);
  x9 = x2;
  shift_multiply(&x9, 2, x);
  *x11 = x9;
  multiply_rz(x11, &x2);
  t = *x11;
  shift_multiply(&t, 1, &x9);  // 2^5 − 1
  ones10 = t;
  shift_multiply(&ones10, 5, &t);
  ones20 = ones10;
  shift_multiply(&ones20, 10, &ones10);
  ones50 = ones20;
  shift_multiply(&ones50, 20, &ones20);
  shift_multiply(&ones50, 10, &ones10);
  t = ones50;
  shift_multiply(&t, 50, &ones50);  // 2^100 − 1
  *x = t;
  shift_multiply(x, 100, &t);
  shift_multiply(x, 50, &ones50);
}

ZKAPEX_KERNEL void power_p58_rz(uint64_t* elements, size_t count) {
  for (size_t first = 0; first < count; first += 8) {
    uint64_t lanes[8][5] = {};
    const size_t used = count - first < 8 ? count - first : 8;
    __builtin_memcpy(lanes, elements + 5 * first, used * sizeof lanes[0]);
    const Fe8 x = {load(lanes[0], 5), load(lanes[4], 5)};
    Fe8 power = x, x11;
    ladder_rz(&power, &x11);
    shift_multiply(&power, 2, &x);
    store(power.a, lanes[0], 5);
    store(power.b, lanes[4], 5);
    __builtin_memcpy(elements + 5 * first, lanes, used * sizeof lanes[0]);
  }
}

ZKAPEX_KERNEL void make_entries_rz(const uint64_t* affine, size_t count, TableEntry* out) {
  for (size_t first = 0; first < count; first += 4) {
    uint64_t lanes[4][10] = {};
    const size_t used = count - first < 4 ? count - first : 4;
    __builtin_memcpy(lanes, affine + 10 * first, used * sizeof lanes[0]);
    const Fe4<1> half = broadcast(kHalf4);
    const Niels4 n = niels_from_halves(load(lanes[0], 10) * half, load(lanes[0] + 5, 10) * half);
    TableEntry entries[4];
    scatter_niels(n, doubles(&entries[0]), doubles(&entries[1]), doubles(&entries[2]), doubles(&entries[3]));
    __builtin_memcpy(out + first, entries, used * sizeof entries[0]);
  }
}

ZKAPEX_KERNEL void subset_sums_rz(const TableEntry* basis, const TableEntry* origin, unsigned bits, Extended4* out) {
  const double *b0 = doubles(&basis[0]), *b1 = doubles(&basis[1]);
  out[0] = identity4();
  if (origin != nullptr) add(out[0], broadcast_niels(doubles(origin)));
  add(out[0], gather_niels(kIdentityEntry, b0, kIdentityEntry, b0));
  add(out[0], gather_niels(kIdentityEntry, kIdentityEntry, b1, b1));
  for (unsigned k = 2; k < bits; ++k) {
    const Niels4 n = broadcast_niels(doubles(&basis[k]));
    const size_t half = size_t{1} << (k - 2);
    for (size_t q = 0; q < half; ++q) {
      Extended4 sum = out[q];
      add(sum, n);
      out[half + q] = sum;
    }
  }
}

// x ← 1/x: p − 2 = 2^5 (2^250 − 1) + 11.
ZKAPEX_KERNEL void invert_rz(Fe4<1>* x) {
  Fe8 both = {*x, *x}, x11;
  ladder_rz(&both, &x11);
  shift_multiply(&both, 5, &x11);
  *x = both.a;
}

ZKAPEX_KERNEL void build_tables_rz(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits,
                                   TableEntry* out, PointOctet* scratch) {
  const size_t table_quads = size_t{1} << (bits - 2), quads = tables * table_quads;
  Extended4* sums = extended(scratch);
  for (size_t t = 0; t < tables; ++t) {
    subset_sums_rz(basis + t * bits, origins == nullptr ? nullptr : origins + t, bits, sums + t * table_quads);
  }
  Fe4<1>* prefix = reinterpret_cast<Fe4<1>*>(sums + quads);
  Fe4<1> product = broadcast(kOne4);
  for (size_t q = 0; q < quads; ++q) {
    prefix[q] = product;
    product = product * sums[q].Z;
  }
  invert_rz(&product);
  const Fe4<1> half = broadcast(kHalf4);
  for (size_t q = quads; q-- > 0;) {
    const Fe4<1> half_z_inverse = product * half * prefix[q];
    product = product * sums[q].Z;
    const Niels4 n = niels_from_halves(sums[q].X * half_z_inverse, sums[q].Y * half_z_inverse);
    TableEntry* e = out + 4 * q;
    scatter_niels(n, doubles(&e[0]), doubles(&e[1]), doubles(&e[2]), doubles(&e[3]));
  }
}

ZKAPEX_KERNEL void add_entries_rz(Extended4* row, const TableEntry* table, const uint16_t* index) {
  add(*row, gather_niels(doubles(&table[index[0]]), doubles(&table[index[1]]), doubles(&table[index[2]]),
                         doubles(&table[index[3]])));
}

ZKAPEX_KERNEL void add_signed_entries_rz(Extended4* row, const TableEntry* table, const uint16_t* index) {
  const double* entry[4];
  int64_t negative[4];
  for (int s = 0; s < 4; ++s) {
    entry[s] = doubles(&table[index[s] & kIndexMask]);
    negative[s] = index[s] >> 15;
  }
  add(*row, gather_signed_niels(entry, negative));
}

ZKAPEX_LANES void prefetch_entries(const TableEntry* table, const uint16_t* index) {
  for (int s = 0; s < 4; ++s) {
    const char* entry = reinterpret_cast<const char*>(&table[index[s] & kIndexMask]);
    _mm_prefetch(entry, _MM_HINT_T0);
    _mm_prefetch(entry + 64, _MM_HINT_T0);
  }
}

ZKAPEX_LANES bool all_zero(const uint16_t* index) {
  uint64_t four;
  __builtin_memcpy(&four, index, sizeof four);
  return four == 0;
}

constexpr size_t kBlock = 8;  // quads that stay in the nearest cache while all tables pass over them

template <bool kSigned>
ZKAPEX_KERNEL void add_lookups_rz(Extended4* rows, size_t quads, const TableEntry* tables, size_t table_count,
                                  unsigned bits, const uint16_t* indices, size_t index_stride) {
  for (size_t block = 0; block < quads; block += kBlock) {
    const size_t size = quads - block < kBlock ? quads - block : kBlock;
    for (size_t t = 0; t < table_count; ++t) {
      const TableEntry* table = tables + (t << bits);
      const uint16_t* index = indices + t * index_stride + 4 * block;
      // What comes next: the next table on this block, or the first table on the next block.
      const bool last = t + 1 == table_count, ahead = !last || block + 2 * kBlock <= quads;
      const TableEntry* next_table = last ? tables : table + (size_t{1} << bits);
      const uint16_t* next_index = last ? indices + 4 * (block + kBlock) : index + index_stride;
      for (size_t q = 0; q < size; ++q) {
        if (ahead) prefetch_entries(next_table, next_index + 4 * q);
        if (last && ahead) {
          const char* next_row = reinterpret_cast<const char*>(&rows[block + kBlock + q]);
          for (size_t line = 0; line < sizeof(Extended4); line += 64) _mm_prefetch(next_row + line, _MM_HINT_T0);
        }
        if constexpr (kSigned) {
          add_signed_entries_rz(&rows[block + q], table, index + 4 * q);
        } else if (!all_zero(index + 4 * q)) {
          add_entries_rz(&rows[block + q], table, index + 4 * q);
        }
      }
    }
  }
}

ZKAPEX_KERNEL void add_entries_rz(Extended4* rows, size_t octets, const TableEntry* table, const uint16_t* indices,
                                  const uint16_t* counts) {
  for (size_t q = 0; q < octets; ++q) {
    for (size_t k = 0; k < counts[q]; ++k, indices += 8) {
      for (size_t half = 0; half < 2; ++half) add_entries_rz(&rows[2 * q + half], table, indices + 4 * half);
    }
  }
}

ZKAPEX_KERNEL void export_quads_rz(const Extended4* quads, size_t count, uint64_t* extended_points) {
  for (size_t q = 0; q < count; ++q) store_extended(quads[q], extended_points + 80 * q);
}

ZKAPEX_KERNEL void add_to_buckets_rz(const double* const (&entry)[4], const int64_t (&negative)[4],
                                     double* const (&bucket)[4]) {
  Extended4 sum = gather_extended(bucket[0], bucket[1], bucket[2], bucket[3]);
  add(sum, gather_signed_niels(entry, negative));
  scatter_extended(sum, bucket[0], bucket[1], bucket[2], bucket[3]);
}

ZKAPEX_LANES int64_t magnitude(int64_t digit) { return digit < 0 ? -digit : digit; }

ZKAPEX_KERNEL void fill_buckets_rz(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                                   Bucket* const* buckets) {
  constexpr size_t kAhead = 4;
  for (size_t k = 0; k < count; ++k) {
    if (k + kAhead < count) {
      for (int s = 0; s < 4; ++s) {
        const char* bucket = reinterpret_cast<const char*>(&buckets[s][magnitude(digits[s][k + kAhead])]);
        _mm_prefetch(bucket, _MM_HINT_T0);
        _mm_prefetch(bucket + 64, _MM_HINT_T0);
        _mm_prefetch(bucket + 159, _MM_HINT_T0);
      }
    }
    if ((digits[0][k] | digits[1][k] | digits[2][k] | digits[3][k]) == 0) continue;
    const double* entry[4];
    int64_t negative[4];
    double* bucket[4];
    for (int s = 0; s < 4; ++s) {
      const int64_t digit = digits[s][k];
      entry[s] = doubles(&entries[s][k]);
      negative[s] = digit < 0;
      bucket[s] = doubles(&buckets[s][magnitude(digit)]);
    }
    add_to_buckets_rz(entry, negative, bucket);
  }
}

ZKAPEX_KERNEL void sum_buckets_rz(const Bucket* const* buckets, size_t count, uint64_t* extended_points) {
  Extended4 tail = identity4(), sum = identity4();
  for (size_t b = count; b-- > 1;) {
    add(tail, to_cached(gather_extended(doubles(&buckets[0][b]), doubles(&buckets[1][b]), doubles(&buckets[2][b]),
                                        doubles(&buckets[3][b]))));
    add(sum, to_cached(tail));
  }
  store_extended(sum, extended_points);
}

// Two quads side by side, for the same reason as above.
struct Extended8 {
  Extended4 a, b;
};
ZKAPEX_KERNEL void twice_rz(Extended8* p) {
  twice(p->a);
  twice(p->b);
}
ZKAPEX_KERNEL void add_entries_rz(Extended8* p, const TableEntry* e) {
  add(p->a, gather_niels(doubles(&e[0]), doubles(&e[1]), doubles(&e[2]), doubles(&e[3])));
  add(p->b, gather_niels(doubles(&e[4]), doubles(&e[5]), doubles(&e[6]), doubles(&e[7])));
}
ZKAPEX_KERNEL void subtract_entries_rz(Extended8* p, const TableEntry* e) {
  add(p->a, negate(gather_niels(doubles(&e[0]), doubles(&e[1]), doubles(&e[2]), doubles(&e[3]))));
  add(p->b, negate(gather_niels(doubles(&e[4]), doubles(&e[5]), doubles(&e[6]), doubles(&e[7]))));
}

ZKAPEX_KERNEL void combine_rz(const TableEntry* entries, const int8_t* digits, size_t terms, size_t bits,
                              uint64_t* extended_points) {
  Extended8 sum = {identity4(), identity4()};
  for (size_t k = bits; k-- > 0;) {
    twice_rz(&sum);
    for (size_t t = 0; t < terms; ++t) {
      const int digit = digits[k * terms + t];
      if (digit > 0) add_entries_rz(&sum, entries + 8 * t);
      if (digit < 0) subtract_entries_rz(&sum, entries + 8 * t);
    }
  }
  store_extended(sum.a, extended_points);
  store_extended(sum.b, extended_points + 80);
}

ZKAPEX_KERNEL void multiply_all_rz(Fe4<1>* x, size_t quads, const Fe4<1>* factor) {
  for (size_t q = 0; q < quads; ++q) x[q] = x[q] * *factor;
}
ZKAPEX_KERNEL void repeat_multiplication_rz(uint64_t* elements, size_t count, const uint64_t* factor, size_t rounds) {
  Fe4<1> x[16];
  const size_t quads = count / 4;
  for (size_t q = 0; q < quads; ++q) x[q] = load(elements + 20 * q, 5);
  const Fe4<1> y = load(factor, 0);
  for (size_t round = 0; round < rounds; ++round) multiply_all_rz(x, quads, &y);
  for (size_t q = 0; q < quads; ++q) store(x[q], elements + 20 * q, 5);
}

ZKAPEX_KERNEL void repeat_mixed_addition_rz(uint64_t* extended_points, size_t count, const uint64_t* affine_point,
                                            size_t rounds) {
  Extended4 p[16];
  TableEntry entry;
  const uint16_t index[4] = {0, 0, 0, 0};
  const size_t quads = count / 4;
  make_entries_rz(affine_point, 1, &entry);
  for (size_t q = 0; q < quads; ++q) p[q] = load_extended(extended_points + 80 * q);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t q = 0; q < quads; ++q) add_entries_rz(&p[q], &entry, index);
  }
  for (size_t q = 0; q < quads; ++q) store_extended(p[q], extended_points + 80 * q);
}

// The entry points.

void power_p58(uint64_t* elements, size_t count) {
  const RoundTowardZero mode;
  power_p58_rz(elements, count);
}
void make_entries(const uint64_t* affine_points, size_t count, TableEntry* out) {
  const RoundTowardZero mode;
  make_entries_rz(affine_points, count, out);
}
void build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits, TableEntry* out,
                  PointOctet* scratch) {
  const RoundTowardZero mode;
  build_tables_rz(basis, origins, tables, bits, out, scratch);
}
void clear_octets(PointOctet* octets, size_t count) {
  for (size_t k = 0; k < 2 * count; ++k) extended(octets)[k] = identity4();
}
void add_lookups(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count, unsigned bits,
                 const uint16_t* indices, size_t index_stride) {
  const RoundTowardZero mode;
  add_lookups_rz<false>(extended(rows), 2 * octets, tables, table_count, bits, indices, index_stride);
}
void add_signed_lookups(PointOctet* rows, size_t octets, const TableEntry* tables, size_t table_count, unsigned bits,
                        const uint16_t* indices, size_t index_stride) {
  const RoundTowardZero mode;
  add_lookups_rz<true>(extended(rows), 2 * octets, tables, table_count, bits, indices, index_stride);
}
void add_entries(PointOctet* rows, size_t octets, const TableEntry* table, const uint16_t* indices,
                 const uint16_t* counts) {
  const RoundTowardZero mode;
  add_entries_rz(extended(rows), octets, table, indices, counts);
}
void export_octets(const PointOctet* octets, size_t count, uint64_t* extended_points) {
  const RoundTowardZero mode;
  export_quads_rz(reinterpret_cast<const Extended4*>(octets->bytes), 2 * count, extended_points);
}
void clear_buckets(Bucket* buckets, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    double* d = doubles(&buckets[k]);
    for (int i = 0; i < 20; ++i) d[i] = i == 4 || i == 8 ? 1 : 0;  // Y = Z = 1
  }
}
void fill_buckets(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                  Bucket* const* buckets) {
  const RoundTowardZero mode;
  for (size_t s = 0; s < kBucketStreams; s += 4) fill_buckets_rz(entries + s, digits + s, count, buckets + s);
}
void sum_buckets(const Bucket* const* buckets, size_t count, uint64_t* extended_points) {
  const RoundTowardZero mode;
  for (size_t s = 0; s < kBucketStreams; s += 4) sum_buckets_rz(buckets + s, count, extended_points + 20 * s);
}
void combine(const TableEntry* entries, const int8_t* digits, size_t terms, size_t bits, uint64_t* extended_points) {
  const RoundTowardZero mode;
  combine_rz(entries, digits, terms, bits, extended_points);
}
void repeat_multiplication(uint64_t* elements, size_t count, const uint64_t* factor, size_t rounds) {
  const RoundTowardZero mode;
  repeat_multiplication_rz(elements, count, factor, rounds);
}
void repeat_mixed_addition(uint64_t* extended_points, size_t count, const uint64_t* affine_point, size_t rounds) {
  const RoundTowardZero mode;
  repeat_mixed_addition_rz(extended_points, count, affine_point, rounds);
}

constexpr GroupKernels kKernels = {
    .set = InstructionSet::kAvx2,
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

}  // namespace

const GroupKernels& avx2_group_kernels() { return kKernels; }

#endif

}  // namespace zkapex
