#include "parties/request.h"

#include <fmt/format.h>

#include "attestation/inputs.h"
#include "base/random.h"
#include "parties/output_check.h"
#include "unlearning/guide_from.h"
#include "unlearning/ranking.h"

namespace zkapex {

namespace {

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

Result<Operator> operator_of(const RequestOptions& options) {
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
Status add_guide(const RequestOptions& options, const Deployment& deployment, Mask& mask) {
  Guidance guidance;
  guidance.pull = options.pull;
  guidance.method = options.method;
  ZKAPEX_TRY(guidance.progress, thousandths(options.progress, "--progress"));
  ZKAPEX_TRY(guidance.distance, thousandths(options.distance, "--distance"));
  ZKAPEX_TRY(guidance.distance_removed, thousandths(options.distance_removed, "--distance-removed"));
  ZKAPEX_TRY(const Checkpoint unlearned, Checkpoint::open(options.guide_from));
  ZKAPEX_TRY(const Checkpoint base, Checkpoint::open(options.guide_base));
  for (const auto& [file, path] : {std::pair(&unlearned, options.guide_from), {&base, options.guide_base}}) {
    if (const Status same = deployment.layout().check_covered(file->tensors()); !same)
      return same.error().within(path.string());
  }
  ZKAPEX_TRY(guidance.guide, guide_from(deployment, mask.support, unlearned, base, options.guide_scale));
  mask.guidance = std::move(guidance);
  return Done{};
}

Result<std::vector<uint64_t>> choose(const RequestOptions& options, const Deployment& deployment,
                                     const Checkpoint& scores, const WorkSettings& settings) {
  const uint64_t weights = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, count_of(options.ratio, weights));
  Result<ScoreSource> source = checkpoint_scores(deployment.layout(), scores);
  if (!source) return source.error().within(options.scores.string());
  constexpr uint64_t kPasses = 5;  // of top_coordinates
  WorkProgress progress(settings, "ranking", "scores", kPasses * weights);
  const ScoreSource counted = [&](const ScoreVisitor& visit) {
    return (*source)([&](std::span<const double> piece) -> Status {
      ZKAPEX_CHECK(progress.advance(piece.size()));
      return visit(piece);
    });
  };
  return top_coordinates(counted, weights, count);
}

}  // namespace

std::vector<std::string> mask_warnings(uint64_t masked, uint64_t covered) {
  if (masked < covered) return {};
  return {fmt::format("the mask removes all of the {} covered weights: nothing is left to compensate with", covered)};
}

Result<RequestReport> make_request(const RequestOptions& options, const WorkSettings& settings) {
  ZKAPEX_CHECK(
      check_output(options.out, settings.force,
                   {options.deployment, options.scores, options.after, options.guide_from, options.guide_base}));
  ZKAPEX_TRY(const Operator op, operator_of(options));
  if (options.scores.empty() != options.ratio.empty()) return error("--scores and --ratio go together: give both");
  if (options.scores.empty() && op != Operator::kGuided)
    return error("--scores and --ratio say which weights are removed: give both");
  ZKAPEX_TRY(FileWriter file, FileWriter::create(options.out, {.overwrite = settings.force}));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = options.window;
  mask.op = op;
  ZKAPEX_TRY(mask.nonce, nonce_of(options.nonce));
  std::vector<std::string> warnings;
  if (!options.scores.empty()) {
    ZKAPEX_TRY(const Checkpoint scores, Checkpoint::open(options.scores));
    ZKAPEX_TRY(mask.support, choose(options, deployment, scores, settings));
    warnings = warnings_of(mask, deployment.layout(), scores);
  }
  size_t before = 0;
  if (!options.after.empty()) {
    ZKAPEX_TRY(const Mask earlier, read_mask(options.after, deployment));
    if (const Status done = mask.continue_from(earlier); !done) return done.error().within(options.after.string());
    before = earlier.support.size();
  }
  if (op == Operator::kGuided) {
    ZKAPEX_CHECK(add_guide(options, deployment, mask));
  }
  ZKAPEX_CHECK(mask.check_for(deployment));
  const Bytes bytes = mask.serialize();
  ZKAPEX_CHECK(file.write(bytes));
  ZKAPEX_CHECK(file.commit());
  for (std::string& sentence : mask.loose()) warnings.push_back(std::move(sentence));
  return RequestReport{std::move(mask),    deployment.layout().coordinates(), before, bytes.size(), sha256(bytes),
                       std::move(warnings)};
}

}  // namespace zkapex
