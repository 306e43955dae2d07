// zkapex deploy: layout and parameters, published once, before anyone registers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/work.h"
#include "parties/client.h"
#include "parties/describe.h"
#include "weights/checkpoint.h"
#include "weights/row_length.h"

namespace zkapex::cli {

namespace {

struct DeployOptions {
  CommonFlags common;
  Path model, out;
  std::string preset;
  std::vector<std::string> cover;
  uint64_t block = 256, row_length = 0;
  std::string error = "1e-5", cap = "4";
  bool allow_loose = false;
  Parameters parameters;
};

// "4" or "7/2"
Status parse_cap(const std::string& text, Parameters& parameters) {
  const size_t slash = text.find('/');
  uint64_t numerator = 0, denominator = 1;
  if (!read_number(text.substr(0, slash), numerator) ||
      (slash != std::string::npos && !read_number(text.substr(slash + 1), denominator))) {
    return error("--cap {}: write a whole number or a fraction, such as 4 or 7/2", text);
  }
  parameters.cap_numerator = numerator;
  parameters.cap_denominator = denominator;
  return Done{};
}

Result<CoverPatterns> patterns_of(const DeployOptions& options) {
  CoverPatterns patterns = options.cover;
  if (!options.preset.empty()) {
    ZKAPEX_TRY(const CoverPatterns preset, cover_preset(options.preset));
    patterns.insert(patterns.end(), preset.begin(), preset.end());
  }
  if (patterns.empty()) return error("say which tensors are covered: --preset vit, vit-fc1 or opt, or --cover PATTERN");
  return patterns;
}

// Each pattern, and the preset as a whole, matches something: a misspelt one would leave out weights in silence.
Status check_matched(const DeployOptions& options, const std::vector<TensorInfo>& tensors) {
  const auto matches = [&](const CoverPatterns& patterns) {
    return std::ranges::any_of(tensors, [&](const TensorInfo& t) { return is_covered(patterns, t.name); });
  };
  std::vector<std::string> missed;
  for (const std::string& pattern : options.cover) {
    if (!matches({pattern})) missed.push_back("--cover " + pattern);
  }
  if (!options.preset.empty()) {
    ZKAPEX_TRY(const CoverPatterns preset, cover_preset(options.preset));
    if (!matches(preset)) missed.push_back("--preset " + options.preset);
  }
  if (missed.empty()) return Done{};
  return error("no tensor of {} matches {}; zkapex inspect --tensors lists their names", options.model.string(),
               fmt::join(missed, ", nor "));
}

Status check_tight(const Deployment& deployment, bool allow_loose) {
  const std::vector<std::string> loose = deployment.loose();
  if (loose.empty() || allow_loose) return Done{};
  return error("{}; lower it, or say --allow-loose", fmt::join(loose, "; "));
}

// Every weight fits its fixed point: better known now than when clients register.
Status check_weights(const Deployment& deployment, const Checkpoint& model, ProgressStyle style) {
  const FixedPoint covered = deployment.parameters().weights;
  uint64_t total = 0;
  for (const TensorView& tensor : model.tensors()) total += tensor.count();
  Progress progress(style, "checking weights", "weights", total);
  std::vector<int64_t> piece;
  for (size_t k = 0; k < model.tensors().size(); ++k) {
    const TensorView& tensor = model.tensors()[k];
    const bool reached = deployment.layout().tensors()[k].covered, split = deployment.layout().tensors()[k].split;
    if (reached && !holds_weights(tensor.dtype()))
      return error("tensor '{}' is covered, but its elements are {}: only F16, BF16, F32 and F64 hold weights",
                   tensor.name(), dtype_name(tensor.dtype()));
    constexpr uint64_t kPiece = 1 << 16;
    for (uint64_t at = 0; at < tensor.count(); at += kPiece) {
      piece.resize(std::min(kPiece, tensor.count() - at));
      ZKAPEX_CHECK(reached ? covered.read(tensor, at, piece)
                           : read_unchanged(tensor, covered.fraction_bits, at, piece));
      const int64_t most = deployment.largest_other();
      if (const auto [low, high] = std::ranges::minmax(piece); !reached && !split && (high > most || low < -most))
        return error(
            "tensor '{}' is not covered, and has an element that is too large for a proof: at {} fraction bits at most "
            "{:.6g}",
            tensor.name(), covered.fraction_bits,
            holds_weights(tensor.dtype()) ? covered.to_double(most) : static_cast<double>(most));
      progress.advance(piece.size());
    }
  }
  return Done{};
}

// Bytes of a proof for this deployment, made with so much memory: refused here where none could be made, nor a
// registration.
Result<size_t> window_proof_bytes(const Deployment& deployment, const WorkSettings& settings) {
  Mask mask;
  mask.support = {0};
  if (const auto registration = plan_registration(deployment, settings); !registration) return registration.error();
  ZKAPEX_TRY(const WindowPlan plan, plan_window(deployment, mask, settings));
  return plan.shape().bytes();
}

uint64_t count_covered(const std::vector<TensorInfo>& tensors, const CoverPatterns& patterns) {
  uint64_t out = 0;
  for (const TensorInfo& tensor : tensors) {
    if (const auto count = element_count(tensor); is_covered(patterns, tensor.name) && count.ok()) out += *count;
  }
  return out;
}

Result<Outcome> deploy(const DeployOptions& options) {
  Parameters parameters = options.parameters;
  const Result<Decimal> largest_error = Decimal::parse(options.error);
  if (!largest_error) return largest_error.error().within("--error");
  parameters.error = *largest_error;
  ZKAPEX_CHECK(parse_cap(options.cap, parameters));
  ZKAPEX_TRY(const CoverPatterns patterns, patterns_of(options));
  ZKAPEX_CHECK(check_output(options.out, options.common.force, {options.model}));
  ZKAPEX_TRY(FileWriter file, FileWriter::create(options.out, {.overwrite = options.common.force}));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(options.model));
  std::vector<TensorInfo> tensors;
  for (const TensorView& tensor : model.tensors()) tensors.push_back(tensor.info());
  ZKAPEX_CHECK(check_matched(options, tensors));
  Geometry geometry{.block = options.block, .row = options.row_length};
  if (geometry.row == 0) geometry.row = default_row_length(geometry.block, count_covered(tensors, patterns));
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, patterns, geometry));
  ZKAPEX_TRY(const Deployment deployment, Deployment::make(std::move(layout), parameters));
  ZKAPEX_CHECK(check_tight(deployment, options.allow_loose));
  ZKAPEX_TRY(const size_t proof_bytes, window_proof_bytes(deployment, Work(options.common).settings()));
  ZKAPEX_CHECK(check_weights(deployment, model, options.common.progress_style()));
  const Bytes bytes = deployment.serialize();
  ZKAPEX_CHECK(file.write(bytes));
  ZKAPEX_CHECK(file.commit());
  Report report{.headline = fmt::format("{}: a deployment", options.out.string())};
  report.values["file_bytes"] = bytes.size();
  describe(deployment, report.values);
  report.values["sha256"] = to_hex(sha256(bytes));
  report.values["proof_of_a_window_bytes"] = proof_bytes;
  std::vector<std::string> covered;
  for (const size_t k : deployment.layout().covered()) covered.push_back(deployment.layout().tensors()[k].name);
  report.values["covered"] = options.common.json ? covered : summarize_names(covered);
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_deploy(Command parent, Action& action) {
  const auto options = std::make_shared<DeployOptions>();
  const Command command = parent.add_command("deploy", "Fix layout and parameters of a deployment (provider)");
  Parameters& p = options->parameters;
  command.add_option("--model", options->model, "The model that clients begin with: safetensors").required();
  command.add_option("--preset", options->preset, "Tensors that unlearning reaches: vit, vit-fc1 or opt");
  command.add_option("--cover", options->cover, "More of them, by name; {i} stands for a number, * for any characters");
  command.add_option("--block", options->block, "Weights in a Fisher block").shows_default();
  command.add_option("--bits", p.curvature_bits, "Bits of an entry of the curvature's factors").shows_default();
  command.add_option("--error", options->error, "How far a block may be from the exact operator").shows_default();
  command
      .add_option("--cap", options->cap,
                  "Most that compensation may move: squared norm, as a multiple of that of what the mask removes")
      .shows_default();
  command.add_flag("--allow-loose", options->allow_loose,
                   "Take an error above 1e-2 or a cap above 100; files and verdicts then say so");
  command.add_option("--row-length", options->row_length, "Weights in one commitment, a power of two; 0 chooses")
      .shows_default();
  command.add_option("--floor", p.floor, "Smallest eigenvalue of the scaled curvature").shows_default();
  command.add_option("--fraction-bits", p.weights.fraction_bits, "Bits of a weight behind the point").shows_default();
  command.add_option("--width", p.weights.width, "Bits of a weight in all").shows_default();
  command.add_option("-o,--output", options->out, "The deployment file to write").required();
  options->common.offer_all(command);
  command.footer(
      "All clients use this file, and its digest names it everywhere. Parameters that could let an integer wrap "
      "around\n"
      "in the proof's field are refused, and so is a model with a weight that does not fit. Tensors that are not "
      "covered\n"
      "stay as they are, whatever their type; one that is covered holds floating-point weights.\n\n"
      "The cap is over squares: Σ (moved)² <= cap · Σ (removed)². An error above 1e-2 or a cap above 100 says little "
      "about\n"
      "a model and needs --allow-loose; an error that every model meets is refused.\n\n"
      "Rows: long ones make short proofs, but each takes memory. Left to choose, the row length n is the smallest "
      "power\n"
      "of two with n² >= 256 · (covered weights), at least 256 and at most 131072; it is never below the square of "
      "the\n"
      "block size (rounded up to a power of two), because a row holds whole squares of the curvature.\n\n"
      "--memory is what clients will prove with, for the size of a proof that is told; --threads changes nothing "
      "here.\n\n"
      "Examples:\n"
      "  zkapex deploy --model vit-b16.safetensors --preset vit -o deployment.zka\n"
      "  zkapex deploy --model model/ --preset opt --bits 12 --error 1e-6 -o deployment.zka\n"
      "  zkapex deploy --model m.safetensors --cover 'blocks.{i}.mlp.*.weight' --block 64 -o deployment.zka");
  command.runs(action, [options] { return deploy(*options); });
}

}  // namespace zkapex::cli
