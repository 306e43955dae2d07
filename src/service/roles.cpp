#include "service/roles.h"

#include "log/sequencer.h"
#include "service/log_tables.h"
#include "service/retention.h"
#include "service/witness_post.h"
#include "service/worker.h"

namespace zkapex {

namespace {

using namespace std::chrono_literals;

constexpr size_t kEntriesOfARound = 4096;
constexpr auto kSequencerPause = 100ms, kWorkerPause = 200ms, kTroublePause = 2000ms;
constexpr std::chrono::milliseconds kRetentionPause = 10min, kRetentionBreath = 50ms;  // when others may write

// One connection and the sequencer on it. After an error both are made anew: the connection may be lost.
class SequencerRole {
 public:
  SequencerRole(const ProviderFolder& provider, RunLog& log) : provider_(provider), log_(log) {}

  Status open() {
    ZKAPEX_TRY(Store store, provider_.open_store());
    ZKAPEX_TRY(SigningKey key, provider_.read_log_key());
    store_.emplace(std::move(store));
    tables_.emplace(store_->database());
    SequencerSettings settings;
    settings.folder = provider_.log();
    settings.origin = provider_.notice().log.name;
    for (const Policy::Witness& witness : provider_.policy().witnesses()) {
      if (!witness.url.empty()) settings.witnesses.push_back({witness.key, witness.url});
    }
    settings.cosignatures = provider_.settings().cosignatures;
    settings.most = kEntriesOfARound;
    if (!settings.witnesses.empty()) settings.post = post_to_witness;
    ZKAPEX_TRY(Sequencer sequencer, Sequencer::open(*tables_, std::move(key), std::move(settings)));
    sequencer_.emplace(std::move(sequencer));
    return Done{};
  }

  Result<SequencerRound> round() {
    if (!sequencer_) {
      ZKAPEX_CHECK(open());
    }
    auto done = sequencer_->run();
    if (!done.ok()) sequencer_.reset();
    return done;
  }

  std::chrono::milliseconds loop() {
    const auto done = round();
    if (!done.ok()) {
      log_.write("error", "log.trouble", {{"detail", done.error().message}});
      return kTroublePause;
    }
    for (const std::string& trouble : done->troubles) log_.write("warning", "witness", {{"detail", trouble}});
    if (done->placed == 0) return kSequencerPause;
    log_.write("info", "log.published", {{"entries", done->placed}, {"size", done->published}});
    // A round takes the disk a dozen times, however few entries it has: more come meanwhile.
    return done->placed < kEntriesOfARound ? kSequencerPause : 0ms;
  }

 private:
  const ProviderFolder& provider_;
  RunLog& log_;
  std::optional<Store> store_;
  std::optional<LogTables> tables_;
  std::optional<Sequencer> sequencer_;
};

class WorkerRole {
 public:
  WorkerRole(const ProviderFolder& provider, RunLog& log, Clock clock, WorkerSettings settings)
      : provider_(provider), log_(log), clock_(std::move(clock)), settings_(std::move(settings)) {}

  Status open() {
    ZKAPEX_TRY(Store store, provider_.open_store());
    ZKAPEX_TRY(Worker worker,
               Worker::open(std::move(store), provider_.blobs(), provider_.statement_key(), settings_, clock_));
    worker_.emplace(std::move(worker));
    return Done{};
  }

  std::chrono::milliseconds loop() {
    if (!worker_) {
      if (const Status opened = open(); !opened.ok()) return trouble(opened.error());
    }
    const auto jobs = worker_->run_once();
    if (!jobs.ok()) {
      worker_.reset();
      return trouble(jobs.error());
    }
    if (*jobs == 0) return kWorkerPause;
    log_.write("info", "work.verified", {{"worker", settings_.name}, {"jobs", *jobs}});
    return 0ms;
  }

 private:
  std::chrono::milliseconds trouble(const Error& error) {
    log_.write("error", "work.trouble", {{"worker", settings_.name}, {"detail", error.message}});
    return kTroublePause;
  }

  const ProviderFolder& provider_;
  RunLog& log_;
  Clock clock_;
  WorkerSettings settings_;
  std::optional<Worker> worker_;
};

// Removes what is kept no longer. Several may: each takes what it finds.
class RetentionRole {
 public:
  RetentionRole(const ProviderFolder& provider, RunLog& log, Clock clock)
      : provider_(provider), log_(log), clock_(std::move(clock)) {}

  std::chrono::milliseconds loop() {
    const auto removed = round();
    if (!removed.ok()) {
      log_.write("error", "retention.trouble", {{"detail", removed.error().message}});
      return kTroublePause;
    }
    for (const std::string& trouble : removed->troubles)
      log_.write("error", "retention.trouble", {{"detail", trouble}});
    if (removed->done == 0) return kRetentionPause;
    log_.write("info", "retention.removed", {{"deliveries", removed->done}});
    return kRetentionBreath;
  }

 private:
  Result<RetentionRound> round() {
    ZKAPEX_TRY(Store store, provider_.open_store());
    return remove_expired(store, provider_.blobs(), provider_.notice().retention_days, clock_);
  }

  const ProviderFolder& provider_;
  RunLog& log_;
  Clock clock_;
};

// Nothing is loaded from elsewhere, nothing is framed, forms go nowhere else.
const std::vector<std::pair<std::string, std::string>> kAdminHeaders = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"}};

Path within(const Path& folder, const std::string& file) { return folder / file; }  // an absolute one stays

}  // namespace

RoleLoop::RoleLoop(std::function<std::chrono::milliseconds()> round) {
  thread_ = std::thread([this, round = std::move(round)] {
    std::unique_lock lock(mutex_);
    while (!end_) {
      lock.unlock();
      const auto pause = round();
      lock.lock();
      wake_.wait_for(lock, pause, [this] { return end_; });
    }
  });
}

RoleLoop::~RoleLoop() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Service::Service(const ProviderFolder& provider, RunLog& log, Clock clock)
    : provider_(provider), log_(log), clock_(std::move(clock)), stores_(provider.store_address()) {}

Result<std::unique_ptr<Service>> Service::start(const ProviderFolder& provider, const RoleSettings& settings,
                                                RunLog& log, Clock clock) {
  std::unique_ptr<Service> service(new Service(provider, log, std::move(clock)));
  if (settings.log) {
    ZKAPEX_CHECK(service->start_log());
  }
  if (settings.work) {
    ZKAPEX_CHECK(service->start_workers(settings));
  }
  if (settings.api) {
    ZKAPEX_CHECK(service->start_api(settings));
  }
  service->ready_.store(true);
  return service;
}

Status Service::start_log() {
  const auto role = std::make_shared<SequencerRole>(provider_, log_);
  // Once before anything else runs: the log has a checkpoint, and a fork is refused before anybody sees it.
  ZKAPEX_CHECK(role->round());
  sequencer_ = std::make_unique<RoleLoop>([role] { return role->loop(); });
  return Done{};
}

Status Service::start_workers(const RoleSettings& settings) {
  ZKAPEX_TRY(const auto id, random_pseudonym());
  for (unsigned k = 0; k < settings.workers; ++k) {
    WorkerSettings worker;
    worker.name = fmt::format("{}-{}", id.substr(0, 8), k);
    worker.store = provider_.store_address();
    if (!provider_.settings().base.empty()) worker.base = within(provider_.folder(), provider_.settings().base);
    worker.carried = provider_.notice().carried;
    worker.work = settings.verifying;
    const auto role = std::make_shared<WorkerRole>(provider_, log_, clock_, worker);
    ZKAPEX_CHECK(role->open());
    workers_.push_back(std::make_unique<RoleLoop>([role] { return role->loop(); }));
  }
  const auto retention = std::make_shared<RetentionRole>(provider_, log_, clock_);
  workers_.push_back(std::make_unique<RoleLoop>([retention] { return retention->loop(); }));
  return Done{};
}

Status Service::start_api(const RoleSettings& settings) {
  const ApiContext api{provider_, stores_, log_, clock_};
  const auto observer = [this](std::string_view listener) {
    return [this, listener](const HttpServed& served) {
      if (listener == "public") metrics_.observe(served);
      log_.write("info", "http",
                 {{"listener", listener},
                  {"method", served.method.substr(0, 16)},
                  {"route", served.route},
                  {"status", served.status},
                  {"received", served.received},
                  {"sent", served.sent},
                  {"ms", static_cast<double>(served.took.count() / 10) / 100}});
    };
  };
  const ProviderSettings& chosen = provider_.settings();
  Router router;
  add_api(router, api);
  HttpSettings http;
  http.limits = settings.limits;
  http.listener = {chosen.address, settings.port.value_or(chosen.port), std::nullopt};
  if (!chosen.tls_certificate.empty())
    http.listener.tls =
        HttpTls{within(provider_.folder(), chosen.tls_certificate), within(provider_.folder(), chosen.tls_key)};
  http.headers = {{"X-Content-Type-Options", "nosniff"}};
  http.observer = observer("public");
  ZKAPEX_TRY(HttpServer public_server, HttpServer::start(router, http));
  public_.emplace(std::move(public_server));

  Router admin_router;
  const AdminContext admin{api, AdminAccess(provider_.admin_token()), metrics_, ready_,
                           [this] { return public_->connections(); }};
  add_admin(admin_router, admin);
  add_dashboard(admin_router, admin);
  add_api_reading(admin_router, api);
  HttpSettings admin_http;
  admin_http.limits = settings.limits;
  admin_http.limits.connections = 64;
  admin_http.listener = {chosen.admin_address, settings.admin_port.value_or(chosen.admin_port), std::nullopt};
  admin_http.handler_threads = 2;
  admin_http.headers = kAdminHeaders;
  admin_http.observer = observer("admin");
  ZKAPEX_TRY(HttpServer admin_server, HttpServer::start(admin_router, admin_http));
  admin_.emplace(std::move(admin_server));
  return Done{};
}

bool Service::drain(std::chrono::milliseconds patience) {
  ready_.store(false);
  const bool all = !public_ || public_->drain(patience);
  workers_.clear();
  sequencer_.reset();
  if (admin_) admin_->drain(100ms);
  return all;
}

}  // namespace zkapex
