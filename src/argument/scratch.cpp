#include "argument/scratch.h"

namespace zkapex {

Result<Scratch> Scratch::in(const Path& folder) {
  ZKAPEX_TRY(ScratchFile file, ScratchFile::in(folder));
  Scratch out;
  out.disk_ = std::make_shared<Disk>();
  out.disk_->file = std::make_shared<ScratchFile>(std::move(file));
  return out;
}

Result<KeptVector> Scratch::keep(std::vector<Scalar> values) {
  if (disk_ == nullptr) return KeptVector(std::move(values));
  KeptVector out(disk_->file, disk_->size.fetch_add(values.size() * sizeof(Scalar)), values.size());
  ZKAPEX_CHECK(out.write(values));
  return out;
}

// The bytes are the scalars' words as they are in memory: the file never leaves the process.
Status KeptVector::write(std::span<const Scalar> values) {
  return file_->write(offset_, {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

Status KeptVector::replace(std::vector<Scalar> values) {
  if (file_ == nullptr) {
    memory_ = std::move(values);
    return Done{};
  }
  size_ = values.size();
  return write(values);
}

Result<std::vector<Scalar>> KeptVector::load() const {
  if (file_ == nullptr) return memory_;
  std::vector<Scalar> out(size_);
  ZKAPEX_CHECK(file_->read(offset_, {reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(Scalar)}));
  return out;
}

}  // namespace zkapex
