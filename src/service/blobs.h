// Files by their SHA-256: what clients upload and what the provider publishes. Nothing is ever changed under a name.
#pragma once

#include <memory>

#include "base/files.h"
#include "service/store_types.h"

namespace zkapex {

// An upload on its way into the store: nothing is visible before finish().
class BlobWriter {
 public:
  BlobWriter() = default;
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;
  virtual ~BlobWriter() = default;

  // More than was promised is an error.
  [[nodiscard]] virtual Status write(ByteView bytes) = 0;
  // On disk, under its name. False, and nothing is kept, where length or digest are not the promised ones.
  [[nodiscard]] virtual Result<bool> finish() = 0;
};

class Blobs {
 public:
  Blobs() = default;
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;
  virtual ~Blobs() = default;

  // Safe to call from any thread.
  [[nodiscard]] virtual Result<std::unique_ptr<BlobWriter>> write(const BlobName& promised) = 0;
  // Checked against its name: a blob that is missing or damaged is an error.
  [[nodiscard]] virtual Result<Bytes> read(const BlobName& name) = 0;
  [[nodiscard]] virtual Result<bool> has(const BlobName& name) = 0;
  // For good; one that is not there is none any more.
  [[nodiscard]] virtual Status remove(const BlobName& name) = 0;
};

// What is in memory, on disk under its name.
[[nodiscard]] Result<BlobName> put_blob(Blobs& blobs, ByteView bytes);

// FOLDER/sha256/ab/cd/HEX.
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_blob_folder(const Path& folder);

}  // namespace zkapex
