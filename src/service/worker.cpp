#include "service/worker.h"

#include <condition_variable>
#include <thread>

#include "service/findings.h"

namespace zkapex {

namespace {

// Renews the leases of some jobs until it is destroyed.
class Heartbeat {
 public:
  Heartbeat(const std::string& address, const JobRules& rules, std::span<const Job> jobs, const Clock& clock)
      : thread_([this, address, rules, jobs, clock](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto every = std::chrono::seconds(rules.heartbeat);
          while (!wake_.wait_for(lock, stop, every, [&] { return stop.stop_requested(); })) {
            // What fails here fails where the verdict is written, too.
            if (Result<Store> store = Store::open(address)) {
              store->set_rules(rules);
              static_cast<void>(store->heartbeat(jobs, clock()).ok());
            }
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace

Result<Worker> Worker::open(Store store, Blobs& blobs, SigningKey key, WorkerSettings settings, Clock clock) {
  ZKAPEX_TRY(const std::optional<DeploymentInfo> info, store.deployment());
  if (!info) return error("the store has no deployment: zkapex provider init makes one");
  ZKAPEX_TRY(const Bytes bytes, blobs.read(info->file));
  ZKAPEX_TRY(Deployment parsed, Deployment::parse(bytes));
  auto deployment = std::make_unique<Deployment>(std::move(parsed));
  ZKAPEX_TRY(std::optional<BaseRows> base, open_base_option(settings.base, *deployment, *settings.work.pool));
  return Worker(std::move(store), blobs, std::move(key), std::move(settings), std::move(clock), std::move(deployment),
                std::move(base));
}

Result<size_t> Worker::run_once() {
  ZKAPEX_TRY(const std::vector<Job> jobs, store_.claim(settings_.name, settings_.batch, clock_()));
  if (jobs.empty()) return size_t{0};
  const Heartbeat heartbeat(settings_.store, store_.rules(), jobs, clock_);
  std::vector<Case> cases;
  for (const Job& job : jobs) {
    Result<Bytes> file = blobs_->read(job.delivery.announced.file);
    if (file) {
      cases.push_back({job, *std::move(file)});
    } else {
      ZKAPEX_CHECK(store_.fail(job, file.error().message, clock_()));
    }
  }
  const auto conclusions = [&]() -> Result<std::vector<Conclusion>> {
    StoreRecords records(store_, *blobs_, *deployment_);
    std::vector<std::string> clients;
    for (const Case& one : cases) clients.push_back(one.job.delivery.announced.client);
    ZKAPEX_CHECK(records.look_up(clients));
    const Announcement& first = jobs.front().delivery.announced;
    std::optional<WindowInfo> window;
    if (first.kind == DeliveryKind::kSubmission) {
      ZKAPEX_TRY(window, store_.window(first.window));
      if (!window) return error("the store has no window {}", first.window);
    }
    ZKAPEX_TRY(const std::vector<Finding> findings,
               examine_cases(records, base_ ? &*base_ : nullptr, cases, window, settings_.work));
    ZKAPEX_TRY(const std::vector<Successors> successors,
               keep_successors(records, settings_.carried ? nullptr : blobs_, cases, findings));
    std::vector<Conclusion> out;
    for (size_t k = 0; k < cases.size(); ++k) {
      ZKAPEX_TRY(Conclusion one,
                 conclusion_of(records, cases[k].job, findings[k], successors[k], window, key_, clock_()));
      one.carried = settings_.carried;
      out.push_back(std::move(one));
    }
    return out;
  }();
  if (!conclusions) {
    for (const Case& one : cases) ZKAPEX_CHECK(look_for_state(one.job.delivery.announced));
    for (const Case& one : cases) ZKAPEX_CHECK(store_.fail(one.job, conclusions.error().message, clock_()));
    return jobs.size();
  }
  // A connection that was lost leaves open what happened; where it did happen, the tokens are spent.
  if (!store_.conclude(*conclusions, clock_())) {
    ZKAPEX_CHECK(store_.conclude(*conclusions, clock_()));
  }
  return jobs.size();
}

Status Worker::look_for_state(const Announcement& delivery) {
  if (!settings_.carried) return Done{};
  ZKAPEX_TRY(const std::vector<BlobName> files, store_.state_of(delivery, true));
  for (const BlobName& file : files) {
    if (!blobs_->read(file)) {
      ZKAPEX_CHECK(store_.lose_state(delivery.client, file.sha256));
    }
  }
  return Done{};
}

}  // namespace zkapex
