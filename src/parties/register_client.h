// A client's registration, from files to its folder.
#pragma once

#include "base/hash.h"
#include "base/stopwatch.h"
#include "parties/client_folder.h"
#include "parties/work.h"

namespace zkapex {

struct RegisterRequest {
  Path deployment, model, store;
  std::string client;
  Path out;  // the client's folder
};
struct RegisterReport {
  Sha256::Digest registration{};  // the frame's digest, and that of the whole file
  Sha256::Digest registration_sha256{};
  size_t registration_bytes = 0;
  Timings seconds;
};
[[nodiscard]] Result<RegisterReport> register_client(const RegisterRequest& request, const WorkSettings& settings);

}  // namespace zkapex
