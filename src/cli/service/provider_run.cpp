// zkapex provider run: the roles, until a signal ends them.
#include <fmt/format.h>

#include <csignal>
#include <memory>

#include "cli/service/provider.h"
#include "cli/work.h"
#include "service/roles.h"

namespace zkapex::cli {

namespace {

constexpr std::chrono::seconds kDrainPatience{25};  // below the 30 s that service managers wait

struct ProviderRunOptions {
  CommonFlags common;
  Path folder;
  std::vector<std::string> roles;
  unsigned workers = 1;
  unsigned port = 65'536, admin_port = 65'536;  // out of range: as the folder says
  bool log_json = false;
};

// From here on in this thread and those that it makes; taken by sigwait below.
sigset_t block_ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

std::optional<uint16_t> port_option(unsigned port) {
  return port > 65'535 ? std::nullopt : std::optional(static_cast<uint16_t>(port));
}

Result<Outcome> run_provider(const ProviderRunOptions& options) {
  const sigset_t signals = block_ending_signals();
  RoleSettings settings;
  if (!options.roles.empty()) {
    const auto has = [&](const char* role) { return std::ranges::find(options.roles, role) != options.roles.end(); };
    settings.api = has("api");
    settings.work = has("work");
    settings.log = has("log");
  }
  ZKAPEX_TRY(const ProviderFolder provider,
             ProviderFolder::open(options.folder,
                                  {.statement_key = settings.api || settings.work, .admin_token = settings.api}));
  RunLog log(stdout, options.log_json, system_time);
  Work work(options.common);
  settings.workers = options.workers;
  settings.verifying = work.settings();
  settings.verifying.progress = ProgressStyle::kSilent;
  settings.port = port_option(options.port);
  settings.admin_port = port_option(options.admin_port);
  ZKAPEX_TRY(const std::unique_ptr<Service> service, Service::start(provider, settings, log, system_time));
  nlohmann::ordered_json started{
      {"roles", options.roles.empty() ? std::vector<std::string>{"api", "work", "log"} : options.roles}};
  if (settings.api) {
    const bool tls = !provider.settings().tls_certificate.empty();
    started["url"] = fmt::format("{}://{}:{}", tls ? "https" : "http", provider.settings().address, service->port());
    started["admin"] = fmt::format("http://{}:{}", provider.settings().admin_address, service->admin_port());
  }
  log.write("info", "started", started);
  // The link is a key for ten minutes: for a terminal, not for logs that are collected.
  if (settings.api && !options.log_json)
    fmt::print("dashboard: http://{}:{}{}\n", provider.settings().admin_address, service->admin_port(),
               AdminAccess(provider.admin_token()).login_path(system_time()));
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  log.write("info", "draining", {{"signal", signal}});
  const bool all = service->drain(kDrainPatience);
  log.write(all ? "info" : "warning", "ended", {{"cut", !all}});
  return Outcome::kDone;
}

}  // namespace

void add_provider_run(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderRunOptions>();
  const Command command = provider.add_command("run", "Serve clients, verify, and keep the log, until SIGTERM");
  offer_provider_folder(command, options->folder);
  command.add_option("--role", options->roles, "Only this: api, work or log; may be given more than once")
      .one_of({"api", "work", "log"})
      .repeated();
  command.add_option("--workers", options->workers, "Batches that are verified at once").between(1, 64).shows_default();
  command.add_option("--port", options->port, "In place of the folder's; 0 for any that is free").between(0, 65'535);
  command.add_option("--admin-port", options->admin_port, "The same for the operator's listener").between(0, 65'535);
  command.add_flag("--log-json", options->log_json, "Events as JSON, one object a line");
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "All roles run in one process, or each in its own, on one machine or, with PostgreSQL, on several: as many of "
      "api\n"
      "and work as wanted, one of log.\n\n"
      "SIGTERM ends it in order: requests that have begun are answered, batches are finished, and what waits for the "
      "log\n"
      "is there when it runs again. Killed at any moment, nothing is lost either.\n\n"
      "Examples:\n"
      "  zkapex provider run\n"
      "  zkapex provider run --role api --role log --log-json\n"
      "  zkapex provider run --role work --workers 4");
  command.runs(action, [options] { return run_provider(*options); });
}

}  // namespace zkapex::cli
