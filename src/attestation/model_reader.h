// A client's private model and curvature, as provers read them: by rows and slots of the layout.
#pragma once

#include "algebra/fold.h"
#include "base/hash.h"
#include "base/result.h"
#include "unlearning/deployment.h"

namespace zkapex {

// Squares of a run of slots: S × S entries each, as the curvature's rows hold them.
struct Squares {
  bool wide = false;  // int16 entries, for factors of more than 8 bits
  std::vector<int8_t> narrow_entries;
  std::vector<int16_t> wide_entries;

  void resize(bool wide_factor, size_t entries);
  [[nodiscard]] IntMatrix matrix(size_t first_entry, size_t rows, size_t cols) const;  // stride = cols
};

// Read from several threads at once.
class ModelReader {
 public:
  virtual ~ModelReader() = default;
  // Weights of whole covered rows, zero on padding.
  virtual Status weights(uint64_t first_row, std::span<int64_t> out) const = 0;
  // Whole rows of the tensors that are not covered.
  virtual Status unchanged(uint64_t first_row, std::span<int64_t> out) const = 0;
  virtual Status squares(uint64_t first_slot, uint64_t slots, Squares& out) const = 0;
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
