// A client's registration, from files to its folder.
#pragma once

#include "base/hash.h"
#include "base/stopwatch.h"
#include "parties/client_folder.h"
#include "parties/work.h"

namespace zkapex {

struct RegisterRequest {
  Path deployment, model, store;
  Path base = {};  // θ0, where the deployment has an anchor
  std::string client;
  Path out;  // the client's folder
};
struct RegisterReport {
  Sha256::Digest registration{};  // the frame's digest, and that of the whole file
  Sha256::Digest registration_sha256{};
  size_t registration_bytes = 0;
  Timings seconds;
};
// What that would take; nothing is written.
[[nodiscard]] Result<Estimate> estimate_registering(const RegisterRequest& request, const WorkSettings& settings);
[[nodiscard]] Result<RegisterReport> register_client(const RegisterRequest& request, const WorkSettings& settings);

}  // namespace zkapex
