// A client's private model and curvature, as provers read them: by rows and slots of the layout.
#pragma once

#include "algebra/triangles.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/unset_vector.h"
#include "unlearning/deployment.h"

namespace zkapex {

// The factors of a run of slots, triangles of B rows each: what the squares of the curvature's rows hold.
struct Triangles {
  size_t block = 0;   // B
  bool wide = false;  // int16 entries, for factors of more than 8 bits
  UnsetVector<int8_t> narrow_entries;
  UnsetVector<int16_t> wide_entries;

  void resize(size_t rows, bool wide_factor, size_t triangles);
  [[nodiscard]] Triangle at(size_t k) const;
};

// Read from several threads at once.
class ModelReader {
 public:
  virtual ~ModelReader() = default;
  // Weights of whole covered rows, zero on padding.
  virtual Status weights(uint64_t first_row, std::span<int64_t> out) const = 0;
  // Whole rows of the tensors that are not covered.
  virtual Status unchanged(uint64_t first_row, std::span<int64_t> out) const = 0;
  virtual Status triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const = 0;
  // Rows of one slot's square, whole, from `first` on. int8_t only for factors of at most 8 bits.
  virtual Status square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const = 0;
  virtual Status square_rows(uint64_t slot, uint64_t first, std::span<int16_t> out) const = 0;
  // Of all weights, covered or not, and of the curvature: what a registration's nonces are bound to.
  virtual Result<Sha512::Digest> digest(ThreadPool& pool) const = 0;
};

// Of its committed rows: what opens Com(θ_p) and Com(C_p).
struct ModelOpenings {
  std::span<const Scalar> model, curvature;  // blindings, one a row
};

}  // namespace zkapex
