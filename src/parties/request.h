// A window's request, from scores and a guide to its file.
#pragma once

#include "parties/work.h"
#include "unlearning/mask.h"

namespace zkapex {

// Decimals are texts, so that they are what was written.
struct RequestOptions {
  Path deployment, out;
  std::string window;
  Path scores;        // one for each covered weight; empty, with the ratio, where nothing is removed
  std::string ratio;  // how many of the highest
  Path after;         // the last window's request, which this one contains; empty: none
  std::string op;     // empty: guided with a guide, else group-obs
  Path guide_from, guide_base;
  std::string method = "unnamed";
  double guide_scale = 1;
  uint64_t pull = Guidance::kUsualPull;
  std::string progress = "0.2", distance = "1", distance_removed = "2";
  std::string nonce;  // 64 hexadecimal digits; empty: a fresh one
};
struct RequestReport {
  Mask mask;
  uint64_t covered = 0;
  size_t before = 0;  // coordinates of the request before
  size_t file_bytes = 0;
  Sha256::Digest sha256{};
  std::vector<std::string> warnings;
};
[[nodiscard]] Result<RequestReport> make_request(const RequestOptions& options, const WorkSettings& settings);

// About a mask that removes all there is.
[[nodiscard]] std::vector<std::string> mask_warnings(uint64_t masked, uint64_t covered);

}  // namespace zkapex
