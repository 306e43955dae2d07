// zkapex demo: the whole story on real images, from training to a verified proof and a page to look at.
#include <fmt/format.h>

#include <memory>
#include <ranges>
#include <set>

#include "base/stopwatch.h"
#include "cli/learning/common.h"
#include "cli/learning/names.h"
#include "cli/work.h"
#include "data/documents.h"
#include "demo/report.h"
#include "demo/run.h"
#include "learning/runtime.h"

namespace zkapex::cli {

namespace {

using namespace demo;  // NOLINT: this file is its command

using nlohmann::ordered_json;

// "7" or "1,5,7": classes by number, each once, and not all of them.
Result<std::vector<int64_t>> classes_named(const std::string& list) {
  std::set<int64_t> found;
  for (const auto part : std::views::split(list, ',')) {
    const std::string_view digits(part.begin(), part.end());
    if (digits.size() != 1 || digits[0] < '0' || digits[0] > '9' || !found.insert(digits[0] - '0').second)
      return error("--forget has classes from 0 to 9, such as 1,5,7");
  }
  if (found.size() == class_names().size()) return error("--forget must leave something");
  return std::vector<int64_t>(found.begin(), found.end());
}

struct DemoOptions {
  CommonFlags common;
  Path out = "demo-out", data = DemoSettings().data;
  uint64_t seed = DemoSettings().seed;
  std::string on = DemoSettings().measured_on, device = "cpu";
  std::string forget;
  bool quick = false;

  [[nodiscard]] Result<DemoSettings> settings() const {
    DemoSettings out_settings = quick ? quick_demo() : full_demo();
    if (!forget.empty()) {
      ZKAPEX_TRY(out_settings.forgotten_classes, classes_named(forget));
    }
    out_settings.seed = seed;
    out_settings.data = data;
    out_settings.measured_on = on;
    return out_settings;
  }
};

// An empty or new folder; with --force also one that an earlier demo left, which is cleared. Never another.
Status prepare_folder(const DemoFiles& files, const DemoSettings& settings, bool force) {
  const Path marker = files.root / "demo.json";
  std::error_code failed;
  const bool used = std::filesystem::exists(files.root, failed) && !std::filesystem::is_empty(files.root, failed);
  if (used && !std::filesystem::exists(marker, failed))
    return error("{} has something else in it; choose another folder with -o", files.root.string());
  if (used && !force)
    return error("{} has an earlier demo in it; choose another folder with -o, or --force to replace it",
                 files.root.string());
  std::vector<Path> old = {files.provider(), files.cheats(), files.report_json(), files.report_html()};
  for (const std::string& client : settings.clients) old.push_back(files.client(client));
  for (const Path& path : old) {
    if (used) std::filesystem::remove_all(path, failed);
    if (failed) return error("cannot remove {}: {}", path.string(), failed.message());
  }
  ZKAPEX_CHECK(make_folder(files.root));
  return write_text(marker, ordered_json{{"format", "zkapex-demo"}, {"seed", settings.seed}}.dump() + "\n");
}

ordered_json training_as_json(const TrainingOptions& o) {
  return {{"epochs", o.epochs}, {"batch", o.batch}, {"rate", o.rate}, {"layer_decay", o.layer_decay}};
}

void describe_settings(DemoRun& run) {
  const DemoSettings& s = run.settings;
  run.report = {{"format", "zkapex-demo"},          {"version", 2},
                {"program", ZKAPEX_VERSION},        {"seed", s.seed},
                {"threads", run.work.pool->size()}, {"measured_on", s.measured_on},
                {"forgotten", s.forgotten()}};
  run.report["images"] = {{"train", s.train},
                          {"validation", s.validation},
                          {"test", s.test},
                          {"personal", s.personal},
                          {"personal_validation", s.personal_validation},
                          {"personal_test", s.personal_test}};
  run.report["model"] = {{"hidden", s.hidden},
                         {"layers", s.layers},
                         {"heads", s.heads},
                         {"intermediate", s.intermediate},
                         {"patch", s.patch}};
  run.report["settings"] = {{"training", training_as_json(s.training)},
                            {"personalization", training_as_json(s.personalization)},
                            {"damping", s.damping},
                            {"rehearsal_steps", s.rehearsal.options.steps},
                            {"rehearsal_domains", s.rehearsal.domains},
                            {"saliency_samples", s.saliency_samples},
                            {"fisher_samples", s.fisher_samples}};
  for (const std::string& client : s.clients) run.report["clients"].push_back({{"name", client}});
}

// What the demo is to show with its default settings; a miss is told, not hidden.
void check_targets(DemoRun& run) {
  constexpr double kRecovery = 0.98, kForgotten = 0.01;
  bool recovered = true, forgotten = true;
  for (const ordered_json& client : run.report["clients"]) {
    recovered = recovered && (client["recovery"].is_null() || client["recovery"].get<double>() >= kRecovery);
    forgotten = forgotten && client["models"]["ours"]["forget_accuracy"].get<double>() <= kForgotten;
  }
  run.report["targets"] = {
      {{"what", "at least 98 % of what the mask destroyed is given back, for every client"}, {"met", recovered}},
      {{"what", "at most 1 % of photos of what is forgotten are still recognised, for every client"},
       {"met", forgotten}}};
}

void add_commands(DemoRun& run) {
  const std::string provider = run.files.provider().string(), root = run.files.root.string();
  const std::string& client = run.settings.clients.front();
  std::string registrations;
  for (const std::string& name : run.settings.clients)
    registrations += fmt::format(" {}/registration.zka", run.files.inbox(name).string());
  const auto verify = [&](const std::string& ledger, const std::string& batch) {
    return fmt::format("zkapex verify --ledger {} --mask {}/psi.zka --batch {}", ledger, provider, batch);
  };
  run.report["commands"] = {
      fmt::format(
          "zkapex admit --ledger {0}/again --deployment {1}/deployment.zka --base {1}/original --registration{2}", root,
          provider, registrations),
      verify(root + "/again", provider + "/inbox"), verify(provider + "/ledger", root + "/cheats"),
      fmt::format("zkapex inspect {}/{}/proof.zka", root, client),
      fmt::format("zkapex evaluate --model {0}/{1}/unlearned --splits {0}/{1}/splits.json", root, client)};
  const DemoSettings& s = run.settings;
  run.report["summary"] = fmt::format(
      "Fashion-MNIST: {} photos to train on, {} drawings per client to personalize on; a ViT with {} blocks of width "
      "{}, patches of {} pixels; {} % of the weights in reach masked, a guide for the others; damping {} of each "
      "block's mean diagonal, "
      "{}-bit factors; {} threads; {:.0f} s in all",
      s.train, s.personal, s.layers, s.hidden, s.patch, 100 * std::stod(s.ratio), s.damping, s.curvature_bits,
      run.work.pool->size(), run.report["seconds"]["total"].get<double>());
}

Result<Outcome> run_demo(const DemoOptions& options) {
  if (options.on != "test" && options.on != "validation") return error("--on is test or validation");
  Work work(options.common);
  start_libtorch(options.common.threads);
  ZKAPEX_TRY(const Placement placement, placement_on(options.device));
  ZKAPEX_TRY(DemoSettings settings, options.settings());
  DemoRun run{.settings = std::move(settings),
              .files = {options.out},
              .work = work.settings(),
              .placement = placement,
              .tell = Narrator(options.common.json),
              .splits = {}};
  run.work.force = false;  // the folder is new
  ZKAPEX_CHECK(prepare_folder(run.files, run.settings, options.common.force));
  describe_settings(run);
  const Stopwatch watch;
  for (const auto step : {train_original, retrain_without_forgotten, personalize_clients, publish_deployment,
                          register_clients, admit_clients, publish_request, unlearn_clients, verify_clients,
                          settle_clients, catch_cheats, measure_models}) {
    ZKAPEX_CHECK(step(run));
  }
  run.report["seconds"]["total"] = watch.seconds();
  check_targets(run);
  add_commands(run);
  ZKAPEX_CHECK(write_text(run.files.report_json(), run.report.dump(2) + "\n"));
  ZKAPEX_CHECK(write_text(run.files.report_html(), demo_page(run.report)));
  if (options.common.json) {
    fmt::print("{}\n", run.report.dump(2));
    return Outcome::kDone;
  }
  fmt::print("\n{}\n{}: all of it as a page ({:.0f} s in all). To look at what is there:\n", demo_tables(run.report),
             run.files.report_html().string(), watch.seconds());
  for (const ordered_json& command : run.report["commands"]) fmt::print("  {}\n", command.get<std::string>());
  return Outcome::kDone;
}

}  // namespace

void add_demo(Command parent, Action& action) {
  const auto options = std::make_shared<DemoOptions>();
  const Command command = parent.add_command(kDemo.name, kDemo.about);
  command.add_option("-o,--output", options->out, "Folder for all files of the story").shows_default().type_name("DIR");
  command.add_option("--data", options->data, "Folder with the IDX files of Fashion-MNIST")
      .shows_default()
      .type_name("DIR");
  command.add_option("--seed", options->seed, "Seed of images, weights and order of training").shows_default();
  command.add_option("--on", options->on, "Images to measure on: test, or validation, to choose settings with")
      .shows_default();
  command.add_option("--forget", options->forget, "Classes to forget, by number, such as 7; otherwise 1,5,7");
  command.add_flag("--quick", options->quick, "Seconds instead of minutes, with too few images to learn much");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_force(command);
  offer_device(command, options->device);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "A provider trains a small ViT on photos of clothes. Two clients fine-tune it on drawings of their own. Three\n"
      "classes must be forgotten: the provider rehearses that on clients it imagines, and publishes which weights go\n"
      "and where the others are drawn; each client follows as far as its own curvature lets it, and proves it; the\n"
      "provider verifies both proofs together. Then clients cheat in five ways, and are caught. In the end there is a\n"
      "table beside exact retraining, report.html (one page, nothing else needed) and report.json with every "
      "figure.\n\n"
      "Everything goes through the files that the other commands read and write, and they stay in the folder.\n"
      "The same seed and number of threads give the same figures, but for times.\n\n"
      "Examples:\n"
      "  zkapex demo                            two to eight minutes on two cores; then open demo-out/report.html\n"
      "  zkapex demo --seed 2 -o second --json  another draw, figures on standard output\n"
      "  zkapex demo --forget 7 -o one          one class instead of three\n"
      "  zkapex demo --quick -o /tmp/tiny       the same steps within seconds");
  command.runs(action, [options] { return run_demo(*options); });
}

}  // namespace zkapex::cli
