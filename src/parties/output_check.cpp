#include "parties/output_check.h"

#include "base/outputs.h"
#include "parties/secret_file.h"

namespace zkapex {

namespace {

bool is_secret(const Path& path) {
  std::array<uint8_t, ClientSecret::kKind.magic.size()> magic{};
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const auto file = FileReader::open(path);
  return file.ok() && file->size() >= magic.size() && file->read_at(0, magic).ok() &&
         std::ranges::equal(magic, view(ClientSecret::kKind.magic));
}

}  // namespace

Status check_output(const Path& path, bool force, const std::vector<Path>& inputs) {
  if (is_secret(path)) return error("{} is a client's secret state; nothing replaces that", path.string());
  ZKAPEX_CHECK(check_no_record(path));
  return check_outputs({path}, inputs, force);
}

}  // namespace zkapex
