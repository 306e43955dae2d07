#include "weights/row_length.h"

#include <algorithm>
#include <bit>

namespace zkapex {

uint64_t default_row_length(uint64_t block, uint64_t covered_weights) {
  const uint64_t longest = uint64_t{1} << 17, shortest = 256;
  uint64_t length = shortest;
  while (length < longest && length * length / 256 < covered_weights) length *= 2;
  return std::max(length, std::bit_ceil(block));
}

}  // namespace zkapex
