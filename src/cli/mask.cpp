// zkapex mask: the artifact of one window, from scores.
#include <fmt/format.h>

#include <memory>

#include "attestation/inputs.h"
#include "base/names.h"
#include "base/random.h"
#include "cli/work.h"
#include "unlearning/ranking.h"

namespace zkapex::cli {

namespace {

struct MaskOptions {
  CommonFlags common;
  Path deployment, scores, after, out;
  std::string ratio, window, nonce, op = std::string(name(Operator::kGroupObs));
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

Result<Outcome> make_mask(const MaskOptions& options) {
  ZKAPEX_CHECK(check_output(options.out, options.common.force, {options.deployment, options.scores, options.after}));
  ZKAPEX_TRY(FileWriter file, FileWriter::create(options.out, {.overwrite = options.common.force}));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  const uint64_t weights = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, count_of(options.ratio, weights));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = options.window;
  ZKAPEX_TRY(mask.op, operator_named(options.op));
  ZKAPEX_TRY(mask.nonce, nonce_of(options.nonce));
  ZKAPEX_TRY(const Checkpoint scores, Checkpoint::open(options.scores));
  Result<ScoreSource> source = checkpoint_scores(deployment.layout(), scores);
  if (!source) return source.error().within(options.scores.string());
  {
    constexpr uint64_t kPasses = 5;  // of top_coordinates
    Progress progress(options.common.progress_style(), "ranking", "scores", kPasses * weights);
    const ScoreSource counted = [&](const ScoreVisitor& visit) {
      return (*source)([&](std::span<const double> piece) {
        progress.advance(piece.size());
        return visit(piece);
      });
    };
    ZKAPEX_TRY(mask.support, top_coordinates(counted, weights, count));
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
  ZKAPEX_CHECK(mask.check());
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
  report.values["covered_weights"] = weights;
  report.values["nonce"] = to_hex(mask.nonce);
  if (!options.after.empty()) report.values["predecessor"] = to_hex(mask.predecessor);
  report.warnings = warnings_of(mask, deployment.layout(), scores);
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_mask(Command parent, Action& action) {
  const auto options = std::make_shared<MaskOptions>();
  const Command command = parent.add_command("mask", "Choose the weights that a window removes (provider)");
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--scores", options->scores, "Safetensors with one score for each covered weight").required();
  command.add_option("--ratio", options->ratio, "How many of them, such as 0.04").required();
  command.add_option("--after", options->after, "The last window's mask, which this one will contain");
  command.add_option("--window", options->window, "Name of the window, never used before").required();
  command.add_option("--operator", options->op, "group-obs compensates what is removed; mask-only does not")
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
      "      -o next.zka");
  command.runs(action, [options] { return make_mask(*options); });
}

}  // namespace zkapex::cli
