#include "exchange/paths.h"

#include <fmt/format.h>

namespace zkapex::paths {

std::string window_file(const Sha256::Digest& mask) { return fmt::format("{}/{}/psi.zka", kWindows, to_hex(mask)); }
std::string upload(const Sha256::Digest& id) { return fmt::format("{}/{}", kUploads, to_hex(id)); }
std::string upload_state(const Sha256::Digest& id, const Sha256::Digest& file) {
  return fmt::format("{}/state/{}", upload(id), to_hex(file));
}
std::string submission(const Sha256::Digest& id) { return fmt::format("{}/{}", kSubmissions, to_hex(id)); }
std::string submission_receipt(const Sha256::Digest& id) { return submission(id) + "/receipt"; }

}  // namespace zkapex::paths
