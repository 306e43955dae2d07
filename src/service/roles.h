// The running service: the roles api, work and log in one process, or apart.
#pragma once

#include <atomic>
#include <condition_variable>
#include <thread>

#include "parties/work.h"
#include "service/admin.h"

namespace zkapex {

struct RoleSettings {
  bool api = true, work = true, log = true;
  unsigned workers = 1;  // threads that lease batches; each verifies with all threads of `verifying`
  WorkSettings verifying;
  HttpLimits limits;
  std::optional<uint16_t> port, admin_port;  // in place of the settings'; 0: any that is free
};

// A loop in a thread of its own, until it is told to end.
class RoleLoop {
 public:
  // `round` does what there is to do and says for how long there is nothing more.
  explicit RoleLoop(std::function<std::chrono::milliseconds()> round);
  ~RoleLoop();
  RoleLoop(const RoleLoop&) = delete;
  RoleLoop& operator=(const RoleLoop&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false;
  std::thread thread_;
};

class Service {
 public:
  // All roles run when it returns. A log that may not go on (see Sequencer) is an error. `provider` and `log` outlive
  // it.
  [[nodiscard]] static Result<std::unique_ptr<Service>> start(const ProviderFolder& provider,
                                                              const RoleSettings& settings, RunLog& log, Clock clock);

  // 0 where the role api does not run.
  [[nodiscard]] uint16_t port() const { return public_ ? public_->port() : 0; }
  [[nodiscard]] uint16_t admin_port() const { return admin_ ? admin_->port() : 0; }

  // Requests that have begun end, batches are finished, what is queued for the log is published. True if no request
  // had to be cut.
  bool drain(std::chrono::milliseconds patience);

 private:
  Service(const ProviderFolder& provider, RunLog& log, Clock clock);
  [[nodiscard]] Status start_log();
  [[nodiscard]] Status start_workers(const RoleSettings& settings);
  [[nodiscard]] Status start_api(const RoleSettings& settings);

  const ProviderFolder& provider_;
  RunLog& log_;
  Clock clock_;
  StorePool stores_;
  HttpMetrics metrics_;
  std::atomic<bool> ready_{false};
  std::vector<std::unique_ptr<RoleLoop>> workers_;
  std::unique_ptr<RoleLoop> sequencer_;
  std::optional<HttpServer> public_, admin_;
};

}  // namespace zkapex
