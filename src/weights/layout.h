// The layout: how the tensors of a model map to rows, Fisher blocks and coordinates. Public, and named by its digest.
//
// Tensors are taken by name, byte-wise increasing (so layer 10 comes before layer 2): the order needs no knowledge of
// any architecture. Covered tensors are flattened row-major and cut into blocks of B coordinates, the last one shorter
// where B does not divide; blocks sit at stride S = 2^ceil(log2 B), n / S of them to a row of n entries. The others are
// cut into rows of n entries without blocks, one entry a weight, or two where 64-bit integers are to fit. A row never
// spans two tensors; its unused end is zero.
//
// Three numberings of covered weights, all increasing together:
//   coordinate     0 .. d-1, real weights only, tensor after tensor (what a mask lists)
//   padded index   row * n + position = block * S + j (what the argument works on)
//   (tensor, element of it)
// And two of blocks: its slot in the rows (slot = padded index / S), where slots at the end of a tensor's last row may
// hold no weight; and its number among the Fisher blocks, which are the slots that hold weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "weights/cover.h"
#include "weights/tensor.h"

namespace zkapex {

// Sizes of blocks and rows.
struct Geometry {
  static constexpr uint64_t kMaxBlock = 1024, kMaxRow = uint64_t{1} << 22;

  uint64_t block = 256;    // B
  uint64_t row = 1 << 17;  // n, a power of two, at least S

  [[nodiscard]] uint64_t stride() const;  // S
  [[nodiscard]] uint64_t blocks_per_row() const { return row / stride(); }
  Status check() const;
  bool operator==(const Geometry&) const = default;
};

struct LayoutTensor {
  std::string name;
  std::vector<uint64_t> shape;
  bool covered = false;
  bool split = false;  // not covered, and each element takes two entries: see read_unchanged
  // Derived:
  uint64_t count = 0;      // weights
  uint64_t first_row = 0;  // among the covered rows, or among the unchanged rows
  uint64_t rows = 0;
  uint64_t first_coordinate = 0;  // covered tensors only, as is what follows
  uint64_t first_slot = 0;
  uint64_t first_block = 0;  // Fisher block
  uint64_t full_blocks = 0;  // blocks with B coordinates ...
  uint64_t rest = 0;         // ... and the coordinates of a shorter one after them, 0 when there is none
};

class Layout {
 public:
  static constexpr uint64_t kMaxTensors = 1 << 20, kMaxName = 1 << 16, kMaxDims = 16, kMaxPadded = uint64_t{1} << 40;

  // Which tensors exist, and which of them are covered; an error when none is.
  static Result<Layout> make(const std::vector<TensorInfo>& tensors, const CoverPatterns& cover, Geometry geometry);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const std::vector<LayoutTensor>& tensors() const { return tensors_; }  // by name
  [[nodiscard]] const std::vector<size_t>& covered() const { return covered_; }        // which of them
  [[nodiscard]] uint64_t coordinates() const { return coordinates_; }                  // d
  [[nodiscard]] uint64_t rows() const { return rows_; }                                // of covered tensors
  [[nodiscard]] uint64_t unchanged_rows() const { return unchanged_rows_; }
  [[nodiscard]] uint64_t slots() const { return rows_ * geometry_.blocks_per_row(); }
  [[nodiscard]] uint64_t blocks() const { return blocks_; }  // Fisher blocks
  [[nodiscard]] uint64_t padded_size() const { return rows_ * geometry_.row; }

  struct Place {
    size_t tensor;     // in tensors()
    uint64_t element;  // of the flattened tensor
  };
  // Only for coordinate < coordinates().
  [[nodiscard]] Place place(uint64_t coordinate) const;
  [[nodiscard]] uint64_t padded_index(uint64_t coordinate) const;
  // Nothing for padding.
  [[nodiscard]] std::optional<uint64_t> coordinate(uint64_t padded_index) const;

  // The weights of one Fisher block: elements first .. first + count - 1 of a tensor, 0 < count <= B.
  struct Block {
    size_t tensor;  // in tensors()
    uint64_t slot;
    uint64_t first, count;
    uint64_t first_coordinate;
  };
  [[nodiscard]] Block block(uint64_t index) const;                           // only for index < blocks()
  [[nodiscard]] std::optional<uint64_t> block_in_slot(uint64_t slot) const;  // nothing for a slot without weights

  // Exactly the tensors of the layout, whatever their element types; the error names the first that differs.
  Status check_tensors(const std::vector<TensorView>& tensors) const;
  // The same, but tensors that are not covered may be missing: a base model has no branches that clients add.
  Status check_covered(const std::vector<TensorView>& tensors) const;

  // Canonical: parse accepts exactly what serialize writes.
  void serialize(ByteWriter& out) const;
  static Result<Layout> parse(ByteReader& in);
  [[nodiscard]] Sha256::Digest digest() const;

 private:
  [[nodiscard]] Status check_some(const std::vector<TensorView>& tensors, bool all) const;
  static Result<Layout> build(std::vector<LayoutTensor> tensors, Geometry geometry);
  [[nodiscard]] size_t covered_tensor(uint64_t LayoutTensor::*first, uint64_t value) const;

  Geometry geometry_;
  std::vector<LayoutTensor> tensors_;
  std::vector<size_t> covered_;
  uint64_t coordinates_ = 0, blocks_ = 0, rows_ = 0, unchanged_rows_ = 0;
};

}  // namespace zkapex
