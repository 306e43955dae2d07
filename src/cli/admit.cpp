// zkapex admit: the provider verifies registrations and takes them into its ledger.
#include <fmt/format.h>

#include <memory>

#include "attestation/inputs.h"
#include "base/names.h"
#include "cli/verdicts.h"
#include "cli/work.h"
#include "parties/inbox.h"

namespace zkapex::cli {

namespace {

struct AdmitOptions {
  CommonFlags common;
  Path ledger, deployment;
  std::vector<Path> registrations;
};

void print(const AdmitOptions& options, const std::vector<Admission>& admissions,
           const std::vector<std::string>& loose) {
  if (options.common.json) {
    auto list = nlohmann::ordered_json::array();
    for (size_t k = 0; k < admissions.size(); ++k) {
      nlohmann::ordered_json entry{{"file", options.registrations[k].string()}};
      entry.update(as_json(admissions[k]));
      list.push_back(std::move(entry));
    }
    nlohmann::ordered_json all{{"ledger", options.ledger.string()}, {"registrations", list}};
    if (!loose.empty()) all["loose"] = loose;
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (size_t k = 0; k < admissions.size(); ++k) {
    const Admission& admission = admissions[k];
    const std::string accepted =
        fmt::format("admitted{}: client {}", admission.known ? " before" : "", in_quotes(admission.client));
    Report report{fmt::format("{}, file {}", verdict_line(admission.rejection, accepted),
                              in_quotes(options.registrations[k].string())),
                  for_people(as_json(admission))};
    report.print(false);
  }
  for (const std::string& sentence : loose) fmt::print("loose: {}\n", sentence);
}

Result<Outcome> run_admit(const AdmitOptions& options) {
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(options.ledger, deployment));
  ZKAPEX_TRY(const size_t longest, longest_registration_file(deployment));
  for (const Path& file : options.registrations) {
    if (!std::filesystem::exists(std::filesystem::symlink_status(file)))
      return error("cannot read {}: there is no such file", file.string());
  }
  Work work(options.common);
  std::vector<Admission> admissions;
  bool rejected = false;
  {
    Progress progress(options.common.progress_style(), "verifying", "registrations", options.registrations.size());
    for (const Path& file : options.registrations) {
      ZKAPEX_TRY(admissions.emplace_back(), admit(ledger, read_handed_in(file, longest), work.settings()));
      rejected = rejected || admissions.back().rejection;
      progress.advance();
    }
  }
  print(options, admissions, deployment.loose());
  return rejected ? Outcome::kRejected : Outcome::kDone;
}

}  // namespace

void add_admit(Command parent, Action& action) {
  const auto options = std::make_shared<AdmitOptions>();
  const Command command = parent.add_command("admit", "Verify clients' registrations and record them (provider)");
  command.add_option("--ledger", options->ledger, "The provider's ledger: a folder, made if there is none").required();
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--registration", options->registrations, "registration.zka of a client, or of several")
      .required();
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "A registration is verified here, once, and windows are then verified against what the ledger has. Do it before\n"
      "the mask is published: a curvature that is chosen with the mask in sight can steer what compensation does.\n\n"
      "A client's name is taken by its first registration. Another one in the same name is rejected, and whoever has\n"
      "the name keeps it: whether the sender is who it says is for the channel over which the file came.\n\n"
      "The ledger must be writable by no one but the provider. Exit status 1 if any registration is rejected.\n\n"
      "Examples:\n"
      "  zkapex admit --ledger ledger --deployment deployment.zka --registration alice/registration.zka\n"
      "  zkapex admit --ledger ledger --deployment deployment.zka --registration uploads/*/registration.zka --json");
  command.runs(action, [options] { return run_admit(*options); });
}

}  // namespace zkapex::cli
