#include "argument/scratch.h"

namespace zkapex {

Result<Scratch> Scratch::in(const Path& folder) {
  ZKAPEX_TRY(ScratchFile file, ScratchFile::in(folder));
  Scratch out;
  out.file_ = std::make_shared<ScratchFile>(std::move(file));
  return out;
}

// The bytes are the scalars' words as they are in memory: the file never leaves the process.
Result<KeptVector> Scratch::keep(std::vector<Scalar> values) {
  if (file_ == nullptr) return KeptVector(std::move(values));
  const ByteView bytes(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(Scalar));
  ZKAPEX_CHECK(file_->write(size_, bytes));
  KeptVector out(file_, size_, values.size());
  size_ += bytes.size();
  return out;
}

Result<std::vector<Scalar>> KeptVector::load() const {
  if (file_ == nullptr) return memory_;
  std::vector<Scalar> out(size_);
  ZKAPEX_CHECK(file_->read(offset_, {reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(Scalar)}));
  return out;
}

}  // namespace zkapex
