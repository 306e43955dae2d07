// zkapex train, zkapex personalize
#include <fmt/format.h>

#include "cli/learning/common.h"
#include "learning/adaptformer.h"
#include "learning/lora.h"
#include "learning/model_files.h"
#include "learning/runtime.h"
#include "learning/training.h"

namespace zkapex::cli {

namespace {

struct TrainFlags {
  LearningFlags learning;
  std::string set;
  std::string method = "full", schedule = "linear";
  bool from_scratch = false;
  int64_t classes = 0;
  TrainingOptions options;
  LoraOptions lora;
  AdaptFormerOptions adaptformer;
  path output;
};

void offer_training(Command command, TrainFlags& f) {
  f.learning.offer_model(command);
  f.learning.offer_splits(command);
  TrainingOptions& o = f.options;
  command.add_option("--set", f.set, "Which set of the split file to train on").shows_default();
  command.add_option("--epochs", o.epochs, "Passes over the set").shows_default();
  command.add_option("--batch", o.batch, "Samples per step").shows_default();
  command.add_option("--rate", o.rate, "Learning rate").shows_default();
  command.add_option("--weight-decay", o.adamw.weight_decay, "AdamW's weight decay").shows_default();
  command.add_option("--layer-decay", o.layer_decay, "Factor of the rate from each layer to the one before")
      .shows_default();
  command.add_option("--schedule", f.schedule, "How the rate falls: constant, linear or cosine").shows_default();
  command.add_option("--warmup", o.warmup, "Fraction of the steps over which the rate rises").shows_default();
  command.add_option("--clip", o.clip_norm, "Largest norm of a gradient; 0 for any").shows_default();
  command.add_option("--classes", f.classes, "A new classifier for so many classes").shows_default();
  command
      .add_option("--checkpoint-every", o.checkpoint_every,
                  "Steps between checkpoints; one is written after each epoch anyway")
      .shows_default();
  command.add_option("-o,--output", f.output, "Directory of the new model").required().type_name("DIR");
  f.learning.offer_runtime(command);
}

// From random weights only config.json is read of the model's directory.
Result<Session> open_training_session(const TrainFlags& flags) {
  if (!flags.from_scratch && flags.classes == 0) return open_session(flags.learning);
  if (flags.from_scratch && !flags.learning.adapter.empty()) return error("--from-scratch leaves nothing to adapt");
  if (flags.from_scratch && !flags.learning.weights.empty()) return error("--from-scratch takes no --weights");
  Session out;
  start_libtorch(flags.learning.common.threads);
  ZKAPEX_TRY(out.placement, placement_on(flags.learning.device));
  ZKAPEX_TRY(out.splits, Splits::load(flags.learning.splits));
  if (flags.from_scratch) {
    ZKAPEX_TRY(ModelConfig config, load_model_config(flags.learning.model));
    if (flags.classes > 0) {
      ZKAPEX_TRY(config, with_classes(config, flags.classes));
    }
    out.model = make_model(config, out.placement);
    initialize(*out.model, flags.learning.seed);
  } else {
    ZKAPEX_TRY(out.model, load_flagged_model(flags.learning, out.placement, flags.classes));
  }
  ZKAPEX_TRY(out.format, InputFormat::of_model(flags.learning.model, out.model->config(), flags.learning.context));
  out.format.progress = flags.learning.common.progress_style();
  return out;
}

Status add_adapters(Model& model, Method method, const TrainFlags& flags) {
  if (method == Method::kLora) return add_lora(model, flags.lora);
  if (method == Method::kAdaptFormer) return add_adaptformer(model, flags.adaptformer);
  return Done{};
}

// The bar has ended when this returns: nothing is printed behind it.
Result<TrainingReport> train_in_sight(Model& model, const Samples& samples, Method method, const TrainFlags& flags,
                                      const std::string& label) {
  const auto total = static_cast<uint64_t>(samples.size() * flags.options.epochs);
  Progress progress(flags.learning.common.progress_style(), label, "samples", total);
  bool started = false;
  return train(model, samples, method, flags.options, [&](const TrainingStep& step) -> Status {
    if (!started) progress.advance(static_cast<uint64_t>((step.step - 1) * flags.options.batch));  // a resumed run
    started = true;
    progress.advance(static_cast<uint64_t>(step.samples));
    return Done{};
  });
}

Result<Outcome> run_training(const Command& command, TrainFlags flags) {
  const path state = flags.output / "training.safetensors", note = flags.output / "training.json";
  ZKAPEX_CHECK(check_output(flags.output / "model.safetensors", flags.learning.common.force));
  ZKAPEX_TRY(const Method method, method_named(flags.method));
  ZKAPEX_TRY(flags.options.schedule, schedule_named(flags.schedule));
  ZKAPEX_CHECK(flags.options.check());
  ZKAPEX_TRY(Session session, open_training_session(flags));
  ZKAPEX_TRY(const Samples samples, session.samples(flags.set));
  flags.options.seed = flags.learning.seed;
  flags.lora.seed = flags.adaptformer.seed = flags.learning.seed;
  ZKAPEX_CHECK(add_adapters(*session.model, method, flags));

  std::error_code code;
  std::filesystem::create_directories(flags.output, code);
  if (code) return error("{} cannot be made: {}", flags.output.string(), code.message());
  ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, flags.learning, session));
  ZKAPEX_CHECK(record.claim(state, note, flags.learning.common.force));
  flags.options.checkpoint = state;
  ZKAPEX_TRY(const TrainingReport report, train_in_sight(*session.model, samples, method, flags, command.name()));

  record.add("training", {{"steps", report.steps},
                          {"resumed_at", report.resumed_at},
                          {"samples", report.samples},
                          {"epoch_losses", report.epoch_losses},
                          {"seconds", report.seconds},
                          {"samples_per_second", static_cast<double>(report.samples) / report.seconds}});
  if (method == Method::kLora) {
    const bool classifier = session.model->config().vit() != nullptr;
    ZKAPEX_CHECK(save_lora(*session.model, flags.lora, flags.output / "adapter", classifier));
    merge_lora(*session.model);
  }
  ZKAPEX_CHECK(save_model(*session.model, flags.output, flags.learning.model));
  std::filesystem::remove(state, code);
  std::filesystem::remove(note, code);
  ZKAPEX_CHECK(record.add_output(flags.output));
  ZKAPEX_CHECK(record.write(flags.output / (command.name() + ".json")));
  const std::string loss = report.epoch_losses.empty() ? "" : fmt::format(", loss {:.4f}", report.epoch_losses.back());
  record.print(flags.learning.common.json,
               fmt::format("{}: {} steps{}", flags.output.string(), report.steps + report.resumed_at, loss));
  return Outcome::kDone;
}

}  // namespace

void add_train(Command parent, Action& action) {
  const auto flags = std::make_shared<TrainFlags>();
  flags->set = "train";
  const Command command = parent.add_command(kTrain.name, kTrain.about);
  command.add_flag("--from-scratch", flags->from_scratch, "From random weights: only config.json is read");
  offer_training(command, *flags);
  command.footer(
      "Stopped runs go on where they were when started again with the same arguments.\n\n"
      "Examples:\n"
      "  zkapex train --from-scratch --model small-vit --splits splits.json --epochs 5 --rate 1e-3 -o original\n"
      "  zkapex train --from-scratch --model small-vit --splits splits.json --set retain --epochs 5 -o exact");
  command.runs(action, [flags, command] { return run_training(command, *flags); });
}

void add_personalize(Command parent, Action& action) {
  const auto flags = std::make_shared<TrainFlags>();
  flags->set = "personal";
  const Command command = parent.add_command(kPersonalize.name, kPersonalize.about);
  command.add_option("--method", flags->method, "full, linear, lora or adaptformer").shows_default();
  offer_training(command, *flags);
  command.add_option("--rank", flags->lora.rank, "LoRA's rank").shows_default();
  command.add_option("--alpha", flags->lora.alpha, "LoRA's alpha").shows_default();
  command.add_option("--dropout", flags->lora.dropout, "LoRA's dropout").shows_default();
  command.add_option("--targets", flags->lora.targets,
                     "Patterns of the weights that LoRA adapts; all linear maps of the blocks otherwise");
  command.add_option("--bottleneck", flags->adaptformer.bottleneck, "AdaptFormer's inner width").shows_default();
  command.add_option("--scale", flags->adaptformer.scale, "AdaptFormer's scale").shows_default();
  command.footer(
      "LoRA is merged into the weights; its own matrices lie in adapter/ as PEFT reads them.\n\n"
      "Examples:\n"
      "  zkapex personalize --model original --splits splits.json --epochs 5 --layer-decay 0.8 -o personal\n"
      "  zkapex personalize --model original --splits splits.json --method lora --rank 16 -o personal-lora");
  command.runs(action, [flags, command] { return run_training(command, *flags); });
}

}  // namespace zkapex::cli
