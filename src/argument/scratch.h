// Long vectors of scalars that wait for the end of a proof: in memory, or in a scratch file. What is in them is as
// secret as the witness.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "algebra/scalar.h"
#include "base/scratch_file.h"

namespace zkapex {

// A vector that was put away. Any thread may load it.
class KeptVector {
 public:
  KeptVector() = default;
  KeptVector(std::vector<Scalar> values)  // NOLINT: implicit by design
      : memory_(std::move(values)) {}

  [[nodiscard]] Result<std::vector<Scalar>> load() const;
  // Puts away other values instead, at most as many as there were.
  [[nodiscard]] Status replace(std::vector<Scalar> values);
  [[nodiscard]] size_t size() const { return file_ == nullptr ? memory_.size() : size_; }

 private:
  friend class Scratch;
  KeptVector(std::shared_ptr<ScratchFile> file, uint64_t offset, size_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}
  [[nodiscard]] Status write(std::span<const Scalar> values);

  std::vector<Scalar> memory_;
  std::shared_ptr<ScratchFile> file_;
  uint64_t offset_ = 0;
  size_t size_ = 0;
};

class Scratch {
 public:
  // Everything stays in memory.
  Scratch() = default;
  // In a file in `folder`.
  [[nodiscard]] static Result<Scratch> in(const Path& folder);

  // From any thread.
  [[nodiscard]] Result<KeptVector> keep(std::vector<Scalar> values);

 private:
  struct Disk {
    std::shared_ptr<ScratchFile> file;
    std::atomic<uint64_t> size = 0;  // of what is in it
  };
  std::shared_ptr<Disk> disk_;
};

}  // namespace zkapex
