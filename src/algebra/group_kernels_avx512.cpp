// The kernels eight lanes at a time. No function of this file may run, nor any template or inline function be shared
// with another file, on a machine without AVX-512 IFMA: hence plain pointers and internal linkage only.
#include "algebra/group_kernels.h"
#include "algebra/point8_avx512.h"
#include "algebra/power8_avx512.h"

namespace zkapex {

#if defined(__x86_64__)

void decode_avx512(const uint8_t* encodings, size_t count, uint64_t* affine_points,
                   uint8_t* valid);  // ristretto_avx512

namespace {

// Kernels of this file keep 15 limbs in an entry, 20 in a bucket (point8_avx512.h), an Extended8 in an octet.
static_assert(sizeof(Extended8) == sizeof(PointOctet) && sizeof(Bucket) == 20 * sizeof(uint64_t));

ZKAPEX_LANES const uint64_t* words(const TableEntry* entry) { return reinterpret_cast<const uint64_t*>(entry->bytes); }
ZKAPEX_LANES uint64_t* words(TableEntry* entry) { return reinterpret_cast<uint64_t*>(entry->bytes); }
ZKAPEX_LANES const uint64_t* words(const Bucket* bucket) { return reinterpret_cast<const uint64_t*>(bucket->bytes); }
ZKAPEX_LANES uint64_t* words(Bucket* bucket) { return reinterpret_cast<uint64_t*>(bucket->bytes); }
ZKAPEX_LANES Extended8* extended(PointOctet* octets) { return reinterpret_cast<Extended8*>(octets->bytes); }

void power_p58(uint64_t* elements, size_t count) {
  for (size_t first = 0; first < count; first += 16) {
    uint64_t lanes[16][5] = {};
    const size_t used = count - first < 16 ? count - first : 16;
    __builtin_memcpy(lanes, elements + 5 * first, used * sizeof lanes[0]);
    Fe16 power = {load(lanes[0], 5), load(lanes[8], 5)};
    power_p58(&power);
    store(power.a, lanes[0], 5);
    store(power.b, lanes[8], 5);
    __builtin_memcpy(elements + 5 * first, lanes, used * sizeof lanes[0]);
  }
}

void make_entries(const uint64_t* affine, size_t count, TableEntry* out) {
  const Fe8 half = broadcast(kHalf8), d = broadcast(kD8);
  for (size_t first = 0; first < count; first += 8) {
    uint64_t lanes[8][10] = {};
    const size_t used = count - first < 8 ? count - first : 8;
    __builtin_memcpy(lanes, affine + 10 * first, used * sizeof lanes[0]);
    const Fe8 x = load(lanes[0], 10), y = load(lanes[0] + 5, 10);
    const Niels8 n = {multiply(carried(wide(y) - wide(x)), half), multiply(carried(wide(y) + wide(x)), half),
                      multiply(multiply(x, y), d)};
    TableEntry entries[8];
    scatter_niels(n, [&](int s) { return words(&entries[s]); });
    __builtin_memcpy(out + first, entries, used * sizeof entries[0]);
  }
}

ZKAPEX_KERNEL void subset_sums(const TableEntry* basis, const TableEntry* origin, unsigned bits, Extended8* out) {
  out[0] = identity8();
  if (origin != nullptr) add(out[0], broadcast_niels(words(origin)));
  const Niels8 neutral = {broadcast(kHalf8), broadcast(kHalf8), broadcast(kZero8)};
  constexpr __mmask8 kLanesWithBit[3] = {0b10101010, 0b11001100, 0b11110000};
  for (unsigned k = 0; k < 3; ++k) {
    Niels8 n = broadcast_niels(words(&basis[k]));
    for (int limb = 0; limb < 5; ++limb) {
      n.minus.v[limb] = _mm512_mask_blend_epi64(kLanesWithBit[k], neutral.minus.v[limb], n.minus.v[limb]);
      n.plus.v[limb] = _mm512_mask_blend_epi64(kLanesWithBit[k], neutral.plus.v[limb], n.plus.v[limb]);
      n.td.v[limb] = _mm512_mask_blend_epi64(kLanesWithBit[k], neutral.td.v[limb], n.td.v[limb]);
    }
    add(out[0], n);
  }
  for (unsigned k = 3; k < bits; ++k) {
    const Niels8 n = broadcast_niels(words(&basis[k]));
    const size_t half = size_t{1} << (k - 3);
    for (size_t q = 0; q < half; ++q) {
      Extended8 sum = out[q];
      add(sum, n);
      out[half + q] = sum;
    }
  }
}

void build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits, TableEntry* out,
                  PointOctet* scratch) {
  const size_t table_octets = size_t{1} << (bits - 3), octets = tables * table_octets;
  Extended8* sums = extended(scratch);
  for (size_t t = 0; t < tables; ++t)
    subset_sums(basis + t * bits, origins == nullptr ? nullptr : origins + t, bits, sums + t * table_octets);
  Fe8* prefix = reinterpret_cast<Fe8*>(sums + octets);
  Fe8 product = broadcast(kOne8);
  for (size_t q = 0; q < octets; ++q) {
    prefix[q] = product;
    product = multiply(product, sums[q].Z);
  }
  invert(&product);
  product = multiply(product, broadcast(kHalf8));  // 1/(2 Z_0 … Z_q) from here on
  const Fe8 d2 = broadcast(k2D8);
  for (size_t q = octets; q-- > 0;) {
    const Fe8 half_z_inverse = multiply(product, prefix[q]);
    product = multiply(product, sums[q].Z);
    const Niels8 n = {multiply(sums[q].minus, half_z_inverse), multiply(sums[q].plus, half_z_inverse),
                      multiply(multiply(sums[q].T, d2), half_z_inverse)};
    TableEntry* entries = out + 8 * q;
    scatter_niels(n, [&](int s) { return words(&entries[s]); });
  }
}

void clear_octets(PointOctet* octets, size_t count) {
  for (size_t k = 0; k < count; ++k) extended(octets)[k] = identity8();
}

ZKAPEX_LANES void prefetch_entries(const TableEntry* table, const uint16_t* index) {
  for (int s = 0; s < 8; ++s) {
    const char* entry = reinterpret_cast<const char*>(&table[index[s] & kIndexMask]);
    _mm_prefetch(entry, _MM_HINT_T0);
    _mm_prefetch(entry + 64, _MM_HINT_T0);
  }
}

ZKAPEX_LANES bool all_zero(const uint16_t* index) {
  const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
  return _mm_testz_si128(eight, eight) != 0;
}

constexpr size_t kBlock = 4;  // octets that stay in the nearest cache while all tables pass over them

template <bool kSigned>
ZKAPEX_LANES void add_any_lookups(PointOctet* octets, size_t count, const TableEntry* tables, size_t table_count,
                                  unsigned bits, const uint16_t* indices, size_t index_stride) {
  Extended8* rows = extended(octets);
  for (size_t block = 0; block < count; block += kBlock) {
    const size_t size = count - block < kBlock ? count - block : kBlock;
    for (size_t t = 0; t < table_count; ++t) {
      const TableEntry* table = tables + (t << bits);
      const uint16_t* index = indices + t * index_stride + 8 * block;
      // What comes next: the next table on this block, or the first table on the next block.
      const bool last = t + 1 == table_count, ahead = !last || block + 2 * kBlock <= count;
      const TableEntry* next_table = last ? tables : table + (size_t{1} << bits);
      const uint16_t* next_index = last ? indices + 8 * (block + kBlock) : index + index_stride;
      for (size_t q = 0; q < size; ++q) {
        const uint16_t* at = index + 8 * q;
        if (ahead) prefetch_entries(next_table, next_index + 8 * q);
        if (last && ahead) {
          const char* next_row = reinterpret_cast<const char*>(&rows[block + kBlock + q]);
          for (size_t line = 0; line < sizeof(Extended8); line += 64) _mm_prefetch(next_row + line, _MM_HINT_T0);
        }
        if constexpr (kSigned) {
          const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
          const Niels8 entries = gather_niels([&](int s) { return words(&table[at[s] & kIndexMask]); });
          add(rows[block + q], negate(entries, _mm_movepi16_mask(eight)));
        } else if (!all_zero(at)) {
          add(rows[block + q], gather_niels([&](int s) { return words(&table[at[s]]); }));
        }
      }
    }
  }
}

void add_lookups(PointOctet* octets, size_t count, const TableEntry* tables, size_t table_count, unsigned bits,
                 const uint16_t* indices, size_t index_stride) {
  add_any_lookups<false>(octets, count, tables, table_count, bits, indices, index_stride);
}
void add_signed_lookups(PointOctet* octets, size_t count, const TableEntry* tables, size_t table_count, unsigned bits,
                        const uint16_t* indices, size_t index_stride) {
  add_any_lookups<true>(octets, count, tables, table_count, bits, indices, index_stride);
}

void add_entries(PointOctet* octets, size_t count, const TableEntry* table, const uint16_t* indices,
                 const uint16_t* counts) {
  Extended8* rows = extended(octets);
  for (size_t q = 0; q < count; ++q) {
    for (size_t k = 0; k < counts[q]; ++k, indices += 8)
      add(rows[q], gather_niels([&](int s) { return words(&table[indices[s]]); }));
  }
}

void export_octets(const PointOctet* octets, size_t count, uint64_t* extended_points) {
  const Extended8* rows = reinterpret_cast<const Extended8*>(octets->bytes);
  for (size_t q = 0; q < count; ++q) store_extended(rows[q], extended_points + 160 * q);
}

void clear_buckets(Bucket* buckets, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    uint64_t* w = words(&buckets[k]);
    for (int i = 0; i < 20; ++i) w[i] = i == 0 || i == 5 || i == 10 ? 1 : 0;  // Y − X = Y + X = Z = 1
  }
}

ZKAPEX_LANES int64_t magnitude(int64_t digit) { return digit < 0 ? -digit : digit; }

// kShared: all streams have the same entries.
template <bool kShared>
ZKAPEX_KERNEL void fill(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                        Bucket* const* buckets) {
  constexpr size_t kAhead = 4;
  for (size_t k = 0; k < count; ++k) {
    if (k + kAhead < count) {
      for (int s = 0; s < 8; ++s) {
        const char* bucket = reinterpret_cast<const char*>(&buckets[s][magnitude(digits[s][k + kAhead])]);
        _mm_prefetch(bucket, _MM_HINT_T0);
        _mm_prefetch(bucket + 64, _MM_HINT_T0);
        _mm_prefetch(bucket + 159, _MM_HINT_T0);
      }
    }
    unsigned negative = 0, used = 0;
    uint64_t* bucket[8];
    for (int s = 0; s < 8; ++s) {
      const int64_t digit = digits[s][k];
      used |= static_cast<unsigned>(digit);
      negative |= static_cast<unsigned>(digit < 0) << s;
      bucket[s] = words(&buckets[s][magnitude(digit)]);
    }
    if (used == 0) continue;
    const auto at = [&](int s) { return bucket[s]; };
    Extended8 sum = gather_extended(at);
    const Niels8 entry =
        kShared ? broadcast_niels(words(&entries[0][k])) : gather_niels([&](int s) { return words(&entries[s][k]); });
    add(sum, negate(entry, static_cast<__mmask8>(negative)));
    scatter_extended(sum, at);
  }
}

void fill_buckets(const TableEntry* const* entries, const int16_t* const* digits, size_t count,
                  Bucket* const* buckets) {
  bool shared = true;
  for (int s = 1; s < 8; ++s) shared = shared && entries[s] == entries[0];
  shared ? fill<true>(entries, digits, count, buckets) : fill<false>(entries, digits, count, buckets);
}

void sum_buckets(const Bucket* const* buckets, size_t count, uint64_t* extended_points) {
  Extended8 tail = identity8(), sum = identity8();
  for (size_t b = count; b-- > 1;) {
    add(tail, to_cached(gather_extended([&](int s) { return words(&buckets[s][b]); })));
    add(sum, to_cached(tail));
  }
  store_extended(sum, extended_points);
}

ZKAPEX_KERNEL void twice_octet(Extended8* p) { twice(*p); }
ZKAPEX_KERNEL void add_octet(Extended8* p, const TableEntry* entries, __mmask8 negative) {
  add(*p, negate(gather_niels([&](int s) { return words(&entries[s]); }), negative));
}

void combine(const TableEntry* entries, const int8_t* digits, size_t terms, size_t bits, uint64_t* extended_points) {
  Extended8 sum = identity8();
  for (size_t k = bits; k-- > 0;) {
    twice_octet(&sum);
    for (size_t t = 0; t < terms; ++t) {
      const int digit = digits[k * terms + t];
      if (digit != 0) add_octet(&sum, entries + 8 * t, digit < 0 ? 0xff : 0);
    }
  }
  store_extended(sum, extended_points);
}

ZKAPEX_KERNEL void multiply_all(Fe8* x, size_t octets, const Fe8* factor) {
  for (size_t q = 0; q < octets; ++q) x[q] = multiply(x[q], *factor);
}
void repeat_multiplication(uint64_t* elements, size_t count, const uint64_t* factor, size_t rounds) {
  Fe8 x[8];
  const size_t octets = count / 8;
  for (size_t q = 0; q < octets; ++q) x[q] = load(elements + 40 * q, 5);
  const Fe8 y = broadcast(factor);
  for (size_t round = 0; round < rounds; ++round) multiply_all(x, octets, &y);
  for (size_t q = 0; q < octets; ++q) store(x[q], elements + 40 * q, 5);
}

ZKAPEX_KERNEL void add_to_all(Extended8* p, size_t octets, const Niels8* q) {
  for (size_t k = 0; k < octets; ++k) add(p[k], *q);
}
void repeat_mixed_addition(uint64_t* extended_points, size_t count, const uint64_t* affine_point, size_t rounds) {
  Extended8 p[8];
  TableEntry entry;
  const size_t octets = count / 8;
  make_entries(affine_point, 1, &entry);
  const Niels8 n = broadcast_niels(words(&entry));
  for (size_t q = 0; q < octets; ++q) p[q] = load_extended(extended_points + 160 * q);
  for (size_t round = 0; round < rounds; ++round) add_to_all(p, octets, &n);
  for (size_t q = 0; q < octets; ++q) store_extended(p[q], extended_points + 160 * q);
}

constexpr GroupKernels kKernels = {
    .set = InstructionSet::kAvx512,
    .power_p58 = power_p58,
    .decode = decode_avx512,
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

const GroupKernels& avx512_group_kernels() { return kKernels; }

#endif

}  // namespace zkapex
