// Clients as the provider imagines them: its own model, fine-tuned on its own data in a made-up domain.
#pragma once

#include "base/progress.h"
#include "base/threads.h"
#include "curvature/build.h"
#include "learning/rehearsal.h"
#include "learning/training.h"

namespace zkapex {

// Domains that are made up by default: styles of images (data/styles.h), or for text parts of the files, "1/2" and
// "2/2".
[[nodiscard]] std::vector<std::string> default_domains(const SampleSet& retain);

// An error for one that there is not for such data.
[[nodiscard]] Status check_domain(const SampleSet& retain, const std::string& domain);

struct SimulationOptions {
  TrainingOptions training{.epochs = 2, .batch = 32, .rate = 2e-4};
  Damping damping = {};
  int64_t fisher_samples = 1024;
  uint64_t seed = 0;

  [[nodiscard]] std::string text() const;
};

// What all clients of a rehearsal have in common.
struct Simulation {
  const Model& original;  // θ0
  const SampleSet& retain;
  const InputFormat& format;
  const Deployment& deployment;
  std::span<const uint64_t> masked;  // what the request removes, and
  uint64_t pull;                     // how strongly it draws
  SimulationOptions options;
  std::filesystem::path folder;  // where their models and stores are kept
  ThreadPool& pool;
  ProgressStyle progress = ProgressStyle::kSilent;

  // The client of a domain, or θ0 itself where that is empty; what an earlier call has left in the folder is used.
  [[nodiscard]] Result<SimulatedClient> client(const std::string& domain) const;

  // Its files.
  [[nodiscard]] std::filesystem::path model(const std::string& client) const;
  [[nodiscard]] std::filesystem::path store(const std::string& client) const;

 private:
  [[nodiscard]] Result<std::unique_ptr<Model>> trained(const std::string& name, const Samples& samples) const;
};

}  // namespace zkapex
