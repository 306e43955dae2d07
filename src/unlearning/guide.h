// Δ, where a request draws the weights that it does not remove: −m, 0 or m for each of them, with a magnitude m for
// each Fisher block. Public, and a part of the request.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/wide.h"
#include "weights/layout.h"

namespace zkapex {

class Deployment;

struct Guide {
  static constexpr unsigned kTritsPerByte = 5, kTopLevel = 15;

  std::vector<uint64_t> scales;  // of each covered tensor: the magnitude of its top level, in units of 2^-f
  std::vector<uint8_t> levels;   // of each Fisher block, 0 to kTopLevel
  std::vector<uint8_t> trits;  // of each coordinate outside the mask, in order: 0, 1, 2 for 0, +1, −1, five to a byte

  bool operator==(const Guide&) const = default;

  // m of a level: 0 for none, else scale / √2^(15 − level), rounded down in both steps.
  [[nodiscard]] static uint64_t magnitude(uint64_t scale, unsigned level);

  // As many of everything as the deployment and the mask say, and all within their ranges; unused trits are zero.
  [[nodiscard]] Status check_for(const Deployment& deployment, std::span<const uint64_t> masked) const;

  void serialize(ByteWriter& out) const;
  static Result<Guide> parse(ByteReader& in);
};

// A guide by Fisher block. Layout, mask and guide, which was checked for them, outlive it.
class GuideReader {
 public:
  GuideReader(const Layout& layout, std::span<const uint64_t> masked, const Guide& guide);

  [[nodiscard]] uint64_t magnitude(uint64_t block) const;
  // One of −1, 0, 1 for each weight of the block; 0 on the mask.
  void signs(uint64_t block, std::span<int8_t> out) const;
  // Δ of each weight of the block.
  void read(uint64_t block, std::span<int64_t> out) const;
  // Σ Δ² of each covered tensor.
  [[nodiscard]] std::vector<Wide> squares() const;

 private:
  const Layout& layout_;
  std::span<const uint64_t> masked_;
  const Guide& guide_;
  std::vector<size_t> covered_;  // tensor → its number among the covered ones
};

// Makes a guide of any displacement of the weights: in each block those above 0.7 of the mean size count, and their
// mean size is the block's magnitude (after Li and others, Ternary Weight Networks, 2016).
class GuideMaker {
 public:
  // Both outlive it.
  GuideMaker(const Deployment& deployment, std::span<const uint64_t> masked)
      : deployment_(deployment), masked_(masked) {}

  // The displacement of the next Fisher block, in the order of the layout; what it says of masked weights is left out.
  // NaN, infinity and magnitudes beyond the largest weight are errors.
  [[nodiscard]] Status add_block(std::span<const double> displacement);
  // After the last block.
  [[nodiscard]] Guide finish() const;

 private:
  void add_trit(unsigned trit);

  const Deployment& deployment_;
  std::span<const uint64_t> masked_;
  size_t next_masked_ = 0;
  uint64_t trit_count_ = 0;
  std::vector<uint8_t> trits_;
  std::vector<double> magnitudes_;  // of each block, in units of 2^-f
};

}  // namespace zkapex
