// The client's side: its folder, and registration. The state of a client is a folder:
//   deployment.zka     a copy of the provider's
//   registration.zka   public: commitments and range proof
//   secret.zka         private: integers and openings, replaced as a whole by every window that was accepted
//   mask.zka           of the last of these windows, which later masks must contain
//   settled-proof.zka  the proof of that window that was accepted
//   pending/           what windows left that are not settled yet: see parties/pending.h
#pragma once

#include <chrono>

#include "argument/generators.h"
#include "attestation/files.h"
#include "base/memory.h"
#include "base/progress.h"
#include "unlearning/deployment.h"

namespace zkapex {

struct ClientFolder {
  Path folder;
  [[nodiscard]] Path deployment() const { return folder / "deployment.zka"; }
  [[nodiscard]] Path registration() const { return folder / "registration.zka"; }
  [[nodiscard]] Path secret() const { return folder / "secret.zka"; }
  [[nodiscard]] Path mask() const { return folder / "mask.zka"; }
  [[nodiscard]] Path settled_proof() const { return folder / "settled-proof.zka"; }
  [[nodiscard]] Path pending() const { return folder / "pending"; }
  [[nodiscard]] Path settling() const { return folder / "settling"; }  // while an attempt becomes the state
};

// How to work: what commands share.
struct WorkSettings {
  ThreadPool* pool = nullptr;
  Path cache;                             // of generators
  uint64_t memory = uint64_t{640} << 20;  // the prover's working memory is cut to this
  ProgressStyle progress = ProgressStyle::kSilent;
  bool force = false;  // replace outputs that exist
};

// Seconds spent in the parts of a command, by name, in order.
using Timings = std::vector<std::pair<std::string, double>>;

class Stopwatch {
 public:
  explicit Stopwatch(Timings& out) : out_(out) {}
  // What was done since the last lap.
  void lap(std::string name) {
    const auto now = std::chrono::steady_clock::now();
    out_.emplace_back(std::move(name), std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  Timings& out_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct RegisterRequest {
  Path deployment, model, store;
  std::string client;
  bool certificate = true;
  Path out;  // the client's folder
};
struct RegisterReport {
  Sha256::Digest registration{};  // the frame's digest, and that of the whole file
  Sha256::Digest registration_sha256{};
  size_t registration_bytes = 0;
  Timings seconds;
};
[[nodiscard]] Result<RegisterReport> register_client(const RegisterRequest& request, const WorkSettings& settings);

// How many covered rows are proved together within a memory budget, and curvature rows for the certificate.
[[nodiscard]] uint64_t rows_per_segment(const Deployment& deployment, uint64_t memory);
[[nodiscard]] uint64_t curvature_rows_per_unit(const Deployment& deployment, uint64_t memory);

// Generators for at least `count` positions; small sets are not worth a file.
[[nodiscard]] Generators load_generators(size_t count, const WorkSettings& settings);

}  // namespace zkapex
