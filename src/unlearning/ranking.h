// Which weights to mask: the highest scores over all covered tensors together. Ties go to the smaller coordinate, so
// that every machine gets the same mask from the same scores.
#pragma once

#include <functional>
#include <vector>

#include "base/decimal.h"
#include "weights/checkpoint.h"
#include "weights/layout.h"

namespace zkapex {

// k = round(ratio · d), halves up; an error unless 0 < k and ratio <= 1.
[[nodiscard]] Result<uint64_t> mask_size(const Decimal& ratio, uint64_t coordinates);

// Gives all scores in the order of coordinates, in pieces of any size. It is called more than once and must give the
// same each time.
using ScoreVisitor = std::function<Status(std::span<const double>)>;
using ScoreSource = std::function<Status(const ScoreVisitor&)>;

// The `count` coordinates with the highest scores, increasing. A NaN is an error that gives its coordinate.
// Memory beyond the answer is constant: the threshold is found digit by digit in a few passes over the scores.
[[nodiscard]] Result<std::vector<uint64_t>> top_coordinates(const ScoreSource& scores, uint64_t coordinates,
                                                            uint64_t count);

// The scores of a checkpoint that has, for each covered tensor, one of that name and size.
[[nodiscard]] Result<ScoreSource> checkpoint_scores(const Layout& layout, const Checkpoint& scores);

}  // namespace zkapex
