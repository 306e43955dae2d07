// The batch functions of point.h over given kernels.
#pragma once

#include "algebra/group_kernels.h"
#include "algebra/point.h"

namespace zkapex {

[[nodiscard]] std::vector<std::array<uint8_t, 32>> encode_batch(const GroupKernels& kernels,
                                                                std::span<const Point> points, ThreadPool* pool);
[[nodiscard]] Result<std::vector<Point>> decode_batch(const GroupKernels& kernels,
                                                      std::span<const std::array<uint8_t, 32>> encodings,
                                                      ThreadPool* pool);
[[nodiscard]] std::vector<Point> from_uniform_bytes_batch(const GroupKernels& kernels,
                                                          std::span<const std::array<uint8_t, 64>> inputs,
                                                          ThreadPool* pool);

}  // namespace zkapex
