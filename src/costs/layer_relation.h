// A worked relation (docs/argument.md, section 13): the matrix products of one linear layer in one step of training, in
// fixed point. For committed integers X (tokens × inputs), W (inputs × outputs) and G, the gradient by the layer's
// output (tokens × outputs),
//
//   forward      Y = ⌊X W / 2^f⌉
//   backward     ∂X = ⌊G Wᵀ / 2^f⌉,   ∂W = ⌊Xᵀ G / 2^f⌉
//
// all results integers of c bits, halves rounded up. X W + 2^(f−1) is an integer P of c + f bits, and its upper c bits
// are Y: a proof that P consists of bits is a proof of the rounding and of the range at once, and the commitment to Y
// follows from those to the bits of P.
//
// X, W and G are results of other steps, which bound them there; here it is a premise that they are of 16 bits, and
// zero wherever a matrix does not fill its tiles.
#pragma once

#include <array>

#include "argument/relation.h"
#include "costs/tiled_matrix.h"

namespace zkapex {

enum class LayerProduct : size_t { kForward, kInputGradient, kWeightGradient };
inline constexpr size_t kLayerProducts = 3;

struct LayerStatement {
  std::string context;                         // what the proof is for
  size_t side = 0;                             // of a tile, a power of two; a committed row is a tile
  size_t tokens = 0, inputs = 0, outputs = 0;  // in tiles
  unsigned bits = 0;                           // c, 2 to 16
  unsigned shift = 0;                          // f, 1 to 24
  std::vector<EncodedPoint> operands;          // the tiles of X, of W, of G

  [[nodiscard]] Verdict sound() const;
  [[nodiscard]] TileGrid x() const { return {tokens, inputs, side}; }
  [[nodiscard]] TileGrid w() const { return {inputs, outputs, side}; }
  [[nodiscard]] TileGrid g() const { return {tokens, outputs, side}; }
  [[nodiscard]] TileGrid result(LayerProduct product) const;
  [[nodiscard]] size_t results() const;  // tiles of all three
  [[nodiscard]] unsigned planes() const { return bits + shift; }
  [[nodiscard]] ProofShape shape() const;  // brings the bit rows of P, product by product, plane by plane
};

// Entries tile by tile, row-major.
struct LayerOperands {
  std::span<const int16_t> x, w, g;
};

// P = product + 2^(f−1) of all three products, tile by tile, in the order of LayerProduct: what training computes
// anyway. An error if one does not fit.
using LayerAccumulators = std::array<std::vector<int64_t>, kLayerProducts>;
[[nodiscard]] Result<LayerAccumulators> layer_accumulators(const LayerStatement& statement,
                                                           const LayerOperands& operands, ThreadPool& pool);
// An error unless every P is of c + f bits.
[[nodiscard]] Status require_fit(const LayerStatement& statement, const LayerAccumulators& accumulators);

// Commits to the tiles of X, W and G, as the steps would that make them.
[[nodiscard]] Result<CommittedRows> commit_operands(const LayerOperands& operands, size_t tile_entries,
                                                    const Generators& generators, ThreadPool& pool);

// That operands and blindings open the statement's commitments is not checked: a proof with others is rejected.
struct LayerValues {
  LayerOperands operands;
  std::span<const Scalar> blindings;
  const LayerAccumulators& accumulators;
};

class LayerRelation : public Relation {
 public:
  explicit LayerRelation(LayerStatement statement) : statement_(std::move(statement)) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex layer 1"; }
  [[nodiscard]] Verdict sound() const override { return statement_.sound(); }
  [[nodiscard]] ProofShape shape() const override { return statement_.shape(); }
  [[nodiscard]] std::vector<EncodedPoint> statement_rows() const override { return statement_.operands; }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  LayerStatement statement_;
};

[[nodiscard]] Result<Proof> prove_layer(const LayerStatement& statement, const LayerValues& values,
                                        const Generators& generators, ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
