// zkapex admit: the provider verifies registrations and updates and takes them into its ledger.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attestation/inputs.h"
#include "base/names.h"
#include "cli/verdicts.h"
#include "cli/work.h"
#include "parties/base_model.h"
#include "parties/inbox.h"
#include "parties/ledger.h"
#include "parties/memory_plan.h"

namespace zkapex::cli {

namespace {

struct AdmitOptions {
  CommonFlags common;
  Path ledger, deployment, base;
  std::vector<Path> registrations, updates;
};

// What becomes of one file: its values, and the line for people.
struct Answer {
  Path file;
  bool rejected = false;
  std::string line;
  nlohmann::ordered_json values;
};

template <class Admitted>
Answer answer(const Path& file, const Deployment& deployment, const Admitted& admission, const std::string& accepted) {
  return {file, admission.rejection.has_value(),
          fmt::format(
              "{}, file {}",
              verdict_line(admission.rejection, fmt::format("{}: client {}", accepted, in_quotes(admission.client))),
              in_quotes(file.string())),
          as_json(deployment, admission)};
}

nlohmann::ordered_json list_of(const std::vector<Answer>& answers) {
  auto list = nlohmann::ordered_json::array();
  for (const Answer& answer : answers) {
    nlohmann::ordered_json entry{{"file", answer.file.string()}};
    entry.update(answer.values);
    list.push_back(std::move(entry));
  }
  return list;
}

void print(const AdmitOptions& options, const std::vector<Answer>& registrations, const std::vector<Answer>& updates,
           const Deployment& deployment) {
  const std::vector<std::string> loose = deployment.loose();
  if (options.common.json) {
    nlohmann::ordered_json all{{"ledger", options.ledger.string()}};
    if (!registrations.empty()) all["registrations"] = list_of(registrations);
    if (!updates.empty()) all["updates"] = list_of(updates);
    if (!loose.empty()) all["loose"] = loose;
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const auto* answers : {&registrations, &updates}) {
    for (const Answer& answer : *answers) Report{answer.line, for_people(answer.values)}.print(false);
  }
  for (const std::string& sentence : loose) fmt::print("loose: {}\n", sentence);
}

Result<Outcome> run_admit(const AdmitOptions& options) {
  if (options.registrations.empty() && options.updates.empty())
    return error("give --registration or --update: what is to be admitted");
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  for (const auto* files : {&options.registrations, &options.updates}) {
    for (const Path& file : *files) {
      if (!std::filesystem::exists(std::filesystem::symlink_status(file)))
        return error("cannot read {}: there is no such file", file.string());
    }
  }
  Work work(options.common);
  ZKAPEX_TRY(const uint64_t least, admitting_memory(deployment, work.settings()));
  ZKAPEX_CHECK(check_memory(least, work.settings()));
  ZKAPEX_TRY(const std::optional<BaseRows> base, open_base_option(options.base, deployment, *work.settings().pool));
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(options.ledger, deployment));
  const BaseRows* rows = base ? &*base : nullptr;
  std::vector<Answer> registrations, updates;
  {
    Progress progress(options.common.progress_style(), "verifying", "files",
                      options.registrations.size() + options.updates.size());
    ZKAPEX_TRY(const size_t longest, longest_registration_file(deployment));
    for (const Path& file : options.registrations) {
      ZKAPEX_TRY(const Admission admission, admit(ledger, rows, read_handed_in(file, longest), work.settings()));
      registrations.push_back(answer(file, deployment, admission, admission.known ? "admitted before" : "admitted"));
      progress.advance();
    }
    ZKAPEX_TRY(const size_t windows, ledger.window_count());
    ZKAPEX_TRY(const size_t longest_update, longest_update_file(deployment, windows));
    for (const Path& file : options.updates) {
      const Result<Bytes, Rejection> bytes = read_handed_in(file, longest_update);
      ZKAPEX_TRY(const UpdateAdmission admission, admit_update(ledger, rows, bytes, work.settings()));
      updates.push_back(answer(file, deployment, admission, admission.known ? "updated before" : "updated"));
      progress.advance();
    }
  }
  print(options, registrations, updates, deployment);
  const auto any_rejected = [](const std::vector<Answer>& answers) {
    return std::ranges::any_of(answers, [](const Answer& a) { return a.rejected; });
  };
  return any_rejected(registrations) || any_rejected(updates) ? Outcome::kRejected : Outcome::kDone;
}

}  // namespace

void add_admit(Command parent, Action& action) {
  const auto options = std::make_shared<AdmitOptions>();
  const Command command =
      parent.add_command("admit", "Verify clients' registrations and updates, and record them (provider)");
  command.add_option("--ledger", options->ledger, "The provider's ledger: a folder, made if there is none").required();
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--base", options->base, "The base model that the deployment is anchored at: safetensors");
  command.add_option("--registration", options->registrations, "registration.zka of a client, or of several");
  command.add_option("--update", options->updates, "Updates of clients that are in the ledger, in their order");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "A registration is verified here, once, and windows are then verified against what the ledger has. Do it before\n"
      "the mask is published: a curvature that is chosen with the mask in sight can steer what compensation does.\n\n"
      "A client's name is taken by its first registration. Another one in the same name is rejected, and whoever has\n"
      "the name keeps it: whether the sender is who it says is for the channel over which the file came. A client "
      "that\n"
      "has learned on sends an update instead, which has to keep what its windows did; from the publication of a mask\n"
      "until its verdicts, admit none of clients that are to answer it.\n\n"
      "The ledger must be writable by no one but the provider. Exit status 1 if any file is rejected.\n\n"
      "Examples:\n"
      "  zkapex admit --ledger ledger --deployment deployment.zka --base theta0.safetensors \\\n"
      "      --registration alice/registration.zka\n"
      "  zkapex admit --ledger ledger --deployment deployment.zka --base theta0.safetensors \\\n"
      "      --registration uploads/*/registration.zka --json\n"
      "  zkapex admit --ledger ledger --deployment deployment.zka --base theta0.safetensors --update alice/update.zka");
  command.runs(action, [options] { return run_admit(*options); });
}

}  // namespace zkapex::cli
