#include "attestation/inputs.h"

#include "base/file_kind.h"
#include "unlearning/apply.h"

namespace zkapex {

namespace {

// What is too long to be read is still told what it is: a checkpoint, mostly, in the place of another file.
Result<Bytes> read_kind(const Path& path, size_t most, const FileKind& kind) {
  Result<Bytes> bytes = read_file(path, most);
  std::error_code ignored;
  if (bytes || !std::filesystem::is_regular_file(path, ignored)) return bytes;
  const Result<FileReader> file = FileReader::open(path);
  if (!file) return bytes;
  Bytes start(std::min<uint64_t>(file->size(), 4096));
  if (!file->read_at(0, start)) return bytes;
  const std::string_view found = kind_of_file(start);
  if (found.empty() || found == kind.name) return bytes;
  return wrong_kind(start, kind.name).within(path.string());
}

}  // namespace

Result<Deployment> read_deployment(const Path& path) {
  ZKAPEX_TRY(const Bytes bytes, read_kind(path, Deployment::kMaxFileBytes, Deployment::kKind));
  Result<Deployment> deployment = Deployment::parse(bytes);
  if (!deployment) return deployment.error().within(path.string());
  return deployment;
}

Result<Mask> read_mask(const Path& path, const Deployment& deployment) {
  ZKAPEX_TRY(const Bytes bytes, read_kind(path, Mask::kMaxFileBytes, Mask::kKind));
  Result<Mask> mask = Mask::parse(bytes, deployment.layout().coordinates());
  if (!mask) return mask.error().within(path.string());
  if (const Status fits = mask->check_for(deployment); !fits) return fits.error().within(path.string());
  return mask;
}

Result<StoreReader> open_store(const Path& path, const Deployment& deployment) {
  ZKAPEX_TRY(StoreReader store, StoreReader::open(path));
  if (store.header() != store_header_for(deployment)) {
    return error("{}: the curvature store was made for another deployment, or with other parameters", path.string());
  }
  return store;
}

}  // namespace zkapex
