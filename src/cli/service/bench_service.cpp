// zkapex bench service: simulated clients with real small proofs against the service, over loopback.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "base/first_error.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "cli/network/names.h"
#include "cli/service/bench_clients.h"
#include "cli/service/bench_http.h"
#include "cli/service/bench_workers.h"
#include "cli/service/provider.h"
#include "cli/work.h"
#include "exchange/answers.h"
#include "exchange/paths.h"
#include "parties/admission.h"
#include "parties/judge.h"
#include "parties/ledger.h"
#include "service/log_tables.h"
#include "service/roles.h"
#include "service/write_queue.h"

namespace zkapex::cli {

namespace {

constexpr uint64_t kEntriesOfOthers = 3;

struct ServiceBenchOptions {
  CommonFlags common;
  unsigned clients = 100, connections = 8, polls = 2000, workers = 1, others = 0;
  uint64_t width = 32, hidden = 64;
  std::string store;
};

// A folder that goes with the measurement.
struct BenchFolder {
  Path path = std::filesystem::temp_directory_path() / fmt::format("zkapex-service-{}", std::random_device{}());
  BenchFolder() = default;
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  ~BenchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

class ServiceBench {
 public:
  ServiceBench(const ServiceBenchOptions& options, const BenchWorld& world, const ProviderFolder& provider,
               const Path& scratch, const WorkSettings& settings)
      : options_(options), world_(world), provider_(provider), scratch_(scratch), settings_(settings) {}

  Result<nlohmann::ordered_json> run() {
    std::FILE* quiet = std::fopen("/dev/null", "w");
    RunLog log(quiet, true, system_time);
    RoleSettings front;
    front.work = false;
    front.port = front.admin_port = 0;
    {
      ZKAPEX_TRY(const std::unique_ptr<Service> service, Service::start(provider_, front, log, system_time));
      port_ = service->port();
      ZKAPEX_CHECK(phases());
    }
    std::fclose(quiet);
    for (const auto& [name, figures] : latencies_.figures())
      out_["latency_ms"][name] = {
          {"requests", figures.count}, {"p50", rounded(figures.p50 * 1e3)}, {"p99", rounded(figures.p99 * 1e3)}};
    const auto memory = memory_use();
    if (memory.ok()) out_["peak_rss_bytes"] = memory->peak;
    out_["worker_peak_rss_bytes"] = worker_peak_;
    return std::move(out_);
  }

 private:
  static double rounded(double v) { return std::round(v * 100) / 100; }

  Status phases() {
    ZKAPEX_TRY(Store store, provider_.open_store());
    ZKAPEX_CHECK(wait([&]() -> Result<bool> {
      ZKAPEX_TRY(const SeenTree published, provider_.published_tree());
      return published.size >= kEntriesOfOthers * options_.others;
    }));
    out_["clients"] = world_.clients.size();
    out_["other_clients"] = options_.others;
    out_["connections"] = options_.connections;
    out_["proof_bytes"] = world_.clients.front().proof.size();
    out_["registration_bytes"] = world_.clients.front().registration.size();
    ZKAPEX_CHECK(measured("enrolments_per_second", [&](size_t k, BenchConnection& c) { return enrol(k, c); }));
    ZKAPEX_CHECK(
        measured("registrations_per_second", [&](size_t k, BenchConnection& c) { return send_registration(k, c); }));
    ZKAPEX_CHECK(verified("registrations_verified_per_second", store));
    const UnixTime now = system_time();
    ZKAPEX_TRY(const WindowInfo window,
               publish_request(provider_, store, {world_.mask.serialize(), now, now + 86'400}, now));
    ZKAPEX_CHECK(wait([&]() -> Result<bool> {
      ZKAPEX_TRY(const auto published, store.window(window.id));
      return published && published->index;
    }));
    ZKAPEX_CHECK(
        measured("submissions_per_second", [&](size_t k, BenchConnection& c) { return send_submission(k, c); }));
    ZKAPEX_CHECK(verified("verified_per_second", store));
    ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
    if (tally.accepted != world_.clients.size())
      return error("{} of {} honest clients were accepted", tally.accepted, world_.clients.size());
    ZKAPEX_CHECK(poll());
    ZKAPEX_TRY(const SeenTree published, provider_.published_tree());
    out_["log_entries"] = published.size;
    return compare();
  }

  // Each client once, over all connections.
  template <class Step>
  Status measured(const std::string& name, const Step& step) {
    std::atomic<size_t> next{0};
    FirstError failed;
    Stopwatch watch;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < options_.connections; ++t) {
      threads.emplace_back([&] {
        BenchConnection connection(port_);
        for (size_t k = next++; k < world_.clients.size(); k = next++) failed.note(step(k, connection));
      });
    }
    for (std::thread& thread : threads) thread.join();
    out_[name] = rounded(static_cast<double>(world_.clients.size()) / watch.lap());
    return failed.status();
  }

  Status ask(BenchConnection& connection, const std::string& name, std::string_view method, std::string_view path,
             std::string_view body, std::initializer_list<unsigned> expected) {
    Stopwatch watch;
    ZKAPEX_TRY(const BenchReply reply, connection.send(method, path, body));
    latencies_.add(name, watch.lap());
    if (std::ranges::find(expected, reply.status) == expected.end())
      return error("{} {}: {} {}", method, path, reply.status, reply.body);
    return Done{};
  }

  Status enrol(size_t k, BenchConnection& connection) {
    const BenchClient& client = world_.clients[k];
    const ClientNotice notice{client.name, provider_.notice().deployment, client.key.public_key(), 0, ""};
    ZKAPEX_TRY(Envelope envelope, sign_envelope(notice.encode(), client.key));
    return ask(connection, "POST /v1/clients", "POST", paths::kClients,
               EnrolmentRequest{fmt::format("bench code {}", k), std::move(envelope)}.encode(), {201});
  }

  template <class Notice>
  Status deliver(const Notice& notice, const BenchClient& client, std::string_view path, const Bytes& file,
                 BenchConnection& connection) {
    ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), client.key));
    ZKAPEX_CHECK(ask(connection, fmt::format("POST {}", path), "POST", path, envelope.encode(), {201}));
    return ask(connection, "PUT /v1/uploads/ID", "PUT", paths::upload(envelope.payload_digest()),
               {reinterpret_cast<const char*>(file.data()), file.size()}, {202});
  }

  Status send_registration(size_t k, BenchConnection& connection) {
    const BenchClient& client = world_.clients[k];
    RegistrationNotice notice;
    notice.file = reference_to(client.registration);
    notice.client = client.name;
    notice.deployment = provider_.notice().deployment;
    notice.registration = client.registered;
    ZKAPEX_TRY(notice.seen, provider_.published_tree());
    return deliver(notice, client, paths::kRegistrations, client.registration, connection);
  }

  Status send_submission(size_t k, BenchConnection& connection) {
    const BenchClient& client = world_.clients[k];
    SubmissionNotice notice;
    notice.file = reference_to(client.proof);
    notice.client = client.name;
    notice.window = world_.mask.window;
    notice.deployment = provider_.notice().deployment;
    notice.mask = world_.mask.digest();
    notice.registration = client.registered;
    notice.starts_from = client.starts_from;
    return deliver(notice, client, paths::kSubmissions, client.proof, connection);
  }

  template <class Condition>
  static Status wait(const Condition& condition, std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
    constexpr std::chrono::minutes kPatience{5};
    for (std::chrono::milliseconds waited{0}; waited < kPatience; waited += pause) {
      ZKAPEX_TRY(const bool done, condition());
      if (done) return Done{};
      std::this_thread::sleep_for(pause);
    }
    return error("the service does not come to an end");
  }

  // Worker processes, until nothing waits for a verdict. What they did while they started does not count, nor its time.
  Status verified(const std::string& name, Store& store) {
    ZKAPEX_CHECK(wait([&]() -> Result<bool> {
      ZKAPEX_TRY(const std::vector<QueuedEntry> queued, LogTables(store.database()).queued(1));
      return queued.empty();
    }));
    const size_t threads = std::max<size_t>(1, settings_.pool->size() / options_.workers);
    ZKAPEX_TRY(WorkerProcesses workers,
               WorkerProcesses::start(provider_.folder(), scratch_, options_.workers, threads));
    ZKAPEX_TRY(const QueueCounts before, store.queue());
    Stopwatch watch;
    ZKAPEX_CHECK(wait(
        [&]() -> Result<bool> {
          ZKAPEX_TRY(const QueueCounts queue, store.queue());
          if (queue.dead > 0) return error("{} verifications failed", queue.dead);
          return queue.ready + queue.leased == 0;
        },
        std::chrono::milliseconds(20)));  // the question takes the database's time, too
    out_[name] = rounded(static_cast<double>(before.ready + before.leased) / watch.lap());
    ZKAPEX_TRY(const uint64_t peak, workers.end());
    worker_peak_ = std::max(worker_peak_, peak);
    return Done{};
  }

  Status poll() {
    std::atomic<unsigned> left{options_.polls};
    FirstError failed;
    Stopwatch watch;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < options_.connections; ++t) {
      threads.emplace_back([&] {
        BenchConnection connection(port_);
        while (left.load() > 0 && left.fetch_sub(1) <= options_.polls) {
          failed.note(ask(connection, "GET /v1/windows", "GET", paths::kWindows, "", {200}));
          failed.note(ask(connection, "GET /log/checkpoint", "GET", "/log/checkpoint", "", {200}));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    out_["polls_per_second"] = rounded(2.0 * options_.polls / watch.lap());
    return failed.status();
  }

  // The same proofs by what `verify --batch` calls, in one process without a service.
  Status compare() {
    const BenchFolder folder;
    ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(folder.path, world_.deployment));
    std::vector<Submission> submissions;
    for (const BenchClient& client : world_.clients) {
      ZKAPEX_TRY(const Admission admission, admit(ledger, nullptr, client.registration, settings_));
      if (admission.rejection) return error("an honest registration was rejected: {}", admission.rejection->detail);
      submissions.push_back([&client]() -> Result<Bytes, Rejection> { return client.proof; });
    }
    Stopwatch watch;
    ZKAPEX_TRY(const std::vector<Judgement> judgements, judge(ledger, world_.mask, submissions, settings_));
    ZKAPEX_CHECK(record(ledger, world_.mask, judgements));
    out_["verify_batch_per_second"] = rounded(static_cast<double>(judgements.size()) / watch.lap());
    return Done{};
  }

  const ServiceBenchOptions& options_;
  const BenchWorld& world_;
  const ProviderFolder& provider_;
  const Path& scratch_;
  const WorkSettings& settings_;
  uint16_t port_ = 0;
  uint64_t worker_peak_ = 0;
  Latencies latencies_;
  nlohmann::ordered_json out_;
};

// Clients that only fill the records and the log: each is enrolled, and has had a new key twice.
Status add_others(const ProviderFolder& provider, unsigned count, UnixTime now) {
  ZKAPEX_TRY(std::unique_ptr<Database> database, open_database(provider.store_address()));
  auto gathered = std::make_unique<GatheredDatabase>(std::move(database));
  GatheredDatabase& all = *gathered;
  ZKAPEX_TRY(Store store, Store::over(std::move(gathered)));
  ZKAPEX_CHECK(all.gather());
  const Bytes entry(900, 'x');
  for (unsigned k = 0; k < count; ++k) {
    const auto key = [&](unsigned number) {
      return ClientKey{fmt::format("other {} {}", k, number), "ed25519", entry};
    };
    const std::string name = fmt::format("other {}", k);
    const Digest code = code_digest(name);
    ZKAPEX_CHECK(store.add_code(code, "", now + 86'400, now));
    ZKAPEX_CHECK(store.enrol(code, name, key(0), entry, now));
    ZKAPEX_CHECK(store.rotate_key(name, key(0).id, 1, key(1), entry, now));
    ZKAPEX_CHECK(store.rotate_key(name, key(1).id, 2, key(2), entry, now));
  }
  return all.settle();
}

Result<Outcome> run_bench_service(const ServiceBenchOptions& options) {
  Work work(options.common);
  const BenchFolder folder;
  ZKAPEX_CHECK(make_private_folder(folder.path));
  ZKAPEX_TRY(const BenchWorld world,
             make_bench_world(options.width, options.hidden, options.clients, folder.path, work.settings()));
  ZKAPEX_CHECK(write_file(folder.path / "deployment.zka", world.deployment.serialize()));
  ProviderSettings settings;
  settings.origin = "localhost/bench";
  if (!options.store.empty()) settings.store = options.store;
  ZKAPEX_CHECK(ProviderFolder::init(folder.path / "provider", settings, folder.path / "deployment.zka", system_time()));
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(folder.path / "provider"));
  {
    ZKAPEX_TRY(Store store, provider.open_store());
    const UnixTime now = system_time();
    for (size_t k = 0; k < world.clients.size(); ++k)
      ZKAPEX_CHECK(store.add_code(code_digest(fmt::format("bench code {}", k)), "", now + 86'400, now));
  }
  ZKAPEX_CHECK(add_others(provider, options.others, system_time()));
  ZKAPEX_TRY(nlohmann::ordered_json out, ServiceBench(options, world, provider, folder.path, work.settings()).run());
  out["workers"] = options.workers;
  out["threads"] = work.pool().size();
  out["store"] = options.store.empty() ? "sqlite" : "postgresql";
  if (options.common.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& [key, value] : out.items()) fmt::print("{:>34}  {}\n", key, value.dump());
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench_service(Command bench, Action& action) {
  const auto options = std::make_shared<ServiceBenchOptions>();
  const Command command = bench.add_command(kBenchService.name, kBenchService.about);
  command.add_option("--clients", options->clients, "Clients, each with a registration and a proof of its own")
      .between(1, 1'000'000)
      .shows_default();
  command.add_option("--connections", options->connections, "Connections at once").between(1, 512).shows_default();
  command.add_option("--polls", options->polls, "Polls of windows and checkpoint")
      .between(1, 10'000'000)
      .shows_default();
  command.add_option("--workers", options->workers, "Worker processes, which share the threads")
      .between(1, 64)
      .shows_default();
  command.add_option("--others", options->others, "Further clients in the records, with three log entries each")
      .between(0, 1'000'000)
      .shows_default();
  command.add_option("--width", options->width, "Of the made-up layers").shows_default();
  command.add_option("--hidden", options->hidden, "and how many of that width").shows_default();
  command.add_option("--store", options->store, "An empty PostgreSQL database, postgresql://…; otherwise SQLite");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "Clients enrol, register and submit over loopback; each answer is durable. Verification is measured apart, by\n"
      "workers that are processes of their own, and beside it the same proofs by what `verify --batch` calls.\n\n"
      "Examples:\n"
      "  zkapex bench service\n"
      "  zkapex bench service --clients 1000 --connections 32 --json\n"
      "  zkapex bench service --workers 2 --store postgresql://host/empty\n"
      "  zkapex bench service --others 10000 --polls 20000");
  command.runs(action, [options] { return run_bench_service(*options); });
}

}  // namespace zkapex::cli
