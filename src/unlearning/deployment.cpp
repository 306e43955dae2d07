#include "unlearning/deployment.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/bits.h"
#include "weights/cover.h"

namespace zkapex {

namespace {

// ⌊ℓ/4⌋, ℓ = 2^252 + 27742317777372353535851937790883648493 the order of the field: the room that integers have.
Wide quarter_of_the_field() {
  const uint128 low = static_cast<uint128>(0x14def9dea2f79cd6) << 64 | 0x5812631a5cf5d3ed;
  return (Wide::power_of_two(252) + Wide::from(low)).divided_by(4);
}

// ⌊(μ · digits · 10^-places · 2^f)²⌋. Dividing by ten step by step, rounding down each time, is dividing by 10^(2
// places).
Wide residual_bound_of(const Parameters& p, uint64_t pull = 0) {
  const Wide root = (Wide(p.floor) + Wide(pull)) * Wide(p.error.digits) * Wide::power_of_two(p.weights.fraction_bits);
  Wide bound = root * root;
  for (uint32_t k = 0; k < 2 * p.error.places; ++k) bound = bound.divided_by(10);
  return bound;
}

Wide power_of_ten(uint32_t exponent) {
  Wide out(1);
  for (uint32_t k = 0; k < exponent; ++k) out = out * Wide(10);
  return out;
}

// No two blocks are further apart than √B (2^w - 1) units: ε from there on is met by every model.
Status check_says_something(const Geometry& geometry, const Parameters& p) {
  const Wide root = Wide(p.error.digits) * Wide::power_of_two(p.weights.fraction_bits);
  const Wide side = (Wide::power_of_two(p.weights.width) - Wide(1)) * power_of_ten(p.error.places);
  if (root * root >= Wide(geometry.block) * side * side)
    return error("an error of {} says nothing: no two blocks of {} weights of {} bits are further apart; lower it",
                 p.error.text(), geometry.block, p.weights.width);
  return Done{};
}

Status check_supported(const Parameters& p) {
  ZKAPEX_CHECK(p.weights.check());
  if (p.curvature_bits < 2 || p.curvature_bits > Deployment::kMaxCurvatureBits)
    return error("{} curvature bits are outside 2 to {}", p.curvature_bits, Deployment::kMaxCurvatureBits);
  if (p.floor < 1 || p.floor > Deployment::kMaxFloor)
    return error("the curvature floor {} is outside 1 to {}", p.floor, Deployment::kMaxFloor);
  if (p.cap_denominator < 1 || p.cap_numerator > Deployment::kMaxCap || p.cap_denominator > Deployment::kMaxCap)
    return error("the cap {}/{} is outside 0/1 to {}/1", p.cap_numerator, p.cap_denominator, Deployment::kMaxCap);
  return Done{};
}

Status check_projections(const Geometry& g, const Parameters& p) {
  if (p.projections < Deployment::kMinProjections || p.projections > Deployment::kMaxProjections)
    return error("{} projections are outside {} to {}", p.projections, Deployment::kMinProjections,
                 Deployment::kMaxProjections);
  for (const uint64_t chunk : {p.weight_chunk, p.curvature_chunk, p.other_chunk}) {
    if (!std::has_single_bit(chunk) || chunk > std::min(g.row, Deployment::kMaxChunk))
      return error("chunks of {} are not a power of two up to the row length and {}", chunk, Deployment::kMaxChunk);
  }
  if (p.weight_bits() > 63)
    return error("projections of {} weights of {} bits do not fit 63 bits", p.weight_chunk, p.weights.width);
  return Done{};
}

// Bits that projections take a weight: of its S entries of the curvature, and of itself, once at registration and once
// in every window, of which there is one at least.
double bits_of_projections(const Geometry& g, const Parameters& p) {
  const auto count = static_cast<double>(std::bit_ceil(uint64_t{p.projections}));
  const auto of_entry = [&](uint64_t chunk, uint32_t bits) { return count * bits / static_cast<double>(chunk); };
  return static_cast<double>(g.stride()) * of_entry(p.curvature_chunk, p.curvature_range_bits()) +
         2 * of_entry(p.weight_chunk, p.weight_bits());
}

// Nothing wraps around in the windows of group-obs.
Status caps_fit(const Geometry& g, const Parameters& p, uint64_t padded_size, uint32_t slack_bits) {
  const Rule rules[] = {cap_rule(p)};
  return check_no_wrap(g, p, padded_size, slack_bits, 0, rules);
}

// Of the chunks with which nothing wraps around those that take the fewest bits; 1 where there are none.
void choose_chunks(const Geometry& g, uint64_t padded_size, uint32_t slack_bits, Parameters& p) {
  const uint64_t most = std::min(g.row, Deployment::kMaxChunk);
  if (p.other_chunk == 0) p.other_chunk = std::min<uint64_t>(most, uint64_t{1} << 10);
  const auto choices = [&](uint64_t given) {
    if (given != 0) return std::vector{given};
    std::vector<uint64_t> out;
    for (uint64_t chunk = most; chunk > 0; chunk /= 2) out.push_back(chunk);
    return out;
  };
  Parameters best = p;
  best.curvature_chunk = std::max<uint64_t>(p.curvature_chunk, 1);
  best.weight_chunk = std::max<uint64_t>(p.weight_chunk, 1);
  double fewest = std::numeric_limits<double>::infinity();
  for (const uint64_t curvature : choices(p.curvature_chunk)) {
    for (const uint64_t weight : choices(p.weight_chunk)) {
      Parameters tried = p;
      tried.curvature_chunk = curvature;
      tried.weight_chunk = weight;
      const double bits = bits_of_projections(g, tried);
      if (bits >= fewest || tried.weight_bits() > 63 || !caps_fit(g, tried, padded_size, slack_bits)) continue;
      fewest = bits;
      best = tried;
    }
  }
  p = best;
}

}  // namespace

uint32_t Parameters::weight_bits() const { return weights.width + log2_ceil(weight_chunk); }
uint32_t Parameters::curvature_range_bits() const { return curvature_bits + log2_ceil(curvature_chunk); }
int64_t Parameters::largest_other() const {
  return ((int64_t{1} << (kOtherBits - 1)) - 1) / static_cast<int64_t>(other_chunk);
}

Status check_no_wrap(const Geometry& g, const Parameters& p, uint64_t padded_size, uint32_t slack_bits, uint64_t pull,
                     std::span<const Rule> rules) {
  const auto size = [](int64_t v) { return Wide(v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v)); };
  const Wide move = Wide(2) * (Wide::power_of_two(p.weight_bits()) - Wide(1));
  const Wide guide = Wide::power_of_two(p.weights.width - 1) - Wide(1);
  // The largest |y|: every entry of the S x S square is bounded, triangular or not.
  const Wide entry = Wide::power_of_two(p.curvature_range_bits()) - Wide(1);
  const Wide curved = Wide(g.stride()) * Wide(g.block) * entry * entry + Wide(p.floor) + Wide(pull);
  const Wide y = curved * move + Wide(pull) * guide;
  const Wide slack = Wide::power_of_two(slack_bits), room = quarter_of_the_field();
  if (Wide(g.block) * y * y + slack >= room)
    return error(
        "blocks of {} with {}-bit curvature and {}-bit weights can wrap around in the field: lower one of them",
        g.block, p.curvature_bits, p.weights.width);
  for (const Rule& rule : rules) {
    const Wide one = (size(rule.removed) + size(rule.moved)) * move * move + size(rule.followed) * move * guide +
                     size(rule.guide) * guide * guide;
    if (Wide(padded_size) * one + slack >= room)
      return error("the {} over {} weights of {} bits can wrap around in the field: lower one of them", rule.name,
                   padded_size, p.weights.width);
  }
  return Done{};
}

uint64_t slack_planes(const Geometry& g, uint32_t slack_bits) { return (slack_bits + g.stride() - 1) / g.stride(); }

uint64_t rule_planes(const Geometry& g, uint32_t slack_bits, uint64_t rules) {
  const uint64_t in_a_row = std::max<uint64_t>(1, g.row / slack_bits);
  return (rules + in_a_row - 1) / in_a_row;
}

Status check_slack_bits(const Geometry& g, uint32_t slack_bits, uint64_t rules) {
  const uint64_t most_bits = std::min<uint64_t>(Deployment::kMaxSlackBits, g.row);
  if (slack_bits > most_bits)
    return error(
        "the slacks of residual and cap need {} bits, more than {}: lower the error, the weight bits or the cap",
        slack_bits, most_bits);
  const uint64_t planes = slack_planes(g, slack_bits) + rule_planes(g, slack_bits, rules);
  if (planes > Deployment::kMaxPlanes)
    return error("a window would have {} bit planes, more than {}: use larger blocks than {}, or longer rows", planes,
                 Deployment::kMaxPlanes, g.block);
  return Done{};
}

Wide Deployment::residual_bound(uint64_t pull) const { return residual_bound_of(parameters_, pull); }

Result<Deployment> Deployment::make(Layout layout, const Parameters& parameters, std::optional<Anchor> anchor) {
  ZKAPEX_CHECK(check_supported(parameters));
  Deployment out(std::move(layout), parameters, std::move(anchor));
  Parameters& p = out.parameters_;
  if (out.layout_.geometry().row < kMinRow)
    return error("rows of {} entries are shorter than {}", out.layout_.geometry().row, kMinRow);
  out.residual_bound_ = residual_bound_of(p);
  if (out.residual_bound_ == Wide())
    return error("the error {} is below one unit of {} fraction bits: raise it, or the curvature floor", p.error.text(),
                 p.weights.fraction_bits);
  const Wide largest_cap =
      Wide(p.cap_numerator) * Wide(out.layout_.coordinates()) * Wide::power_of_two(2 * p.weights.width);
  out.slack_bits_ = std::max(out.residual_bound_.bit_length(), largest_cap.bit_length());
  ZKAPEX_CHECK(check_slack_bits(out.layout_.geometry(), out.slack_bits_, 1));
  choose_chunks(out.layout_.geometry(), out.layout_.padded_size(), out.slack_bits_, p);
  ZKAPEX_CHECK(check_projections(out.layout_.geometry(), p));
  ZKAPEX_CHECK(caps_fit(out.layout_.geometry(), p, out.layout_.padded_size(), out.slack_bits_));
  ZKAPEX_CHECK(check_says_something(out.layout_.geometry(), p));
  ZKAPEX_CHECK(out.set_anchored());
  return out;
}

// No sum of the anchor wraps around: committed entries and those of θ0 are below 2^63 in size, so that at most 2^40
// squares of their differences, and a slack, are below a quarter of the field.
static_assert(Layout::kMaxPadded <= uint64_t{1} << 40 && Parameters::kOtherBits <= 63 &&
              40 + 2 * (Parameters::kOtherBits + 1) < 249 && Deployment::kMaxSlackBits < 249);

Status Deployment::set_anchored() {
  if (!anchor_) return Done{};
  ZKAPEX_TRY(anchored_, anchored_tensors(*anchor_, layout_, parameters_));
  anchor_bits_ = 1;
  for (const AnchoredTensor& anchored : anchored_) anchor_bits_ = std::max(anchor_bits_, anchored.bound.bit_length());
  if (const uint64_t most = std::min<uint64_t>(kMaxSlackBits, layout_.geometry().row); anchor_bits_ > most)
    return error("the slacks of the anchor need {} bits, more than {}: lower the fraction bits or lengthen the rows",
                 anchor_bits_, most);
  return Done{};
}

std::vector<std::string> Deployment::loose() const {
  const Parameters& p = parameters_;
  std::vector<std::string> out;
  if (Wide(p.error.digits) * Wide(100) > power_of_ten(p.error.places))
    out.push_back(fmt::format("the certified error {} is above 1e-2: a block may be far from the exact operator",
                              p.error.text()));
  if (p.cap_numerator > 100 * p.cap_denominator)
    out.push_back(fmt::format("the cap {}/{} is above 100: compensation may move the model far more than the mask does",
                              p.cap_numerator, p.cap_denominator));
  if (!anchor_) {
    out.emplace_back(kNoAnchor);
    return out;
  }
  Wide room, base;
  for (const AnchoredTensor& anchored : anchored_) {
    if (anchor_->tensors[anchored.tensor] != Anchored::kNear) continue;
    room += anchored.bound;
    base += anchor_->squares[anchored.tensor];
  }
  if (room >= base) out.emplace_back("the anchor leaves as much room as the base model has: any model may register");
  const AnchorLimits& limits = anchor_->limits;
  if (Wide(limits.drift.digits) * Wide(10) > power_of_ten(limits.drift.places))
    out.push_back(fmt::format("the anchor's drift {} is above 0.1: biases may be anything", limits.drift.text()));
  if (Wide(limits.added.digits) > power_of_ten(limits.added.places))
    out.push_back(fmt::format("the anchor lets added tensors have entries of {}, above 1", limits.added.text()));
  const auto name_covered = [&](Anchored kind, std::string_view sentence) {
    std::vector<std::string> names;
    for (const size_t k : layout_.covered()) {
      if (anchor_->tensors[k] == kind) names.push_back(layout_.tensors()[k].name);
    }
    if (!names.empty()) out.push_back(fmt::format("{}: {}", sentence, fmt::join(summarize_names(names), ", ")));
  };
  name_covered(Anchored::kFree, "tensors that unlearning reaches are free of the anchor");
  name_covered(Anchored::kAdded, "tensors that unlearning reaches are not in the base model");
  return out;
}

Bytes Deployment::content() const {
  ByteWriter out;
  const Parameters& p = parameters_;
  out.u32(p.curvature_bits);
  out.u32(p.weights.fraction_bits);
  out.u32(p.weights.width);
  out.u64(p.floor);
  out.u64(p.error.digits);
  out.u32(p.error.places);
  out.u64(p.cap_numerator);
  out.u64(p.cap_denominator);
  out.u32(p.projections);
  out.u64(p.weight_chunk);
  out.u64(p.curvature_chunk);
  out.u64(p.other_chunk);
  layout_.serialize(out);
  out.u8(anchor_ ? 1 : 0);
  if (anchor_) anchor_->serialize(out);
  return out.take();
}

Result<Deployment> Deployment::parse(ByteView file) {
  ZKAPEX_TRY(const ByteView body, unframe(kKind, file));
  ByteReader in(body);
  Parameters p;
  ZKAPEX_TRY(p.curvature_bits, in.u32());
  ZKAPEX_TRY(p.weights.fraction_bits, in.u32());
  ZKAPEX_TRY(p.weights.width, in.u32());
  ZKAPEX_TRY(p.floor, in.u64());
  ZKAPEX_TRY(const uint64_t digits, in.u64());
  ZKAPEX_TRY(const uint32_t places, in.u32());
  ZKAPEX_TRY(p.error, Decimal::from_parts(digits, places));
  ZKAPEX_TRY(p.cap_numerator, in.u64());
  ZKAPEX_TRY(p.cap_denominator, in.u64());
  ZKAPEX_TRY(p.projections, in.u32());
  ZKAPEX_TRY(p.weight_chunk, in.u64());
  ZKAPEX_TRY(p.curvature_chunk, in.u64());
  ZKAPEX_TRY(p.other_chunk, in.u64());
  if (p.weight_chunk == 0 || p.curvature_chunk == 0 || p.other_chunk == 0)
    return error("a chunk of 0 is not a power of two");
  ZKAPEX_TRY(Layout layout, Layout::parse(in));
  ZKAPEX_TRY(const uint8_t anchored, in.u8());
  if (anchored > 1) return error("a deployment has {} anchors", anchored);
  std::optional<Anchor> anchor;
  if (anchored == 1) {
    ZKAPEX_TRY(anchor, Anchor::parse(in, layout.tensors().size()));
  }
  ZKAPEX_CHECK(in.finish());
  return make(std::move(layout), p, std::move(anchor));
}

}  // namespace zkapex
