// A window as its client computes it: from the files that it starts from to the proof and to the state after it.
// Nothing is written here.
#pragma once

#include "base/decimal.h"
#include "base/stopwatch.h"
#include "parties/client.h"
#include "parties/client_folder.h"
#include "parties/secret_file.h"

namespace zkapex {

// How far a guide may draw a tensor, in the size of its weights, unless the client says otherwise.
inline constexpr Decimal kMaxGuide{.digits = 5, .places = 1};

struct WindowSources {
  Path client;  // folder
  Path mask;
  Path model, store;  // where they are now, if not where they were at registration; empty otherwise
  Decimal max_guide = kMaxGuide;
};

// What the client's windows are verified against, as the provider has it: from its registration, or its last update.
[[nodiscard]] Result<Registered> read_registered(const ClientFolder& folder, const Deployment& deployment,
                                                 const ClientSecret& secret);

// All that a window needs, read and checked: the files belong together, the window was not applied before, its mask
// keeps what the last one removed, and where no operator reaches the checkpoint is the one that was registered.
struct WindowInputs {
  Deployment deployment;
  Registered registered;
  OpenSecret state;
  Mask mask;
  std::optional<Mask> last_mask;  // of the last window that was settled
  Path model_file, store_file;
  Checkpoint model;
  StoreReader store;
  Decimal max_guide;

  static Result<WindowInputs> open(const WindowSources& sources);
  // The client that they make up. They outlive it.
  [[nodiscard]] Result<Client> client() const;
};

struct ComputedWindow {
  UnlearnedModel after;
  ProofFile proof;
  ClientSecret next;  // what opens the model after the window
  ObsSummary summary;
};

[[nodiscard]] Estimate estimate_of(const WindowInputs& inputs, const WindowPlan& plan, ThreadPool& pool);

// Refused: a guide beyond the limit. The proof was verified, as the provider will. `scratch`: a folder on disk.
[[nodiscard]] Result<ComputedWindow> compute_window(const WindowInputs& inputs, const Path& scratch,
                                                    const WorkSettings& settings, Timings& seconds);

}  // namespace zkapex
