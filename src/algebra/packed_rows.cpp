#include "algebra/row_commit.h"

namespace zkapex {

namespace {

Status check_shape(size_t values, size_t entries, unsigned bits) {
  if (bits < 1 || bits > kMaxEntryBits) {
    return error("entries of {} bits; from 1 to {} are supported", bits, kMaxEntryBits);
  }
  if (entries == 0 ? values != 0 : values % entries != 0) {
    return error("{} values do not make whole rows of {} entries", values, entries);
  }
  return Done{};
}

template <class Integer>
Result<PackedMatrix> pack(std::span<const Integer> values, size_t entries, unsigned bits) {
  ZKAPEX_CHECK(check_shape(values.size(), entries, bits));
  PackedMatrix out{{}, entries == 0 ? 0 : values.size() / entries, entries, bits};
  const size_t stride = (entries * bits + 7) / 8;
  out.bytes.assign(out.rows * stride, 0);
  const int low = bits == 1 ? 0 : -(1 << (bits - 1)), high = bits == 1 ? 1 : (1 << (bits - 1)) - 1;
  for (size_t k = 0; k < values.size(); ++k) {
    const int value = values[k];
    if (value < low || value > high) {
      return error("entry {} of row {} is {}, which does not fit in {} bits", k % entries, k / entries, value, bits);
    }
    const size_t offset = (k % entries) * bits;
    uint8_t* at = &out.bytes[(k / entries) * stride + offset / 8];
    const uint32_t shifted = (static_cast<uint32_t>(value) & ((1U << bits) - 1)) << (offset % 8);
    for (size_t byte = 0; 8 * byte < offset % 8 + bits; ++byte) {
      at[byte] = static_cast<uint8_t>(at[byte] | (shifted >> (8 * byte)));
    }
  }
  return out;
}

}  // namespace

int32_t PackedRows::at(size_t r, size_t l) const {
  const size_t offset = l * bits;
  uint32_t word = 0;
  for (size_t byte = 0; 8 * byte < offset % 8 + bits; ++byte) {
    word |= static_cast<uint32_t>(row(r)[offset / 8 + byte]) << (8 * byte);
  }
  const auto value = static_cast<int32_t>((word >> (offset % 8)) & ((1U << bits) - 1));
  return bits > 1 && value >> (bits - 1) != 0 ? value - (1 << bits) : value;
}

PackedRows PackedMatrix::view() const { return {bytes.data(), rows, (entries * bits + 7) / 8, entries, bits}; }

Result<PackedMatrix> pack_rows(std::span<const int16_t> values, size_t entries, unsigned bits) {
  return pack(values, entries, bits);
}
Result<PackedMatrix> pack_rows(std::span<const int8_t> values, size_t entries, unsigned bits) {
  return pack(values, entries, bits);
}

Result<PackedRows> view_rows(std::span<const int8_t> values, size_t entries) {
  ZKAPEX_CHECK(check_shape(values.size(), entries, 8));
  const size_t rows = entries == 0 ? 0 : values.size() / entries;
  return PackedRows{reinterpret_cast<const uint8_t*>(values.data()), rows, entries, entries, 8};
}

}  // namespace zkapex
