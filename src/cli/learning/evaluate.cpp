// zkapex evaluate
#include <fmt/format.h>

#include <set>

#include "cli/learning/common.h"
#include "data/membership.h"
#include "learning/evaluation.h"
#include "learning/forgetting_terms.h"
#include "learning/mask_tensors.h"

namespace zkapex::cli {

namespace {

using nlohmann::json;

struct EvaluateFlags {
  LearningFlags learning;
  std::vector<std::string> sets;
  int64_t batch = 64, limit = 0;
  double damping = 1e-2;
  path exact, before, masked, deployment, mask, output;
};

// Opens all that the figures need, then computes them.
class Evaluator {
 public:
  Evaluator(const EvaluateFlags& flags, Session& session) : flags_(flags), session_(session) {}

  Result<json> run() {
    ZKAPEX_CHECK(open_sets());
    ZKAPEX_CHECK(open_models());
    progress_ = std::make_unique<Progress>(flags_.learning.common.progress_style(), "evaluate", "samples",
                                           static_cast<uint64_t>(total_samples()));
    json out = json::object();
    ZKAPEX_CHECK(accuracies(out));
    if (!others_.empty()) {
      ZKAPEX_CHECK(membership(out));
    }
    if (exact_) {
      ZKAPEX_CHECK(alignments(out));
    }
    if (masked_) {
      ZKAPEX_CHECK(recovered(out));
    }
    if (!masks_.empty()) {
      ZKAPEX_CHECK(terms(out));
    }
    return out;
  }

 private:
  [[nodiscard]] bool has(const std::string& set) const { return session_.splits.get(set).ok(); }

  Status open_set(const std::string& set) {
    ZKAPEX_TRY(Samples samples, session_.samples(set));
    samples_.emplace(set, std::move(samples));
    return Done{};
  }

  Status open_sets() {
    sets_ = flags_.sets;
    if (sets_.empty()) {
      for (const char* set : {"forget", "retain", "personal-test", "test"}) {
        if (has(set)) sets_.emplace_back(set);
      }
    }
    for (const std::string& set : sets_) ZKAPEX_CHECK(open_set(set));
    // Members are the forget set. Others: held-out samples of the same classes, or of all where the request was not by
    // class.
    if (has("forget-test") || has("test")) {
      others_ = has("forget-test") ? "forget-test" : "test";
      ZKAPEX_CHECK(open_set("forget"));
      ZKAPEX_CHECK(open_set(others_));
      const auto enough = [&](const std::string& set) {
        return used_samples(samples_.at(set), flags_.limit) >= MembershipOptions{}.folds;
      };
      if (!enough("forget") || !enough(others_)) others_.clear();
    }
    if (!flags_.exact.empty()) {
      for (const char* set : {"forget", "personal-test"}) {
        if (has(set)) compared_.emplace_back(set);
      }
      for (const std::string& set : compared_) ZKAPEX_CHECK(open_set(set));
    }
    if (!flags_.masked.empty()) return open_set("personal-test");
    return Done{};
  }

  Status open_models() {
    if (!flags_.masked.empty() && flags_.before.empty()) return error("--masked needs --before");
    if (!flags_.mask.empty() && (flags_.before.empty() || flags_.deployment.empty()))
      return error("--mask needs --before and --deployment");
    const std::pair<const path&, std::unique_ptr<Model>&> models[] = {
        {flags_.exact, exact_}, {flags_.before, before_}, {flags_.masked, masked_}};
    for (const auto& [directory, model] : models) {
      if (directory.empty()) continue;
      ZKAPEX_TRY(model, load_other_model(session_, directory));
    }
    if (flags_.mask.empty()) return Done{};
    ZKAPEX_TRY(const Deployment deployment, read_deployment(flags_.deployment));
    ZKAPEX_TRY(const Mask mask, read_mask(flags_.mask, deployment));
    ZKAPEX_TRY(covered_, covered_by(*session_.model, deployment.layout()));
    ZKAPEX_TRY(masks_, mask_tensors(mask, deployment));
    return open_set("forget");
  }

  [[nodiscard]] int64_t total_samples() const {
    std::set<std::string> evaluated(sets_.begin(), sets_.end());
    if (!others_.empty()) evaluated.insert({"forget", others_});
    if (masked_) evaluated.insert("personal-test");
    int64_t total = 0;
    const auto add = [&](const std::string& set, int64_t times) {
      total += times * used_samples(samples_.at(set), flags_.limit);
    };
    for (const std::string& set : evaluated) add(set, 1);
    for (const std::string& set : compared_) add(set, 1);
    if (masked_) add("personal-test", 2);
    if (!masks_.empty()) add("forget", 3);
    return total;
  }

  [[nodiscard]] BatchSource batches(const std::string& set) const {
    return counted(samples_.at(set).batches(flags_.batch, flags_.limit, flags_.learning.seed), *progress_);
  }

  // Of the model itself, once for each set.
  Result<const Evaluation*> evaluation(const std::string& set) {
    if (const auto found = evaluations_.find(set); found != evaluations_.end()) return &found->second;
    ZKAPEX_TRY(Evaluation made, evaluate(*session_.model, batches(set)));
    return &evaluations_.emplace(set, std::move(made)).first->second;
  }

  Status accuracies(json& out) {
    for (const std::string& set : sets_) {
      ZKAPEX_TRY(const Evaluation* found, evaluation(set));
      out["sets"][set] = {{"samples", found->samples}, {"accuracy", found->accuracy}, {"loss", found->mean_loss}};
      if (session_.model->config().opt()) out["sets"][set]["perplexity"] = found->perplexity;
    }
    return Done{};
  }

  Status membership(json& out) {
    ZKAPEX_TRY(const Evaluation* members, evaluation("forget"));
    ZKAPEX_TRY(const Evaluation* others, evaluation(others_));
    ZKAPEX_TRY(const MembershipResult m,
               membership_inference(members->losses, others->losses, {.seed = flags_.learning.seed}));
    out["membership"] = {{"others", others_},     {"per_side", m.per_side}, {"auc", m.auc},
                         {"auc_low", m.auc_low},  {"auc_high", m.auc_high}, {"advantage", m.advantage},
                         {"accuracy", m.accuracy}};
    return Done{};
  }

  Status alignments(json& out) {
    for (const std::string& set : compared_) {
      ZKAPEX_TRY(out["alignment"][set], alignment(*session_.model, *exact_, batches(set)));
    }
    return Done{};
  }

  Status recovered(json& out) {
    ZKAPEX_TRY(const Evaluation before, evaluate(*before_, batches("personal-test")));
    ZKAPEX_TRY(const Evaluation masked, evaluate(*masked_, batches("personal-test")));
    ZKAPEX_TRY(const Evaluation* after, evaluation("personal-test"));
    out["recovery"] = {{"before", before.accuracy},
                       {"masked", masked.accuracy},
                       {"after", after->accuracy},
                       {"recovery", recovery(before.accuracy, masked.accuracy, after->accuracy)}};
    return Done{};
  }

  Status terms(json& out) {
    ZKAPEX_TRY(const ForgettingTerms t,
               forgetting_terms(*before_, *session_.model, covered_, masks_, flags_.damping, batches("forget")));
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
  std::vector<std::string> sets_, compared_;  // to be evaluated; compared with the exact model
  std::string others_;                        // who are not members; empty: too few to tell
  std::map<std::string, Samples> samples_;
  std::unique_ptr<Model> exact_, before_, masked_;
  std::vector<std::string> covered_;
  std::vector<Tensor> masks_;
  std::unique_ptr<Progress> progress_;
  std::map<std::string, Evaluation> evaluations_;
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

Result<Outcome> run_evaluate(const Command& command, const EvaluateFlags& flags) {
  if (!flags.output.empty()) {
    ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  }
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_TRY(const json found, Evaluator(flags, session).run());
  if (!flags.output.empty()) {
    ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, flags.learning, session));
    record.add("metrics", found);
    ZKAPEX_CHECK(record.write(flags.output));
  }
  if (flags.learning.common.json) {
    fmt::print("{}\n", found.dump(2));
  } else {
    print_text(found);
  }
  return Outcome::kDone;
}

}  // namespace

void add_evaluate(Command parent, Action& action) {
  const auto flags = std::make_shared<EvaluateFlags>();
  const Command command = parent.add_command(kEvaluate.name, kEvaluate.about);
  flags->learning.offer_model(command);
  flags->learning.offer_splits(command);
  command.add_option("--sets", flags->sets, "Sets of the split file; otherwise forget, retain, personal-test and test")
      .separated_by(',');
  command.add_option("--limit", flags->limit, "Samples of each set, chosen by --seed; 0 for all").shows_default();
  command.add_option("--batch", flags->batch, "Samples at a time").positive().shows_default();
  command.add_option("--exact", flags->exact, "Exactly retrained model: adds the alignments A_f and A_p")
      .type_name("MODEL");
  command.add_option("--before", flags->before, "Personal model before unlearning").type_name("MODEL");
  command.add_option("--masked", flags->masked, "Model that was only masked: adds the recovery (with --before)")
      .type_name("MODEL");
  command.add_option("--mask", flags->mask, "Mask: adds the terms of the loss on the forget set (with --before)")
      .type_name("FILE");
  command.add_option("--deployment", flags->deployment, "Deployment of the mask").type_name("FILE");
  command.add_option("--damping", flags->damping, "Damping in the terms' bound").shows_default();
  command.add_option("-o,--output", flags->output, "Write the figures and how they came about, as JSON")
      .type_name("FILE");
  flags->learning.offer_runtime(command);
  command.footer(
      "What unlearn writes is a checkpoint without a config.json: --model is the folder of the model that it was made "
      "from,\n"
      "--weights the file. MODEL is a folder, or such a file too.\n\n"
      "Examples:\n"
      "  zkapex evaluate --model personal --splits splits.json\n"
      "  zkapex evaluate --model personal --weights unlearned.safetensors --splits splits.json --exact exact \\\n"
      "    --before personal --masked masked --json");
  command.runs(action, [flags, command] { return run_evaluate(command, *flags); });
}

}  // namespace zkapex::cli
