// What several tests of this room need.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "learning/torch.h"

namespace zkapex {

inline const std::filesystem::path kTestData = "src/learning/testdata";

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / fmt::format("zkapex_{}_{}", name, ::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// max |a − b| relative to max |b|.
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  if (x.sizes() != y.sizes()) return std::numeric_limits<double>::infinity();
  return ((x - y).abs().max() / y.abs().max()).item<double>();
}

}  // namespace zkapex
