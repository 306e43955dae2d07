// zkapex provider code, request, status, export: what an operator does with the records, while the service runs or not.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/names.h"
#include "base/outputs.h"
#include "cli/service/provider.h"
#include "cli/work.h"
#include "service/admin.h"

namespace zkapex::cli {

namespace {

constexpr UnixTime kDay = 86'400;

struct ProviderCodeOptions {
  CommonFlags common;
  Path folder;
  std::string person;
  unsigned days = 14, count = 1;
};

Result<Outcome> run_provider_code(const ProviderCodeOptions& options) {
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(options.folder));
  ZKAPEX_TRY(Store store, provider.open_store());
  if (!options.person.empty()) {
    ZKAPEX_CHECK(check_name(options.person, "a person"));
  }
  const UnixTime now = system_time(), expires = now + UnixTime{options.days} * kDay;
  auto codes = nlohmann::ordered_json::array();
  for (unsigned k = 0; k < options.count; ++k) {
    ZKAPEX_TRY(const std::string code, random_code());
    ZKAPEX_CHECK(store.add_code(code_digest(code), options.person, expires, now));
    codes.push_back(code);
    if (!options.common.json) fmt::print("{}\n", code);
  }
  if (options.common.json) Report{"", {{"codes", std::move(codes)}, {"expires", to_rfc3339(expires)}}}.print(true);
  return Outcome::kDone;
}

struct ProviderRequestOptions {
  CommonFlags common;
  Path folder, mask;
  std::string opens, deadline;
  unsigned days = 0;
};

Result<Outcome> run_provider_request(const ProviderRequestOptions& options) {
  if (options.deadline.empty() == (options.days == 0)) return error("give --deadline or --days");
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(options.folder));
  ZKAPEX_TRY(Store store, provider.open_store());
  const UnixTime now = system_time();
  WindowRequest request;
  ZKAPEX_TRY(request.psi, read_file(options.mask, Mask::kMaxFileBytes));
  request.opens = now;
  if (!options.opens.empty()) {
    ZKAPEX_TRY(request.opens, from_rfc3339(options.opens));
  }
  request.deadline = request.opens + UnixTime{options.days} * kDay;
  if (!options.deadline.empty()) {
    ZKAPEX_TRY(request.deadline, from_rfc3339(options.deadline));
  }
  ZKAPEX_TRY(const WindowInfo window, publish_request(provider, store, request, now));
  ZKAPEX_TRY(const uint64_t clients, store.client_count());
  Report{fmt::format("published {}", in_quotes(window.id)),
         {{"window", window.id},
          {"mask", to_hex(window.mask)},
          {"opens", to_rfc3339(window.opens)},
          {"deadline", to_rfc3339(window.deadline)},
          {"clients", clients}}}
      .print(options.common.json);
  return Outcome::kDone;
}

struct ProviderStatusOptions {
  CommonFlags common;
  Path folder;
};

Result<Outcome> run_provider_status(const ProviderStatusOptions& options) {
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(options.folder));
  ZKAPEX_TRY(Store store, provider.open_store());
  ZKAPEX_TRY(const QueueCounts queue, store.queue());
  ZKAPEX_TRY(const uint64_t clients, store.client_count());
  ZKAPEX_TRY(const std::vector<WindowInfo> windows, store.windows());
  ZKAPEX_TRY(const SeenTree tree, provider.published_tree());
  const UnixTime now = system_time();
  auto list = nlohmann::ordered_json::object();
  for (const WindowInfo& window : windows) {
    ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
    list[window.id] = {{"deadline", to_rfc3339(window.deadline)},
                       {"due", tally.due},
                       {"accepted", tally.accepted},
                       {"rejected", tally.rejected},
                       {"received", tally.received}};
  }
  const std::string address =
      fmt::format("http://{}:{}", provider.settings().admin_address, provider.settings().admin_port);
  Report{fmt::format("{}: {} clients, {} requests, {} log entries", options.folder.string(), clients, windows.size(),
                     tree.size),
         {{"clients", clients},
          {"waiting", queue.ready},
          {"being_verified", queue.leased},
          {"verified", queue.done},
          {"dead", queue.dead},
          {"log_entries", tree.size},
          {"requests", std::move(list)},
          {"dashboard", address + AdminAccess(provider.admin_token()).login_path(now)}}}
      .print(options.common.json);
  return Outcome::kDone;
}

struct ProviderExportOptions {
  CommonFlags common;
  Path folder, out;
  std::string window, format = "csv";
};

Result<Outcome> run_provider_export(const ProviderExportOptions& options) {
  if (!options.out.empty()) {
    ZKAPEX_CHECK(check_output(options.out, options.common.force));
  }
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(options.folder));
  ZKAPEX_TRY(Store store, provider.open_store());
  ZKAPEX_TRY(const std::optional<WindowInfo> window, store.window(options.window));
  if (!window) return error("there is no window {}", in_quotes(options.window));
  std::string text;
  if (options.format == "csv") {
    ZKAPEX_TRY(text, compliance_csv(store, *window));
  } else {
    ZKAPEX_TRY(const nlohmann::ordered_json json, compliance_json(store, *window));
    text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  if (options.out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Outcome::kDone;
  }
  ZKAPEX_CHECK(write_file(options.out, view(text), {.overwrite = options.common.force}));
  return Outcome::kDone;
}

}  // namespace

void add_provider_code(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderCodeOptions>();
  const Command command = provider.add_command("code", "Make codes by which clients enrol, each once");
  offer_provider_folder(command, options->folder);
  command.add_option("--person", options->person, "Whose it is: known to this provider only, and may be forgotten");
  command.add_option("--days", options->days, "How long it may be used").between(1, 3650).shows_default();
  command.add_option("-n,--count", options->count, "How many").between(1, 100'000).shows_default();
  options->common.offer_json(command);
  command.footer(
      "The records have a code's digest only: it is shown once, here. Hand it over on a way that is not the client's\n"
      "network. The log has pseudonyms, never people.\n\n"
      "Examples:\n"
      "  zkapex provider code --person 'Alice Example'\n"
      "  zkapex provider code -n 1000 --days 60 >codes");
  command.runs(action, [options] { return run_provider_code(*options); });
}

void add_provider_request(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderRequestOptions>();
  const Command command = provider.add_command("request", "Publish a request to forget: a window with a deadline");
  offer_provider_folder(command, options->folder);
  command.add_option("--mask", options->mask, "The mask file, which `zkapex mask` made").required();
  command.add_option("--opens", options->opens, "2026-11-18T00:00:00Z; now where not given").type_name("TIME");
  command.add_option("--deadline", options->deadline, "2026-12-01T00:00:00Z").type_name("TIME");
  command.add_option("--days", options->days, "Or so many days after it opens").between(1, 3650);
  options->common.offer_json(command);
  command.footer(
      "Clients that are registered by now are due. After the first request make masks with --after: each must contain\n"
      "the one before.\n\n"
      "Examples:\n"
      "  zkapex provider request --mask psi.zka --days 14\n"
      "  zkapex provider request --mask psi.zka --opens 2026-12-01T00:00:00Z --deadline 2026-12-31T00:00:00Z");
  command.runs(action, [options] { return run_provider_request(*options); });
}

void add_provider_status(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderStatusOptions>();
  const Command command = provider.add_command("status", "Clients, requests, queue, and a link to the dashboard");
  offer_provider_folder(command, options->folder);
  options->common.offer_json(command);
  command.footer(
      "The link lets a browser in for ten minutes; afterwards a cookie does.\n\n"
      "Examples:\n"
      "  zkapex provider status\n"
      "  zkapex provider status --json");
  command.runs(action, [options] { return run_provider_status(*options); });
}

void add_provider_export(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderExportOptions>();
  const Command command = provider.add_command("export", "Who complied with a request, as CSV or JSON");
  offer_provider_folder(command, options->folder);
  command.add_option("--window", options->window, "The request's name").required();
  command.add_option("--format", options->format, "csv or json").one_of({"csv", "json"}).shows_default();
  command.add_option("-o,--output", options->out, "The file to write; the standard output where not given");
  options->common.offer_force(command);
  command.footer(
      "One line for each client that is due: state, reason, times, size, and places in the log. `zkapex audit export`\n"
      "has the signed statements with it.\n\n"
      "Examples:\n"
      "  zkapex provider export --window 2026-11 -o compliance.csv\n"
      "  zkapex provider export --window 2026-11 --format json");
  command.runs(action, [options] { return run_provider_export(*options); });
}

}  // namespace zkapex::cli
