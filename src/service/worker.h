// The role `work`: leases what clients have handed in, verifies it, and writes verdicts.
#pragma once

#include "log/keys.h"
#include "parties/base_model.h"
#include "parties/judge.h"
#include "service/blobs.h"
#include "service/store.h"

namespace zkapex {

struct WorkerSettings {
  std::string name = "worker";
  std::string store;     // its address: leases are kept on a connection of their own while this one's thread verifies
  size_t batch = 48;     // submissions of one window that are verified together
  Path base;             // θ0, where the deployment has an anchor
  bool carried = false;  // clients keep their records
  WorkSettings work;
};

class Worker {
 public:
  // Of the deployment that the store has. `blobs` outlives it.
  [[nodiscard]] static Result<Worker> open(Store store, Blobs& blobs, SigningKey key, WorkerSettings settings,
                                           Clock clock);

  // One batch, from its lease to its verdicts: how many jobs it had; 0 where nothing is due. A fault of the provider's
  // (a blob that cannot be read, say) puts the jobs it concerns back into the queue; an error is one of the database,
  // after which the leases run out.
  [[nodiscard]] Result<size_t> run_once();

 private:
  // Of what the client brought along: files that cannot be read are asked for again.
  [[nodiscard]] Status look_for_state(const Announcement& delivery);

  Worker(Store store, Blobs& blobs, SigningKey key, WorkerSettings settings, Clock clock,
         std::unique_ptr<Deployment> deployment, std::optional<BaseRows> base)
      : store_(std::move(store)),
        blobs_(&blobs),
        key_(std::move(key)),
        settings_(std::move(settings)),
        clock_(std::move(clock)),
        deployment_(std::move(deployment)),
        base_(std::move(base)) {}

  Store store_;
  Blobs* blobs_;
  SigningKey key_;
  WorkerSettings settings_;
  Clock clock_;
  std::unique_ptr<Deployment> deployment_;  // where base_ finds it
  std::optional<BaseRows> base_;
};

}  // namespace zkapex
