// zkapex verify: the provider's verdict on one client, or on a folder of them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attestation/batch.h"
#include "attestation/inputs.h"
#include "cli/work.h"

namespace zkapex::cli {

namespace {

struct Options {
  CommonFlags common;
  Path deployment, mask, batch, out;
  Submission submission;
  std::string op = std::string(name(Operator::kGroupObs));
  bool assume_registered = false, require_certificate = false;

  [[nodiscard]] JudgeOptions judge_options() const {
    return {.op = op == name(Operator::kMaskOnly) ? Operator::kMaskOnly : Operator::kGroupObs,
            .require_certificate = require_certificate,
            .assume_registered = assume_registered,
            .want_next = !out.empty()};
  }
};

struct Provider {
  Deployment deployment;
  Mask mask;
};

std::string_view curvature_note(const Judgement& judgement) {
  return judgement.certificate ? "proved" : "assumed, not proved";
}

// What an accepted proof says about how far the model is from the exact operator.
std::string error_note(const Provider& provider, const Judgement& judgement) {
  return judgement.op == Operator::kGroupObs ? provider.deployment.parameters().error.text() : "0";
}

std::string verdict_line(const Judgement& judgement) {
  if (judgement.rejection)
    return fmt::format("rejected ({}): {}", name(judgement.rejection->reason), judgement.rejection->detail);
  return fmt::format("accepted ({}{})", name(judgement.op),
                     judgement.certificate ? "" : "; curvature assumed, not proved");
}

nlohmann::ordered_json verdict_as_json(const Provider& provider, const Judgement& judgement) {
  nlohmann::ordered_json out;
  out["verdict"] = judgement.rejection ? "rejected" : "accepted";
  if (judgement.rejection) {
    out["reason"] = name(judgement.rejection->reason);
    out["detail"] = judgement.rejection->detail;
  }
  if (!judgement.client.empty()) out["client"] = judgement.client;
  out["window"] = provider.mask.window;
  if (!judgement.rejection) {
    out["operator"] = name(judgement.op);
    out["certified_error"] = error_note(provider, judgement);
    out["curvature"] = curvature_note(judgement);
    out["masked"] = provider.mask.support.size();
  }
  out["registration_bytes"] = judgement.registration_bytes;
  out["proof_bytes"] = judgement.proof_bytes;
  return out;
}

Status write_commitment(const Path& path, const ModelCommitment& commitment, bool force) {
  std::error_code failed;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
  return write_file(path, commitment.encode(), {.overwrite = force});
}

Result<Verdict> verify_one(const Options& options, const Provider& provider, Work& work) {
  ZKAPEX_CHECK(check_output(options.out, options.common.force));
  const Submission& s = options.submission;
  for (const Path& path : {s.registration, s.proof, s.commitment}) {
    if (!path.empty() && !std::filesystem::is_regular_file(path))
      return error("cannot read {}: there is no such file", path.string());
  }
  ZKAPEX_TRY(const std::vector<Judgement> judgements,
             judge(provider.deployment, provider.mask, {&s, 1}, options.judge_options(), work.settings()));
  const Judgement& judgement = judgements.front();
  if (judgement.next) {
    ZKAPEX_CHECK(write_commitment(options.out, *judgement.next, options.common.force));
  }
  Report report{verdict_line(judgement), verdict_as_json(provider, judgement)};
  if (options.assume_registered) report.values["registration"] = "assumed verified before";
  if (!options.common.json) {  // they are in the first line
    for (const char* key : {"verdict", "reason", "detail"}) report.values.erase(key);
  }
  report.print(options.common.json);
  return judgement.rejection ? Verdict::kRejected : Verdict::kDone;
}

Result<std::vector<Path>> client_folders(const Path& batch) {
  std::error_code failed;
  std::vector<Path> folders;
  for (std::filesystem::directory_iterator it(batch, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->is_directory()) folders.push_back(it->path());
  }
  if (failed) return error("cannot list {}: {}", batch.string(), failed.message());
  if (folders.empty()) return error("{} has no folders of clients", batch.string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<Verdict> verify_batch(const Options& options, const Provider& provider, Work& work) {
  ZKAPEX_TRY(const std::vector<Path> folders, client_folders(options.batch));
  std::vector<Submission> submissions;
  for (const Path& folder : folders) {
    const Path commitment = folder / "commitment.zka";
    submissions.push_back(
        {folder / "registration.zka", folder / "proof.zka", std::filesystem::exists(commitment) ? commitment : Path()});
    if (!options.out.empty()) {
      ZKAPEX_CHECK(check_output(options.out / folder.filename() / "commitment.zka", options.common.force));
    }
  }
  ZKAPEX_TRY(const std::vector<Judgement> judgements,
             judge(provider.deployment, provider.mask, submissions, options.judge_options(), work.settings()));
  size_t rejected = 0;
  std::string text;
  auto list = nlohmann::ordered_json::array();
  for (size_t k = 0; k < folders.size(); ++k) {
    const std::string folder = folders[k].filename().string();
    if (judgements[k].next) {
      ZKAPEX_CHECK(
          write_commitment(options.out / folder / "commitment.zka", *judgements[k].next, options.common.force));
    }
    rejected += judgements[k].rejection ? 1 : 0;
    text += fmt::format("{} (client {}): {}\n", folder, judgements[k].client.empty() ? "unknown" : judgements[k].client,
                        verdict_line(judgements[k]));
    nlohmann::ordered_json entry{{"folder", folder}};
    entry.update(verdict_as_json(provider, judgements[k]));
    list.push_back(std::move(entry));
  }
  const size_t accepted = folders.size() - rejected;
  if (options.common.json) {
    const nlohmann::ordered_json all{
        {"window", provider.mask.window}, {"accepted", accepted}, {"rejected", rejected}, {"clients", list}};
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}window {}: {} accepted, {} rejected, certified error {}\n", text, provider.mask.window, accepted,
               rejected, provider.deployment.parameters().error.text());
  }
  return rejected > 0 ? Verdict::kRejected : Verdict::kDone;
}

Result<Verdict> run_verify(const Options& options) {
  const Submission& s = options.submission;
  if (options.batch.empty() && (s.registration.empty() || s.proof.empty()))
    return error("give --registration and --proof of one client, or --batch with a folder of clients");
  ZKAPEX_TRY(Deployment deployment, read_deployment(options.deployment));
  ZKAPEX_TRY(Mask mask, read_mask(options.mask, deployment));
  const Provider provider{std::move(deployment), std::move(mask)};
  Work work(options.common);
  return options.batch.empty() ? verify_one(options, provider, work) : verify_batch(options, provider, work);
}

}  // namespace

void add_verify(CLI::App& parent, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = parent.add_subcommand("verify", "Accept or reject what clients proved (provider)");
  command->add_option("--deployment", options->deployment, "The deployment file")->required();
  command->add_option("--mask", options->mask, "The window's mask file")->required();
  auto* registration = command->add_option("--registration", options->submission.registration,
                                           "The client's registration.zka, as it was received before the mask");
  auto* proof = command->add_option("--proof", options->submission.proof, "Its proof file");
  auto* commitment = command->add_option("--commitment", options->submission.commitment,
                                         "What verify -o wrote for the client's last window, if there was one");
  command->add_option("--batch", options->batch, "A folder with a folder for each client")
      ->excludes(registration)
      ->excludes(proof)
      ->excludes(commitment);
  command->add_option("-o,--output", options->out,
                      "Where to write the commitment to the new model; with --batch, a folder");
  command->add_option("--operator", options->op, "The operator that is due: group-obs, or mask-only for comparison")
      ->check(CLI::IsMember({name(Operator::kGroupObs), name(Operator::kMaskOnly)}).description(""))
      ->capture_default_str();
  command->add_flag("--require-certificate", options->require_certificate,
                    "Refuse registrations that do not prove the range of their curvature");
  command->add_flag("--assume-registered", options->assume_registered,
                    "The registration itself was verified before: check the window alone");
  options->common.offer_all(*command);
  command->footer(
      "Accepted means: every masked weight is zero; every block is within the deployment's certified error of the "
      "exact\n"
      "operator for the registered model and curvature; compensation stays under the cap; the rest is unchanged.\n"
      "For a registration without a certificate it says 'curvature assumed, not proved'. Reasons for a rejection: "
      "length,\n"
      "version, scalar, point, zero challenge, equation, statement, deployment, registration, client, mask, window, "
      "model,\n"
      "operator, certificate, file.\n\n"
      "A client's second window starts from the model that its first one left: keep what -o writes, and give it as\n"
      "--commitment. Deployment, mask, registrations and commitments must be the provider's own copies.\n\n"
      "In a batch the folder of a client has registration.zka, proof.zka and, after a first window, commitment.zka. "
      "All\n"
      "are checked by one multiplication, and the false ones are named. Exit status 1 if any is rejected.\n\n"
      "Examples:\n"
      "  zkapex verify --deployment deployment.zka --registration client/registration.zka --mask psi.zka \\\n"
      "      --proof proof.zka -o after-2026-11.zka\n"
      "  zkapex verify ... --mask next.zka --proof next-proof.zka --commitment after-2026-11.zka --assume-registered\n"
      "  zkapex verify --deployment deployment.zka --mask psi.zka --batch clients -o commitments --json");
  command->callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace zkapex::cli
