#include "parties/deploy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "parties/base_model.h"
#include "parties/client.h"
#include "parties/output_check.h"
#include "weights/checkpoint.h"
#include "weights/row_length.h"

namespace zkapex {

namespace {

Result<AnchorLimits> parse_limits(const DeployRequest& request) {
  AnchorLimits limits;
  const Result<Decimal> ratio = Decimal::parse(request.ratio), drift = Decimal::parse(request.drift),
                        added = Decimal::parse(request.added);
  if (!ratio) return ratio.error().within("--anchor");
  if (!drift) return drift.error().within("--drift");
  if (!added) return added.error().within("--added");
  uint64_t thousandths = ratio->digits;
  for (uint32_t k = ratio->places; k < 3 && thousandths <= AnchorLimits::kMaxRatio; ++k) thousandths *= 10;
  if (ratio->places > 3 || thousandths > AnchorLimits::kMaxRatio)
    return error("--anchor {}: write a ratio from 0.001 to {} with at most three places", request.ratio,
                 AnchorLimits::kMaxRatio / AnchorLimits::kThousand);
  return AnchorLimits{static_cast<uint32_t>(thousandths), *drift, *added};
}

bool read_number(std::string_view text, uint64_t& value) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size();
}

// "4" or "7/2"
Status parse_cap(const std::string& text, Parameters& parameters) {
  const size_t slash = text.find('/');
  uint64_t numerator = 0, denominator = 1;
  const std::string_view parts = text;
  if (!read_number(parts.substr(0, slash), numerator) ||
      (slash != std::string::npos && !read_number(parts.substr(slash + 1), denominator))) {
    return error("--cap {}: write a whole number or a fraction, such as 4 or 7/2", text);
  }
  parameters.cap_numerator = numerator;
  parameters.cap_denominator = denominator;
  return Done{};
}

Result<CoverPatterns> patterns_of(const DeployRequest& request) {
  CoverPatterns patterns = request.cover;
  if (!request.preset.empty()) {
    ZKAPEX_TRY(const CoverPatterns preset, cover_preset(request.preset));
    patterns.insert(patterns.end(), preset.begin(), preset.end());
  }
  if (patterns.empty()) return error("say which tensors are covered: --preset vit, vit-fc1 or opt, or --cover PATTERN");
  return patterns;
}

// Each pattern, and the preset as a whole, matches something: a misspelt one would leave out weights in silence.
Status check_matched(const DeployRequest& request, const std::vector<TensorInfo>& tensors) {
  const auto matches = [&](const CoverPatterns& patterns) {
    return std::ranges::any_of(tensors, [&](const TensorInfo& t) { return is_covered(patterns, t.name); });
  };
  std::vector<std::string> missed;
  for (const std::string& pattern : request.cover) {
    if (!matches({pattern})) missed.push_back("--cover " + pattern);
  }
  for (const std::string& pattern : request.free) {
    if (!matches({pattern})) missed.push_back("--free " + pattern);
  }
  if (!request.preset.empty()) {
    ZKAPEX_TRY(const CoverPatterns preset, cover_preset(request.preset));
    if (!matches(preset)) missed.push_back("--preset " + request.preset);
  }
  if (missed.empty()) return Done{};
  return error("no tensor of {} matches {}; zkapex inspect --tensors lists their names", request.model.string(),
               fmt::join(missed, ", nor "));
}

Status check_tight(const Deployment& deployment, bool allow_loose) {
  std::vector<std::string> loose = deployment.loose();
  std::erase(loose, Deployment::kNoAnchor);  // asked for by --no-anchor
  if (loose.empty() || allow_loose) return Done{};
  return error("{}; lower it, or say --allow-loose", fmt::join(loose, "; "));
}

// Every weight fits its fixed point: better known now than when clients register.
Status check_weights(const Deployment& deployment, const Checkpoint& model, const WorkSettings& settings) {
  const FixedPoint covered = deployment.parameters().weights;
  uint64_t total = 0;
  for (const TensorView& tensor : model.tensors()) total += tensor.count();
  WorkProgress progress(settings, "checking weights", "weights", total);
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
      const int64_t most = deployment.parameters().largest_other();
      if (const auto [low, high] = std::ranges::minmax(piece); !reached && !split && (high > most || low < -most))
        return error(
            "tensor '{}' is not covered, and has an element that is too large for a proof: at {} fraction bits at most "
            "{:.6g}",
            tensor.name(), covered.fraction_bits,
            holds_weights(tensor.dtype()) ? covered.to_double(most) : static_cast<double>(most));
      ZKAPEX_CHECK(progress.advance(piece.size()));
    }
  }
  return Done{};
}

// Bytes of a proof for this deployment, made with so much memory: refused here where none could be made, nor a
// registration.
Result<size_t> window_proof_bytes(const Deployment& deployment, const WorkSettings& settings) {
  Mask mask;
  mask.support = {0};
  WorkSettings any = settings;
  any.memory.reset();  // registering may take more
  if (const auto registration = plan_registration(deployment, any); !registration) return registration.error();
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

// At the base model, which is the model itself unless the options name another.
Result<Deployment> anchored(const DeployRequest& request, const AnchorLimits& limits, const Deployment& deployment,
                            const Checkpoint& model, ThreadPool& pool) {
  if (request.base.empty()) return anchor_deployment(deployment, model, limits, request.free, pool);
  ZKAPEX_TRY(const Checkpoint base, Checkpoint::open(request.base));
  Result<Deployment> out = anchor_deployment(deployment, base, limits, request.free, pool);
  if (!out) return out.error().within(request.base.string());
  return out;
}

}  // namespace

Result<DeployReport> deploy(const DeployRequest& request, const WorkSettings& settings) {
  Parameters parameters = request.parameters;
  const Result<Decimal> largest_error = Decimal::parse(request.error);
  if (!largest_error) return largest_error.error().within("--error");
  parameters.error = *largest_error;
  ZKAPEX_CHECK(parse_cap(request.cap, parameters));
  ZKAPEX_TRY(const AnchorLimits limits, parse_limits(request));
  ZKAPEX_TRY(const CoverPatterns patterns, patterns_of(request));
  ZKAPEX_CHECK(check_output(request.out, settings.force, {request.model, request.base}));
  ZKAPEX_TRY(FileWriter file, FileWriter::create(request.out, {.overwrite = settings.force}));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(request.model));
  std::vector<TensorInfo> tensors;
  for (const TensorView& tensor : model.tensors()) tensors.push_back(tensor.info());
  ZKAPEX_CHECK(check_matched(request, tensors));
  Geometry geometry{.block = request.block, .row = request.row_length};
  if (geometry.row == 0) geometry.row = default_row_length(geometry.block, count_covered(tensors, patterns));
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, patterns, geometry));
  ZKAPEX_TRY(Deployment deployment, Deployment::make(std::move(layout), parameters));
  ZKAPEX_CHECK(check_weights(deployment, model, settings));
  if (!request.no_anchor) {
    ZKAPEX_TRY(deployment, anchored(request, limits, deployment, model, *settings.pool));
  }
  ZKAPEX_CHECK(check_tight(deployment, request.allow_loose));
  ZKAPEX_TRY(const size_t proof_bytes, window_proof_bytes(deployment, settings));
  const Bytes bytes = deployment.serialize();
  ZKAPEX_CHECK(file.write(bytes));
  ZKAPEX_CHECK(file.commit());
  return DeployReport{std::move(deployment), bytes.size(), sha256(bytes), proof_bytes};
}

}  // namespace zkapex
