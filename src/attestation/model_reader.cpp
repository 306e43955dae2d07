#include "attestation/model_reader.h"

namespace zkapex {

void Squares::resize(bool wide_factor, size_t entries) {
  wide = wide_factor;
  wide ? wide_entries.resize(entries) : narrow_entries.resize(entries);
}

IntMatrix Squares::matrix(size_t first_entry, size_t rows, size_t cols) const {
  if (wide) return {wide_entries.data() + first_entry, rows, cols, cols};
  return {narrow_entries.data() + first_entry, rows, cols, cols};
}

}  // namespace zkapex
