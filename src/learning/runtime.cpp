#include "learning/runtime.h"

#include <ATen/Version.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/processors.h"
#include "learning/torch.h"

namespace zkapex {

namespace fs = std::filesystem;

void start_libtorch(unsigned threads) {
  if (threads == 0) threads = free_processors();
  at::set_num_threads(static_cast<int>(threads));
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  // cuBLAS is deterministic only with a workspace of its own per stream; what the user has set stays.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
}

Result<Placement> placement_on(const std::string& device) {
  return catch_torch([&]() -> Result<Placement> {
    const at::Device parsed(device);
    if (parsed.is_cpu()) return Placement{at::kFloat, parsed};
    if (!parsed.is_cuda()) return error("the device '{}' is not supported (cpu, cuda)", device);
    if (!at::hasCUDA()) {
      return error("there is no GPU for '{}', or this libtorch is built without CUDA: use --device cpu", device);
    }
    const int there = at::detail::getCUDAHooks().getNumGPUs();
    if (parsed.index() >= there) return error("there is no GPU for '{}': {} found", device, there);
    return Placement{at::kFloat, parsed};
  });
}

void wait_for(const at::Device& device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

Result<std::string> file_digest(const fs::path& path) {
  ZKAPEX_TRY(const MappedFile file, MappedFile::open(path));
  return to_hex(sha256(file.bytes()));
}

Result<nlohmann::json> model_digests(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".safetensors" || path.filename().string().ends_with("config.json")) files.push_back(path);
  }
  if (code) return error("{} cannot be read: {}", directory.string(), code.message());
  std::ranges::sort(files);
  nlohmann::json out = nlohmann::json::object();
  for (const fs::path& path : files) {
    ZKAPEX_TRY(const std::string digest, file_digest(path));
    out[path.filename().string()] = digest;
  }
  return out;
}

nlohmann::json runtime_versions(const Placement& placement) {
  return {{"program", ZKAPEX_VERSION},
          {"libtorch", TORCH_VERSION},
          {"threads", at::get_num_threads()},
          {"device", placement.device.str()}};
}

}  // namespace zkapex
