#include "attestation/inputs.h"

#include "unlearning/apply.h"

namespace zkapex {

Result<Deployment> read_deployment(const Path& path) {
  ZKAPEX_TRY(const Bytes bytes, read_file(path, Deployment::kMaxFileBytes));
  Result<Deployment> deployment = Deployment::parse(bytes);
  if (!deployment) return deployment.error().within(path.string());
  return deployment;
}

Result<Mask> read_mask(const Path& path, const Deployment& deployment) {
  ZKAPEX_TRY(const Bytes bytes, read_file(path, Mask::kMaxFileBytes));
  Result<Mask> mask = Mask::parse(bytes);
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
