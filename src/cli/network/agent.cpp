// zkapex agent: the client's side of the service. init sets it up, run stays and works, once does one round, status
// tells how far it is; update and rotate-key leave it something to do.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "agent/enrolment.h"
#include "agent/setup.h"
#include "agent/status.h"
#include "agent/update_order.h"
#include "base/hardening.h"
#include "base/names.h"
#include "cli/network/names.h"
#include "cli/work.h"
#include "log/lines.h"

namespace zkapex::cli {

namespace {

constexpr int64_t kOrderSeconds = 5;  // how long an order may lie there before a running agent sees it

struct AgentInitOptions {
  CommonFlags common;
  Path folder;
  AgentSetup setup;
  std::string provider, max_guide = "0.5";
  std::optional<uint64_t> max_masked;
  Path authorities;
};

struct AgentRunOptions {
  CommonFlags common;
  Path folder;
  int64_t clock_offset = 0;
  uint64_t rounds = 0;
};

Result<Outcome> run_agent_init(const AgentInitOptions& options) {
  AgentSetup setup = options.setup;
  ZKAPEX_TRY(setup.config.provider, provider_address(options.provider));
  const Result<Decimal> most = Decimal::parse(options.max_guide);
  if (!most) return most.error().within("--max-guide");
  setup.config.max_guide = *most;
  setup.config.max_masked = options.max_masked;
  if (!options.authorities.empty()) setup.config.authorities = std::filesystem::absolute(options.authorities).string();
  ZKAPEX_CHECK(keep_memory_private());
  Work work(options.common);
  const auto web = make_web_client({.authorities = options.authorities});
  ZKAPEX_TRY(const SetupReport done, set_up({options.folder}, setup, *web, work.settings()));
  Report report{.headline = fmt::format("{}: enrolled; zkapex agent run sends the registration and does the windows",
                                        options.folder.string())};
  report.values["client"] = done.client;
  report.values["log"] = done.log;
  report.values["log_key"] = done.log_key;
  if (done.registration) {
    report.values["registration"] = to_hex(done.registration->registration);
    report.values["registration_bytes"] = done.registration->registration_bytes;
    report.values["seconds"] = timings_as_json(done.registration->seconds);
  }
  if (done.suggested)
    report.warnings.push_back(
        "the log's key is the provider's word: compare it with what others were given, or give --policy");
  report.print(options.common.json);
  return Outcome::kDone;
}

// Lines of a program that runs for weeks: each arrives when it is written.
void tell_line(const std::string& line, FILE* to) {
  std::fputs((line + "\n").c_str(), to);
  std::fflush(to);
}

void tell_change(const StateChange& change, UnixTime now, bool json) {
  if (!json) return tell_line(change.text(), stdout);
  nlohmann::ordered_json line = {{"time", to_rfc3339(now)}, {"subject", change.subject}};
  if (!change.window.empty()) line["window"] = change.window;
  line["state"] = change.state;
  tell_line(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), stdout);
}

// An agent with all that it needs while it works. Quiet: what it tells are states.
struct Running {
  std::unique_ptr<Work> work;
  std::unique_ptr<WebClient> web;
  Agent agent;

  static Result<Running> open(const AgentRunOptions& options, const Clock& clock) {
    ZKAPEX_CHECK(keep_memory_private());
    const AgentFolder folder{options.folder};
    ZKAPEX_TRY(const AgentConfig config, read_config(folder));
    CommonFlags flags = options.common;
    flags.quiet = true;
    auto work = std::make_unique<Work>(flags);
    auto web = make_web_client({.authorities = config.authorities});
    ZKAPEX_TRY(Agent agent,
               Agent::open(folder, *web,
                           {.work = work->settings(), .tell = [clock, json = flags.json](const StateChange& change) {
                              tell_change(change, clock(), json);
                            }}));
    return Running{std::move(work), std::move(web), std::move(agent)};
  }
};

Clock clock_of(const AgentRunOptions& options) {
  return [offset = options.clock_offset] { return system_time() + offset; };
}

Result<Outcome> split_view(const AgentRunOptions& options) {
  tell_line(fmt::format("zkapex: the log contradicts what it showed before: {} has both checkpoints; show them to "
                        "others who use this provider. Nothing is done until you remove it.",
                        AgentFolder{options.folder}.split_view().string()),
            stderr);
  return Outcome::kRejected;
}

Result<Outcome> run_agent_once(const AgentRunOptions& options) {
  const Clock clock = clock_of(options);
  ZKAPEX_TRY(Running running, Running::open(options, clock));
  const Round round = running.agent.once(clock());
  if (round.split) return split_view(options);
  if (!round.troubles.empty()) return error("{}", round.troubles.front());
  return Outcome::kDone;
}

Result<Outcome> run_agent_run(const AgentRunOptions& options) {
  const Clock clock = clock_of(options);
  ZKAPEX_TRY(Running running, Running::open(options, clock));
  std::vector<std::string> told;
  for (uint64_t done = 1;; ++done) {
    const Round round = running.agent.once(clock());
    if (round.split) return split_view(options);
    for (const std::string& trouble : round.troubles) {
      if (std::ranges::find(told, trouble) == told.end()) tell_line("zkapex: " + trouble, stderr);
    }
    told = round.troubles;
    if (done == options.rounds) return Outcome::kDone;
    // A clock that was set back does not put it to sleep for years.
    int64_t wait = std::clamp<int64_t>(round.next - clock(), 1, AgentConfig::kLongestPoll);
    for (; wait > 0 && !running.agent.has_new_order(); wait -= kOrderSeconds)
      ::sleep(static_cast<unsigned>(std::min(wait, kOrderSeconds)));
  }
}

Result<Outcome> run_agent_status(const CommonFlags& common, const Path& folder) {
  ZKAPEX_TRY(const AgentStatus status, read_status({folder}));
  Report report{.headline = fmt::format("{}: {}", folder.string(),
                                        status.split ? "the log contradicts itself, nothing is done" : "agent")};
  report.values["client"] = status.client;
  report.values["provider"] = status.provider;
  report.values["enrolled"] = status.enrolled;
  if (status.enrolled) report.values["key"] = status.key;
  if (status.key_is_ordered) report.values["key_ordered"] = true;
  report.values["registration"] = status.registration;
  report.values["split_view"] = status.split;
  if (status.log_size) report.values["log_entries"] = *status.log_size;
  auto& windows = report.values["windows"] = nlohmann::ordered_json::array();
  for (const WindowStatus& window : status.windows) {
    nlohmann::ordered_json line = {
        {"window", window.window}, {"state", name(window.state)}, {"deadline", to_rfc3339(window.deadline)}};
    if (window.earlier > 0) line["rejected_before"] = window.earlier;
    if (window.verdict_due) line["verdict_due"] = to_rfc3339(*window.verdict_due);
    if (!window.reason.empty()) line["reason"] = window.reason;
    windows.push_back(std::move(line));
  }
  auto& updates = report.values["updates"] = nlohmann::ordered_json::array();
  for (const UpdateStatus& update : status.updates) {
    nlohmann::ordered_json line = {{"state", name(update.state)}};
    if (!update.reason.empty()) line["reason"] = update.reason;
    updates.push_back(std::move(line));
  }
  report.print(common.json);
  return Outcome::kDone;
}

Result<Outcome> run_agent_update(const CommonFlags& common, const Path& folder, const UpdateOrder& order) {
  ZKAPEX_CHECK(order_update({folder}, order));
  Report report{.headline = fmt::format("{}: ordered; zkapex agent run proves it and sends it in its next round",
                                        folder.string())};
  report.values["model"] = order.model.string();
  if (!order.store.empty()) report.values["curvature"] = order.store.string();
  report.print(common.json);
  return Outcome::kDone;
}

Result<Outcome> run_agent_rotate_key(const CommonFlags& common, const Path& folder) {
  ZKAPEX_CHECK(order_new_key({folder}));
  const Report report{
      .headline = fmt::format("{}: ordered; zkapex agent run replaces the key in its next round", folder.string())};
  report.print(common.json);
  return Outcome::kDone;
}

// --folder, "agent" where it is not given.
void offer_agent_folder(Command command, Path& folder) {
  folder = "agent";
  command.add_option("--folder", folder, "The agent's folder").shows_default();
}

void add_agent_init(Command parent, Action& action) {
  const auto options = std::make_shared<AgentInitOptions>();
  AgentSetup& setup = options->setup;
  const Command command = parent.add_command("init", "Enrol with a provider, and register a model");
  offer_agent_folder(command, options->folder);
  command.add_option("--provider", options->provider, "The provider's address: https://...").required();
  command.add_option("--code", setup.code, "The one-time code that the provider gave out");
  command.add_option("--policy", setup.policy, "Which log and witnesses to believe; else what the provider suggests");
  command.add_option("--authorities", options->authorities,
                     "Certificates that sign the provider's, in PEM; else the system's");
  command.add_option("--model", setup.model, "The client's model: safetensors");
  command.add_option("--curvature", setup.store, "Its curvature store");
  command.add_option("--base", setup.base, "The base model that the deployment is anchored at: safetensors");
  command.add_option("--poll", setup.config.poll_seconds, "How often to ask for requests, in seconds, on average")
      .between(1, AgentConfig::kLongestPoll)
      .shows_default();
  command.add_flag("--at-once", setup.config.at_once,
                   "Begin with a request as soon as it is seen; else at a time of its own before two thirds of it");
  command
      .add_option("--max-guide", options->max_guide,
                  "How far a guide may draw a tensor, in the size of its weights; a request beyond it is left alone")
      .shows_default();
  command.add_option("--min-masked", setup.config.min_masked, "Leave requests alone that remove fewer weights")
      .shows_default();
  command.add_parsed(
      "--max-masked",
      [options](const std::string& text) -> Status {
        options->max_masked = plain_decimal(text);
        if (!options->max_masked) return error("'{}' is no number of weights", text);
        return Done{};
      },
      "Leave requests alone that remove more weights");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "The folder is for its owner only: it has the client's key and the openings of its model. The model and the\n"
      "store stay where they are. Stopped, the same command goes on where it was.\n\n"
      "Example:\n"
      "  zkapex agent init --provider https://provider.example --code 7F3K-... \\\n"
      "      --model theta.safetensors --curvature store.zka --base theta0.safetensors");
  command.runs(action, [options] { return run_agent_init(*options); });
}

void offer_running(Command command, const std::shared_ptr<AgentRunOptions>& options) {
  offer_agent_folder(command, options->folder);
  command.add_option("--clock-offset", options->clock_offset,
                     "Seconds to add to this machine's clock, where that is known to be wrong");
  options->common.offer_json(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
}

void add_agent_update(Command parent, Action& action) {
  const auto common = std::make_shared<CommonFlags>();
  const auto folder = std::make_shared<Path>();
  const auto order = std::make_shared<UpdateOrder>();
  const Command command = parent.add_command("update", "Go on with a model that has learned more");
  offer_agent_folder(command, *folder);
  command.add_option("--model", order->model, "The new model: safetensors").required();
  command.add_option("--curvature", order->store, "Its curvature store; without it the committed one stays");
  command.add_option("--base", order->base, "The base model that the deployment is anchored at: safetensors");
  common->offer_json(command);
  command.footer(
      "Leaves the order in the agent's folder, whether an agent runs or not. The agent answers the requests that are\n"
      "open, proves that the new model keeps what all its windows did, hands the proof in, and goes on from the new\n"
      "model once that is accepted. Model and store stay where they are; do not change them any more.\n\n"
      "Example:\n"
      "  zkapex agent update --model theta2.safetensors --curvature store2.zka --base theta0.safetensors");
  command.runs(action, [common, folder, order] { return run_agent_update(*common, *folder, *order); });
}

void add_agent_rotate_key(Command parent, Action& action) {
  const auto common = std::make_shared<CommonFlags>();
  const auto folder = std::make_shared<Path>();
  const Command command = parent.add_command("rotate-key", "Sign with a new key from now on");
  offer_agent_folder(command, *folder);
  common->offer_json(command);
  command.footer(
      "Makes a new key and leaves it in the agent's folder, whether an agent runs or not. In its next round the agent\n"
      "has the provider take it, by a statement that the old key signs too; from then on the old one signs nothing.\n\n"
      "Example:\n"
      "  zkapex agent rotate-key && zkapex agent once");
  command.runs(action, [common, folder] { return run_agent_rotate_key(*common, *folder); });
}

}  // namespace

void add_agent(Command parent, Action& action) {
  const Command agent = parent.add_command(kAgent.name, kAgent.about);
  agent.needs_command();
  add_agent_init(agent, action);

  const auto running = std::make_shared<AgentRunOptions>();
  const Command run = agent.add_command("run", "Stay, and do each request in its time");
  offer_running(run, running);
  run.add_option("--rounds", running->rounds, "End after so many rounds; 0: never").shows_default();
  run.footer(
      "One line for each state that is reached; troubles on stderr. It may be killed at any time: the next one goes\n"
      "on. Exit status 1: the log contradicts what it showed before.\n\n"
      "Example:\n"
      "  zkapex agent run --threads 1 --memory 300M");
  run.runs(action, [running] { return run_agent_run(*running); });

  const auto round = std::make_shared<AgentRunOptions>();
  const Command once = agent.add_command("once", "Do what can be done now, as a timer's job");
  offer_running(once, round);
  once.runs(action, [round] { return run_agent_once(*round); });

  add_agent_update(agent, action);
  add_agent_rotate_key(agent, action);

  const auto common = std::make_shared<CommonFlags>();
  const auto folder = std::make_shared<Path>();
  const Command status = agent.add_command("status", "How far an agent is");
  offer_agent_folder(status, *folder);
  common->offer_json(status);
  status.runs(action, [common, folder] { return run_agent_status(*common, *folder); });
}

}  // namespace zkapex::cli
