#include "attestation/model_reader.h"

#include "curvature/factor.h"

namespace zkapex {

void Triangles::resize(size_t rows, bool wide_factor, size_t triangles) {
  block = rows;
  wide = wide_factor;
  const size_t entries = triangles * triangle_size(block);
  wide ? wide_entries.resize(entries) : narrow_entries.resize(entries);
}

Triangle Triangles::at(size_t k) const {
  const size_t first = k * triangle_size(block);
  if (wide) return {wide_entries.data() + first, block};
  return {narrow_entries.data() + first, block};
}

}  // namespace zkapex
