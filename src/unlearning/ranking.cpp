#include "unlearning/ranking.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/wide.h"

namespace zkapex {

namespace {

// A key that orders doubles as integers: higher score, higher key; -0 is 0.
uint64_t order_key(double score) {
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
}

// All keys with their coordinates; NaN and a wrong number of scores are errors.
template <class Visit>
Status for_each_key(const ScoreSource& scores, uint64_t coordinates, Visit visit) {
  uint64_t coordinate = 0;
  ZKAPEX_CHECK(scores([&](std::span<const double> piece) -> Status {
    if (piece.size() > coordinates - coordinate)
      return error("there are more scores than the {} covered weights", coordinates);
    for (const double score : piece) {
      if (std::isnan(score)) return error("the score of coordinate {} is not a number", coordinate);
      visit(order_key(score), coordinate++);
    }
    return Done{};
  }));
  if (coordinate != coordinates) return error("there are {} scores for {} covered weights", coordinate, coordinates);
  return Done{};
}

}  // namespace

Result<uint64_t> mask_size(const Decimal& ratio, uint64_t coordinates) {
  uint64_t scale = 1;
  for (uint32_t k = 0; k < ratio.places; ++k) scale *= 10;
  if (ratio.digits > scale) return error("a mask ratio of {} is over 1", ratio.text());
  const uint128 twice = static_cast<uint128>(ratio.digits) * coordinates * 2 + scale;
  const auto count = static_cast<uint64_t>(twice / (static_cast<uint128>(scale) * 2));
  if (count == 0) return error("a mask ratio of {} selects none of {} weights", ratio.text(), coordinates);
  return count;
}

Result<std::vector<uint64_t>> top_coordinates(const ScoreSource& scores, uint64_t coordinates, uint64_t count) {
  if (count == 0 || count > coordinates) return error("cannot select {} of {} weights", count, coordinates);
  // The count-th highest key, sixteen bits at a time from the top: `wanted` is its rank among the keys that share the
  // bits found so far.
  constexpr unsigned kDigitBits = 16;
  uint64_t threshold = 0, wanted = count;
  for (unsigned shift = 64; shift > 0;) {
    const unsigned above = shift;
    shift -= kDigitBits;
    std::vector<uint64_t> histogram(size_t{1} << kDigitBits);
    ZKAPEX_CHECK(for_each_key(scores, coordinates, [&](uint64_t key, uint64_t) {
      if (above == 64 || key >> above == threshold >> above) ++histogram[key >> shift & (histogram.size() - 1)];
    }));
    size_t digit = histogram.size() - 1;
    for (; histogram[digit] < wanted; --digit) wanted -= histogram[digit];
    threshold |= static_cast<uint64_t>(digit) << shift;
  }
  std::vector<uint64_t> out;
  out.reserve(count);
  ZKAPEX_CHECK(for_each_key(scores, coordinates, [&](uint64_t key, uint64_t coordinate) {
    if (key > threshold || (key == threshold && wanted > 0)) {
      wanted -= key == threshold ? 1 : 0;
      out.push_back(coordinate);
    }
  }));
  if (out.size() != count) return error("the scores changed while they were read");
  return out;
}

Result<ScoreSource> checkpoint_scores(const Layout& layout, const Checkpoint& scores) {
  std::vector<TensorView> parts;
  for (const size_t k : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[k];
    ZKAPEX_TRY(TensorView view, scores.get(t.name));
    if (view.count() != t.count)
      return error("tensor '{}' has {} scores for {} weights", t.name, view.count(), t.count);
    parts.push_back(std::move(view));
  }
  return ScoreSource([parts = std::move(parts)](const ScoreVisitor& visit) -> Status {
    std::array<double, 4096> piece;
    for (const TensorView& part : parts) {
      for (uint64_t done = 0; done < part.count(); done += piece.size()) {
        const std::span<double> now(piece.data(), std::min<uint64_t>(piece.size(), part.count() - done));
        ZKAPEX_CHECK(part.read(done, now));
        if (const Status status = visit(now); !status.ok()) return status.error().within(part.name());
      }
    }
    return Done{};
  });
}

}  // namespace zkapex
