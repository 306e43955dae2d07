// zkapex mask: the artifact of one window, from scores.
#include <fmt/format.h>

#include <memory>

#include "attestation/inputs.h"
#include "base/names.h"
#include "base/random.h"
#include "cli/work.h"
#include "parties/describe.h"
#include "unlearning/guide_from.h"
#include "unlearning/ranking.h"

namespace zkapex::cli {

namespace {

struct MaskOptions {
  CommonFlags common;
  Path deployment, scores, after, out;
  std::string ratio, window, nonce, op;
  Path guide_from, guide_base;
  double guide_scale = 1;
  uint64_t pull = 127 * 127;  // the square of the largest entry of a factor of 8 bits
  std::string progress = "0.2", distance = "1", distance_removed = "2";
};

Result<std::array<uint8_t, 32>> nonce_of(const std::string& hex) {
  if (hex.empty()) return random_array<32>();
  const Result<Bytes> bytes = from_hex(hex);
  if (!bytes || bytes->size() != 32) return error("--nonce has 64 hexadecimal digits");
  std::array<uint8_t, 32> out;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

std::vector<std::string> warnings_of(const Mask& mask, const Layout& layout, const Checkpoint& scores) {
  std::vector<std::string> out = mask_warnings(mask.support.size(), layout.coordinates());
  for (const LayoutTensor& tensor : layout.tensors()) {
    if (tensor.covered || scores.find(tensor.name) == nullptr) continue;
    out.push_back(fmt::format(
        "the scores also have '{}', which is not covered: is this a model, given in place of scores?", tensor.name));
    break;
  }
  return out;
}

// How many weights a ratio selects.
Result<uint64_t> count_of(const std::string& ratio, uint64_t weights) {
  const Result<Decimal> parsed = Decimal::parse(ratio);
  const Result<uint64_t> count = parsed ? mask_size(*parsed, weights) : parsed.error();
  if (!count) return count.error().within("--ratio");
  return count;
}

// A number such as 0.25 in thousandths, exactly.
Result<uint32_t> thousandths(const std::string& text, std::string_view option) {
  if (text == "0") return uint32_t{0};
  const Result<Decimal> parsed = Decimal::parse(text);
  if (!parsed) return parsed.error().within(option);
  uint64_t out = parsed->digits;
  for (uint32_t k = parsed->places; k < 3; ++k) out *= 10;
  if (parsed->places > 3 || out > Guidance::kMaxDistance)
    return error("{}: {} is not a number of thousandths up to 1000", option, text);
  return static_cast<uint32_t>(out);
}

Result<Operator> operator_of(const MaskOptions& options) {
  const bool has_guide = !options.guide_from.empty();
  if (has_guide != !options.guide_base.empty())
    return error("a guide is the way from --guide-base to --guide-from: give both");
  if (options.op.empty()) return has_guide ? Operator::kGuided : Operator::kGroupObs;
  ZKAPEX_TRY(const Operator op, operator_named(options.op));
  if ((op == Operator::kGuided) != has_guide)
    return error("--operator {} {}", options.op, has_guide ? "has no guide" : "needs --guide-from and --guide-base");
  return op;
}

// The mask is complete: a guide is zero on it.
Status add_guide(const MaskOptions& options, const Deployment& deployment, Mask& mask) {
  Guidance guidance;
  guidance.pull = options.pull;
  ZKAPEX_TRY(guidance.progress, thousandths(options.progress, "--progress"));
  ZKAPEX_TRY(guidance.distance, thousandths(options.distance, "--distance"));
  ZKAPEX_TRY(guidance.distance_removed, thousandths(options.distance_removed, "--distance-removed"));
  ZKAPEX_TRY(const Checkpoint unlearned, Checkpoint::open(options.guide_from));
  ZKAPEX_TRY(const Checkpoint base, Checkpoint::open(options.guide_base));
  for (const auto& [file, path] : {std::pair(&unlearned, options.guide_from), {&base, options.guide_base}}) {
    if (const Status same = deployment.layout().check_tensors(file->tensors()); !same)
      return same.error().within(path.string());
  }
  ZKAPEX_TRY(guidance.guide, guide_from(deployment, mask.support, unlearned, base, options.guide_scale));
  mask.guidance = std::move(guidance);
  return Done{};
}

Result<std::vector<uint64_t>> choose(const MaskOptions& options, const Deployment& deployment,
                                     const Checkpoint& scores) {
  const uint64_t weights = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, count_of(options.ratio, weights));
  Result<ScoreSource> source = checkpoint_scores(deployment.layout(), scores);
  if (!source) return source.error().within(options.scores.string());
  constexpr uint64_t kPasses = 5;  // of top_coordinates
  Progress progress(options.common.progress_style(), "ranking", "scores", kPasses * weights);
  const ScoreSource counted = [&](const ScoreVisitor& visit) {
    return (*source)([&](std::span<const double> piece) {
      progress.advance(piece.size());
      return visit(piece);
    });
  };
  return top_coordinates(counted, weights, count);
}

Result<Outcome> make_mask(const MaskOptions& options) {
  ZKAPEX_CHECK(
      check_output(options.out, options.common.force,
                   {options.deployment, options.scores, options.after, options.guide_from, options.guide_base}));
  ZKAPEX_TRY(const Operator op, operator_of(options));
  if (options.scores.empty() != options.ratio.empty()) return error("--scores and --ratio go together: give both");
  if (options.scores.empty() && op != Operator::kGuided)
    return error("--scores and --ratio say which weights are removed: give both");
  ZKAPEX_TRY(FileWriter file, FileWriter::create(options.out, {.overwrite = options.common.force}));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = options.window;
  mask.op = op;
  ZKAPEX_TRY(mask.nonce, nonce_of(options.nonce));
  std::vector<std::string> warnings;
  if (!options.scores.empty()) {
    ZKAPEX_TRY(const Checkpoint scores, Checkpoint::open(options.scores));
    ZKAPEX_TRY(mask.support, choose(options, deployment, scores));
    warnings = warnings_of(mask, deployment.layout(), scores);
  }
  size_t before = 0;
  if (!options.after.empty()) {
    ZKAPEX_TRY(const Mask earlier, read_mask(options.after, deployment));
    if (earlier.window == mask.window)
      return error("{} is the mask of the window '{}' itself; give --window a new name", options.after.string(),
                   mask.window);
    mask.continue_from(earlier);
    before = earlier.support.size();
  }
  if (op == Operator::kGuided) {
    ZKAPEX_CHECK(add_guide(options, deployment, mask));
  }
  ZKAPEX_CHECK(mask.check_for(deployment));
  const Bytes bytes = mask.serialize();
  ZKAPEX_CHECK(file.write(bytes));
  ZKAPEX_CHECK(file.commit());
  Report report{.headline = fmt::format("{}: a mask for the window {}", options.out.string(), in_quotes(mask.window))};
  report.values["file_bytes"] = bytes.size();
  report.values["mask"] = to_hex(mask.digest());
  report.values["sha256"] = to_hex(sha256(bytes));
  report.values["window"] = mask.window;
  report.values["operator"] = name(mask.op);
  report.values["masked"] = mask.support.size();
  if (!options.after.empty()) report.values["masked_before"] = before;
  report.values["covered_weights"] = deployment.layout().coordinates();
  describe(mask.guidance, report.values);
  report.values["nonce"] = to_hex(mask.nonce);
  if (!options.after.empty()) report.values["predecessor"] = to_hex(mask.predecessor);
  for (std::string& sentence : mask.loose()) warnings.push_back(std::move(sentence));
  report.warnings = std::move(warnings);
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_mask(Command parent, Action& action) {
  const auto options = std::make_shared<MaskOptions>();
  const Command command = parent.add_command("mask", "Choose the weights that a window removes (provider)");
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--scores", options->scores, "Safetensors with one score for each covered weight");
  command.add_option("--ratio", options->ratio, "How many of them, such as 0.04");
  command.add_option("--after", options->after, "The last window's mask, which this one will contain");
  command.add_option("--window", options->window, "Name of the window, never used before").required();
  command.add_option("--operator", options->op,
                     "group-obs (default) compensates what is removed; mask-only does not; guided follows a guide");
  command.add_option("--guide-from", options->guide_from,
                     "A checkpoint that has unlearned, by any method: clients are drawn where it went");
  command.add_option("--guide-base", options->guide_base, "The checkpoint that it started from");
  command.add_option("--guide-scale", options->guide_scale, "What the way between them is multiplied by")
      .shows_default();
  command.add_option("--pull", options->pull, "t, how strongly clients are drawn").shows_default();
  command.add_option("--progress", options->progress, "Part of the guide that every tensor has to follow")
      .shows_default();
  command
      .add_option("--distance", options->distance,
                  "How far a tensor may stay from the guide: so many times the guide's square, and")
      .shows_default();
  command.add_option("--distance-removed", options->distance_removed, "so many times the square of what is removed")
      .shows_default();
  command.add_option("--nonce", options->nonce, "64 hexadecimal digits; fresh ones where not given");
  command.add_option("-o,--output", options->out, "The mask file to write").required();
  options->common.offer_all(command);
  command.footer(
      "Scores are tensors with the names and sizes of the covered ones, and no others. The highest are removed, over "
      "all tensors\n"
      "together; equal scores go by position, so that every machine finds the same mask. One thread and little memory "
      "are\n"
      "enough: --threads and --memory are there for scripts that give them to every command.\n\n"
      "Which operator clients are to apply stands in the mask: they have no say in it, and a proof of the other does "
      "not\n"
      "pass.\n\n"
      "With a guide the request says where the weights that stay are drawn: from --guide-base to --guide-from, kept as "
      "one\n"
      "of -m, 0, m a weight. A client's curvature decides how far it follows; the rules say how far it has to, in "
      "every\n"
      "tensor. Then --scores and --ratio may be left out, and nothing is removed.\n\n"
      "Publish the mask only after clients have registered: a curvature that is chosen with the mask in sight can "
      "steer\n"
      "what compensation does.\n\n"
      "After the first window give --after, the mask before this one: its weights are removed too. Clients and "
      "verifiers\n"
      "refuse a mask that leaves out what the client's last one removed.\n\n"
      "Examples:\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-11 -o psi.zka\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-12 --after psi.zka "
      "\\\n"
      "      -o next.zka\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.01 --guide-base model.safetensors "
      "\\\n"
      "      --guide-from unlearned.safetensors --window 2026-11 -o psi.zka");
  command.runs(action, [options] { return make_mask(*options); });
}

}  // namespace zkapex::cli
