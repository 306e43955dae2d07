// zkapex verify: the provider's verdict on one client, or on a folder of them.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "attestation/inputs.h"
#include "base/names.h"
#include "cli/verdicts.h"
#include "cli/work.h"
#include "parties/inbox.h"
#include "parties/ledger.h"
#include "parties/memory_plan.h"

namespace zkapex::cli {

namespace {

struct VerifyOptions {
  CommonFlags common;
  Path ledger, mask, proof, batch;
};

struct Provider {
  Ledger ledger;
  Mask mask;
  bool published = true;  // before this command
};

// Where the request was not in the ledger, nobody has looked after the order.
constexpr std::string_view kNoOrder =
    "that the client chose its model before it knew the request, which was not published in the ledger (zkapex "
    "publish)";

// The verdicts, which the ledger has by the time they are told.
Result<std::vector<Judgement>> judge_and_record(const VerifyOptions& options, const Provider& provider,
                                                std::span<const Submission> submissions) {
  Work work(options.common);
  ZKAPEX_TRY(const uint64_t least, verifying_memory(provider.ledger.deployment(), provider.mask, work.settings()));
  ZKAPEX_CHECK(check_memory(least, work.settings()));
  ZKAPEX_TRY(std::vector<Judgement> judgements, judge(provider.ledger, provider.mask, submissions, work.settings()));
  ZKAPEX_CHECK(record(provider.ledger, provider.mask, judgements));
  return judgements;
}

nlohmann::ordered_json verdict_of(const Provider& provider, const Judgement& judgement) {
  nlohmann::ordered_json out = as_json(provider.ledger.deployment(), provider.mask, judgement);
  if (!judgement.rejection && !provider.published) out["not_proved"].push_back(kNoOrder);
  return out;
}

Result<Outcome> verify_one(const VerifyOptions& options, const Provider& provider, size_t longest) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(options.proof)))
    return error("cannot read {}: there is no such file", options.proof.string());
  const Submission submission = [&] { return read_handed_in(options.proof, longest); };
  ZKAPEX_TRY(const std::vector<Judgement> judgements, judge_and_record(options, provider, {&submission, 1}));
  const Judgement& judgement = judgements.front();
  nlohmann::ordered_json values = verdict_of(provider, judgement);
  Report report{verdict_line(judgement.rejection, fmt::format("accepted ({})", name(provider.mask.op))),
                options.common.json ? std::move(values) : for_people(std::move(values))};
  report.print(options.common.json);
  return judgement.rejection ? Outcome::kRejected : Outcome::kDone;
}

// For each reason that occurs, once.
void print_advice(const std::vector<Judgement>& judgements) {
  std::set<std::string_view> told;
  for (const Judgement& judgement : judgements) {
    if (!judgement.rejection || !told.insert(name(judgement.rejection->reason)).second) continue;
    fmt::print("{}: {}\n", name(judgement.rejection->reason), advice(judgement.rejection->reason));
  }
}

void print_batch(const VerifyOptions& options, const Provider& provider, const std::vector<std::string>& folders,
                 const std::vector<Judgement>& judgements, size_t rejected) {
  const Deployment& deployment = provider.ledger.deployment();
  const size_t accepted = folders.size() - rejected;
  if (!options.common.json) {
    for (size_t k = 0; k < folders.size(); ++k) {
      const Judgement& judgement = judgements[k];
      fmt::print("{:<8}  folder {}, client {}: {}\n", judgement.rejection ? "rejected" : "accepted",
                 in_quotes(folders[k]), judgement.client.empty() ? "unknown" : in_quotes(judgement.client),
                 judgement.rejection
                     ? fmt::format("{}: {}", name(judgement.rejection->reason), judgement.rejection->detail)
                     : fmt::format("{}, certified error {}", name(provider.mask.op),
                                   certified_error(deployment, provider.mask.op)));
    }
    fmt::print("window {}: {} accepted, {} rejected\n", in_quotes(provider.mask.window), accepted, rejected);
    for (const std::string& loose : loose_parameters(deployment, provider.mask)) fmt::print("loose: {}\n", loose);
    if (accepted > 0) {
      for (const std::string& sentence : not_proved_by_window(deployment)) fmt::print("not proved: {}\n", sentence);
      if (!provider.published) fmt::print("not proved: {}\n", kNoOrder);
    }
    print_advice(judgements);
    return;
  }
  auto list = nlohmann::ordered_json::array();
  for (size_t k = 0; k < folders.size(); ++k) {
    nlohmann::ordered_json entry{{"folder", folders[k]}};
    entry.update(verdict_of(provider, judgements[k]));
    list.push_back(std::move(entry));
  }
  const nlohmann::ordered_json all{
      {"window", provider.mask.window}, {"accepted", accepted}, {"rejected", rejected}, {"clients", list}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<Outcome> verify_batch(const VerifyOptions& options, const Provider& provider, size_t longest) {
  ZKAPEX_TRY(const Inbox inbox, Inbox::open(options.batch));
  ZKAPEX_TRY(const std::vector<std::string> folders, inbox.senders());
  if (folders.empty()) return error("{} has no folders of clients", options.batch.string());
  std::vector<Submission> submissions;
  for (const std::string& folder : folders)
    submissions.push_back([&inbox, &folder, longest] { return inbox.read(folder, "proof.zka", longest); });
  ZKAPEX_TRY(const std::vector<Judgement> judgements, judge_and_record(options, provider, submissions));
  const auto rejected = static_cast<size_t>(
      std::ranges::count_if(judgements, [](const Judgement& j) { return j.rejection.has_value(); }));
  print_batch(options, provider, folders, judgements, rejected);
  return rejected > 0 ? Outcome::kRejected : Outcome::kDone;
}

Result<Outcome> run_verify(const VerifyOptions& options) {
  if (options.batch.empty() == options.proof.empty())
    return error("give --proof of one client, or --batch with a folder of clients");
  ZKAPEX_TRY(Ledger ledger, Ledger::open(options.ledger));
  ZKAPEX_TRY(Mask mask, read_mask(options.mask, ledger.deployment()));
  ZKAPEX_TRY(const size_t longest, longest_proof_file(ledger.deployment(), mask));
  ZKAPEX_TRY(const bool first, ledger.publish(mask));
  const Provider provider{std::move(ledger), std::move(mask), !first};
  return options.batch.empty() ? verify_one(options, provider, longest) : verify_batch(options, provider, longest);
}

}  // namespace

void add_verify(Command parent, Action& action) {
  const auto options = std::make_shared<VerifyOptions>();
  const Command command = parent.add_command("verify", "Accept or reject what clients proved (provider)");
  command.add_option("--ledger", options->ledger, "The provider's ledger, which admit made").required();
  command.add_option("--mask", options->mask, "The window's mask file").required();
  command.add_option("--proof", options->proof, "A client's proof file");
  command.add_option("--batch", options->batch, "Or a folder with a folder for each client, with its proof.zka");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "Accepted means: every masked weight is zero; every block is within the deployment's certified error of the "
      "exact\n"
      "operator for the registered model and curvature; compensation stays under the cap; the rest is unchanged. Each\n"
      "verdict lists what is not proved.\n\n"
      "The client's registration and current model come from the ledger, never from what it uploads. An accepted "
      "window\n"
      "moves the ledger on: the next one starts there, and a second one from the same model is rejected. The mask "
      "must\n"
      "contain that of the client's last window (mask --after). A model that was admitted after the mask was "
      "published\n"
      "(zkapex publish) does not count for it; a mask that was not counts as published from this command on.\n\n"
      "In a batch all proofs are checked by one multiplication, and the false ones are named. A file that is missing,\n"
      "damaged, too long, a link or no file at all is its own client's rejection. Exit status 1 if any is rejected.\n\n"
      "A rejection names one reason (length, version, scalar, point, zero challenge, equation, statement, deployment,\n"
      "registration, client, mask, window, model, order, file) and says what to do; docs/reasons.md\n"
      "explains each.\n\n"
      "Examples:\n"
      "  zkapex verify --ledger ledger --mask psi.zka --proof proof.zka\n"
      "  zkapex verify --ledger ledger --mask psi.zka --batch uploads --json");
  command.runs(action, [options] { return run_verify(*options); });
}

}  // namespace zkapex::cli
