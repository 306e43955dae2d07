// zkapex evaluate, zkapex probe
#include <fmt/format.h>

#include "cli/learning_common.h"
#include "learning/documents.h"
#include "learning/evaluation.h"
#include "learning/forgetting_terms.h"
#include "learning/mask_tensors.h"
#include "learning/membership.h"
#include "learning/probe.h"
#include "learning/runtime.h"
#include "learning/tensor_files.h"

namespace zkapex::cli {

namespace {

using nlohmann::json;

struct EvaluateFlags {
  LearningFlags learning;
  std::vector<std::string> sets = {"forget", "retain", "personal-test", "test"};
  int64_t batch = 64, limit = 0;
  double damping = 1e-2;
  path exact, before, masked, deployment, mask, output;
};

class Evaluator {
 public:
  Evaluator(const EvaluateFlags& flags, Session& session) : flags_(flags), session_(session) {}

  Status run(json& out) {
    ZKAPEX_CHECK(accuracies(out));
    ZKAPEX_CHECK(membership(out));
    if (!flags_.exact.empty()) {
      ZKAPEX_CHECK(alignments(out));
    }
    if (!flags_.before.empty() && !flags_.masked.empty()) {
      ZKAPEX_CHECK(recovered(out));
    }
    if (!flags_.mask.empty()) {
      ZKAPEX_CHECK(terms(out));
    }
    return Done{};
  }

 private:
  Result<BatchSource> batches(const std::string& set) const {
    ZKAPEX_TRY(const Samples samples, session_.samples(set));
    return samples.batches(flags_.batch, flags_.limit, flags_.learning.seed);
  }
  [[nodiscard]] bool has(const std::string& set) const { return session_.splits.get(set).ok(); }

  Status accuracies(json& out) {
    for (const std::string& set : flags_.sets) {
      ZKAPEX_TRY(const BatchSource source, batches(set));
      ZKAPEX_TRY(Evaluation found, evaluate(*session_.model, source));
      out["sets"][set] = {{"samples", found.samples}, {"accuracy", found.accuracy}, {"loss", found.mean_loss}};
      if (session_.model->config().opt()) out["sets"][set]["perplexity"] = found.perplexity;
      losses_[set] = std::move(found.losses);
    }
    return Done{};
  }

  // Members: the forget set. Others: held-out samples of the same classes, or of all where the request was not by
  // class.
  Status membership(json& out) {
    const std::string others = has("forget-test") ? "forget-test" : "test";
    if (!has(others)) return Done{};
    for (const std::string& set : {std::string("forget"), others}) {
      if (losses_.contains(set)) continue;
      ZKAPEX_TRY(const BatchSource source, batches(set));
      ZKAPEX_TRY(Evaluation found, evaluate(*session_.model, source));
      losses_[set] = std::move(found.losses);
    }
    ZKAPEX_TRY(const MembershipResult m,
               membership_inference(losses_["forget"], losses_[others], {.seed = flags_.learning.seed}));
    out["membership"] = {{"others", others},      {"per_side", m.per_side}, {"auc", m.auc},
                         {"auc_low", m.auc_low},  {"auc_high", m.auc_high}, {"advantage", m.advantage},
                         {"accuracy", m.accuracy}};
    return Done{};
  }

  Status alignments(json& out) {
    ZKAPEX_TRY(const auto exact, load_other_model(session_, flags_.exact));
    for (const std::string set : {"forget", "personal-test"}) {
      if (!has(set)) continue;
      ZKAPEX_TRY(const BatchSource source, batches(set));
      ZKAPEX_TRY(out["alignment"][set], alignment(*session_.model, *exact, source));
    }
    return Done{};
  }

  Status recovered(json& out) {
    ZKAPEX_TRY(const BatchSource source, batches("personal-test"));
    double accuracy[2];
    for (const int k : {0, 1}) {
      ZKAPEX_TRY(const auto model, load_other_model(session_, k == 0 ? flags_.before : flags_.masked));
      ZKAPEX_TRY(const Evaluation found, evaluate(*model, source));
      accuracy[k] = found.accuracy;
    }
    ZKAPEX_TRY(const Evaluation now, evaluate(*session_.model, source));
    out["recovery"] = {{"before", accuracy[0]},
                       {"masked", accuracy[1]},
                       {"after", now.accuracy},
                       {"recovery", recovery(accuracy[0], accuracy[1], now.accuracy)}};
    return Done{};
  }

  Status terms(json& out) {
    if (flags_.before.empty() || flags_.deployment.empty()) return error("--mask needs --before and --deployment");
    ZKAPEX_TRY(const Deployment deployment, read_deployment(flags_.deployment));
    ZKAPEX_TRY(const Mask mask, read_mask(flags_.mask));
    ZKAPEX_TRY(const auto covered, covered_by(*session_.model, deployment.layout()));
    ZKAPEX_TRY(const auto masks, mask_tensors(mask, deployment));
    ZKAPEX_TRY(const auto before, load_other_model(session_, flags_.before));
    ZKAPEX_TRY(const BatchSource source, batches("forget"));
    ZKAPEX_TRY(const ForgettingTerms t,
               forgetting_terms(*before, *session_.model, covered, masks, flags_.damping, source));
    out["forgetting"] = {{"mask", t.mask},
                         {"linear", t.linear},
                         {"cross", t.cross},
                         {"quadratic", t.quadratic},
                         {"compensation", t.compensation()},
                         {"bound", t.bound},
                         {"residual_gradient", t.residual_gradient},
                         {"measured", t.measured}};
    return Done{};
  }

  const EvaluateFlags& flags_;
  Session& session_;
  std::map<std::string, std::vector<double>> losses_;
};

void print_text(const json& found) {
  for (const auto& [name, set] : found["sets"].items()) {
    fmt::print("{:<14} accuracy {:.4f}  loss {:.4f}  {} samples\n", name, set["accuracy"].get<double>(),
               set["loss"].get<double>(), set["samples"].get<int64_t>());
  }
  for (const char* part : {"membership", "alignment", "recovery", "forgetting"}) {
    if (!found.contains(part)) continue;
    fmt::print("{}", part);
    for (const auto& [key, value] : found[part].items())
      fmt::print("  {} {}", key, value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : value.dump());
    fmt::print("\n");
  }
}

Result<Verdict> run_evaluate(const CLI::App& command, const EvaluateFlags& flags) {
  if (!flags.output.empty()) {
    ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  }
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  json found = json::object();
  ZKAPEX_CHECK(Evaluator(flags, session).run(found));
  if (flags.learning.common.json) {
    fmt::print("{}\n", found.dump(2));
  } else {
    print_text(found);
  }
  if (!flags.output.empty()) {
    RunRecord record(command, session);
    ZKAPEX_CHECK(record.add_inputs(flags.learning));
    record.add("metrics", found);
    ZKAPEX_CHECK(record.write(flags.output));
  }
  return Verdict::kDone;
}

struct ProbeFlags {
  path model, input, mask_from, output;
  ProbeOptions options;
  CommonFlags common;
};

Result<Verdict> run_probe(const ProbeFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.common.force));
  start_libtorch(flags.common.threads);
  ProbeOptions options = flags.options;
  if (!flags.mask_from.empty()) options.mask_from = flags.mask_from;
  ZKAPEX_TRY(const std::vector<Parameter> tensors, probe(flags.model, flags.input, options));
  ZKAPEX_CHECK(write_tensors(flags.output, tensors));
  for (const Parameter& p : tensors) fmt::print("{} [{}]\n", p.name, fmt::join(p.value.sizes(), ", "));
  return Verdict::kDone;
}

}  // namespace

void add_evaluate(CLI::App& parent, Action& action) {
  const auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* command = parent.add_subcommand(
      "evaluate", "Measure a model: accuracy, perplexity, membership, distance to exact unlearning");
  flags->learning.offer_model(*command);
  flags->learning.offer_splits(*command);
  command->add_option("--sets", flags->sets, "Sets of the split file")->delimiter(',')->capture_default_str();
  command->add_option("--limit", flags->limit, "Samples of each set, chosen by --seed; 0 for all")
      ->capture_default_str();
  command->add_option("--batch", flags->batch, "Samples at a time")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--exact", flags->exact, "Exactly retrained model: adds the alignments A_f and A_p")
      ->type_name("DIR");
  command->add_option("--before", flags->before, "Personal model before unlearning")->type_name("DIR");
  command->add_option("--masked", flags->masked, "Model that was only masked: adds the recovery (with --before)")
      ->type_name("DIR");
  command->add_option("--mask", flags->mask, "Mask: adds the terms of the loss on the forget set (with --before)")
      ->type_name("FILE");
  command->add_option("--deployment", flags->deployment, "Deployment of the mask")->type_name("FILE");
  command->add_option("--damping", flags->damping, "Damping in the terms' bound")->capture_default_str();
  command->add_option("-o,--output", flags->output, "Write the figures and how they came about, as JSON")
      ->type_name("FILE");
  flags->learning.common.offer_json(*command);
  flags->learning.offer_runtime(*command);
  command->footer(
      "Examples:\n"
      "  zkapex evaluate --model personal --splits splits.json\n"
      "  zkapex evaluate --model unlearned --splits splits.json --exact exact --before personal \\\n"
      "    --masked masked --json");
  command->callback(
      [flags, command, &action] { action = [flags, command] { return run_evaluate(*command, *flags); }; });
}

void add_probe(CLI::App& parent, Action& action) {
  const auto flags = std::make_shared<ProbeFlags>();
  CLI::App* command = parent.add_subcommand(
      "probe", "Write logits, gradients and Fisher of given tensors, to compare with another framework");
  command->add_option("--model", flags->model, "Directory of the model")->required()->type_name("DIR");
  command->add_option("--input", flags->input, "safetensors: pixel_values and labels, or input_ids")
      ->required()
      ->type_name("FILE");
  command->add_option("--block", flags->options.block, "Size of Fisher blocks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--relative-damping", flags->options.relative_damping,
                   "Damping, as a share of each block's mean diagonal")
      ->capture_default_str();
  command->add_option("--mask-from", flags->mask_from, "safetensors with obs_mask.*: adds obs_delta.*")
      ->type_name("FILE");
  command->add_option("--cover", flags->options.covered,
                      "Patterns of the covered weights; the MLPs' matrices otherwise");
  command->add_option("-o,--output", flags->output, "safetensors to write")->required()->type_name("FILE");
  flags->common.offer_threads(*command);
  flags->common.offer_force(*command);
  command->footer(
      "Examples:\n"
      "  zkapex probe --model vit-base-patch16-224 --input input.safetensors -o out.safetensors");
  command->callback([flags, &action] { action = [flags] { return run_probe(*flags); }; });
}

}  // namespace zkapex::cli
