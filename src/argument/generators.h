// The generators of all commitments: g[0], g[1], .. for positions, h for blindings, q for inner-product values. Each is
// the ristretto255 one-way map of SHA-512(label ‖ kind ‖ u64 index), so nobody knows a relation between them. They are
// derived, not shipped; a cache on disk saves the derivation.
#pragma once

#include <span>
#include <vector>

#include "algebra/point.h"
#include "algebra/row_commit.h"
#include "base/files.h"
#include "base/threads.h"

namespace zkapex {

class Generators {
 public:
  // g[0..count), h and q.
  [[nodiscard]] static Generators derive(size_t count, ThreadPool& pool);

  // The same from a cache file in `directory`, which is made if missing. A file that is absent, truncated, changed or
  // of other contents is rebuilt; one that cannot be written is not an error.
  [[nodiscard]] static Generators cached(size_t count, const Path& directory, ThreadPool& pool);

  [[nodiscard]] std::span<const AffinePoint> positions() const { return positions_; }
  [[nodiscard]] size_t size() const { return positions_.size(); }
  [[nodiscard]] const Point& blinding() const { return blinding_.point(); }  // h
  [[nodiscard]] const BlindingBase& blinding_base() const { return blinding_; }
  [[nodiscard]] const Point& value() const { return value_; }  // q

 private:
  explicit Generators(std::vector<AffinePoint> positions);

  std::vector<AffinePoint> positions_;
  BlindingBase blinding_;
  Point value_;
};

}  // namespace zkapex
