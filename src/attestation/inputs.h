// The files that clients and providers begin with, read and checked; errors name the file.
#pragma once

#include "attestation/files.h"
#include "base/files.h"
#include "curvature/store.h"

namespace zkapex {

[[nodiscard]] Result<Deployment> read_deployment(const Path& path);
// Only one that was made for the deployment.
[[nodiscard]] Result<Mask> read_mask(const Path& path, const Deployment& deployment);
[[nodiscard]] Result<StoreReader> open_store(const Path& path, const Deployment& deployment);

// RegistrationFile, ProofFile or ModelCommitment.
template <class File>
[[nodiscard]] Result<File> read_public_file(const Path& path) {
  ZKAPEX_TRY(const Bytes bytes, read_file(path, kMaxPublicFile));
  Result<File> file = File::decode(bytes);
  if (!file) return file.error().within(path.string());
  return file;
}

}  // namespace zkapex
