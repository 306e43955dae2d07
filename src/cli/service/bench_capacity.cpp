// zkapex bench capacity: what a window costs a provider, from what one client costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/network/names.h"
#include "cli/service/provider.h"
#include "cli/work.h"

namespace zkapex::cli {

namespace {

// The defaults are `bench window`'s for ViT-B/16 with 12 layers: docs/performance.md.
struct CapacityOptions {
  CommonFlags common;
  double core_seconds = 0.88;
  uint64_t proof = 129'000, registration = 3'935'000, request = 2'300'000;
  uint64_t entry = 900;  // bytes of one statement in the log; a client's window has two
  double days = 7, poll_hours = 6;
};

// Three digits: more would be a promise.
double three_digits(double v) {
  if (v == 0) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(std::abs(v))));
  return std::round(v * scale) / scale;
}

nlohmann::ordered_json costs_of(const CapacityOptions& options, double clients) {
  const double seconds = options.days * 86'400;
  const double uploads = clients / seconds;
  return {{"clients", clients},
          {"core_hours", three_digits(clients * options.core_seconds / 3600)},
          {"cores", three_digits(clients * options.core_seconds / seconds)},
          {"uploads_per_second", three_digits(uploads)},
          {"upload_megabit_per_second", three_digits(uploads * static_cast<double>(options.proof) * 8 / 1e6)},
          {"polls_per_second", three_digits(clients / (options.poll_hours * 3600))},
          {"registrations_gigabytes", three_digits(clients * static_cast<double>(options.registration) / 1e9)},
          {"proofs_gigabytes", three_digits(clients * static_cast<double>(options.proof) / 1e9)},
          {"requests_sent_gigabytes", three_digits(clients * static_cast<double>(options.request) / 1e9)},
          {"log_gigabytes", three_digits(clients * 2 * static_cast<double>(options.entry) / 1e9)}};
}

Result<Outcome> run_bench_capacity(const CapacityOptions& options) {
  if (!(options.core_seconds > 0) || !(options.days > 0) || !(options.poll_hours > 0))
    return error("times must be positive");
  const nlohmann::ordered_json small = costs_of(options, 1e6), large = costs_of(options, 1e8);
  if (options.common.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"windows", {small, large}}}.dump(2));
    return Outcome::kDone;
  }
  for (const auto& [key, value] : small.items()) {
    std::string label = key;
    std::ranges::replace(label, '_', ' ');
    fmt::print("{:<28} {:>12} {:>14}\n", label, value.dump(), large[key].dump());
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench_capacity(Command bench, Action& action) {
  const auto options = std::make_shared<CapacityOptions>();
  const Command command = bench.add_command(kBenchCapacity.name, kBenchCapacity.about);
  command.add_option("--core-seconds", options->core_seconds, "Of one core, to verify one proof").shows_default();
  command.add_option("--proof", options->proof, "Bytes of a proof").shows_default();
  command.add_option("--registration", options->registration, "Bytes of a registration").shows_default();
  command.add_option("--request", options->request, "Bytes of a request").shows_default();
  command.add_option("--entry", options->entry, "Bytes of one entry of the log").shows_default();
  command.add_option("--days", options->days, "From the opening to the deadline").shows_default();
  command.add_option("--poll-hours", options->poll_hours, "Between two polls of a client").shows_default();
  options->common.offer_json(command);
  command.footer(
      "Arithmetic only. The defaults are those of ViT-B/16 (bench window); measure your own deployment with bench\n"
      "window and bench service.\n\n"
      "Examples:\n"
      "  zkapex bench capacity\n"
      "  zkapex bench capacity --core-seconds 0.3 --proof 23000 --registration 338000 --days 30");
  command.runs(action, [options] { return run_bench_capacity(*options); });
}

}  // namespace zkapex::cli
