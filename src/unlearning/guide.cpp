#include "unlearning/guide.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "unlearning/deployment.h"

namespace zkapex {

namespace {

constexpr unsigned kBase = 3, kBytes = 243;  // 3^5 values of a byte

using Digits = std::array<uint8_t, Guide::kTritsPerByte>;

// The trits of every byte, the first one least significant.
const std::array<Digits, kBytes>& unpacked() {
  static const auto table = [] {
    std::array<Digits, kBytes> out{};
    for (unsigned byte = 0; byte < kBytes; ++byte) {
      unsigned rest = byte;
      for (uint8_t& trit : out[byte]) {
        trit = static_cast<uint8_t>(rest % kBase);
        rest /= kBase;
      }
    }
    return out;
  }();
  return table;
}

// The signs of every byte's trits, and three zeros.
const std::array<std::array<int8_t, 8>, kBytes>& signs_of_bytes() {
  static const auto table = [] {
    constexpr std::array<int8_t, kBase> kSign = {0, 1, -1};
    std::array<std::array<int8_t, 8>, kBytes> out{};
    for (unsigned byte = 0; byte < kBytes; ++byte) {
      for (unsigned k = 0; k < Guide::kTritsPerByte; ++k) out[byte][k] = kSign[unpacked()[byte][k]];
    }
    return out;
  }();
  return table;
}

uint64_t trit_bytes(uint64_t coordinates) { return (coordinates + Guide::kTritsPerByte - 1) / Guide::kTritsPerByte; }

}  // namespace

uint64_t Guide::magnitude(uint64_t scale, unsigned level) {
  if (level == 0) return 0;
  const unsigned halvings = kTopLevel - level;  // of the square
  // 181 / 256 is 1 / √2, but for two parts in ten thousand.
  const uint64_t start = halvings % 2 == 0 ? scale : static_cast<uint64_t>(static_cast<uint128>(scale) * 181 >> 8);
  return start >> (halvings / 2);
}

Status Guide::check_for(const Deployment& deployment, std::span<const uint64_t> masked) const {
  const Layout& layout = deployment.layout();
  if (scales.size() != layout.covered().size() || levels.size() != layout.blocks())
    return error("the guide has {} scales and {} levels, the layout {} covered tensors and {} blocks", scales.size(),
                 levels.size(), layout.covered().size(), layout.blocks());
  const auto most = static_cast<uint64_t>(deployment.parameters().weights.max());
  for (const uint64_t scale : scales)
    if (scale > most) return error("a guide's scale of {} is over the largest weight, {}", scale, most);
  for (const uint8_t level : levels)
    if (level > kTopLevel) return error("a guide's level of {} is over {}", level, kTopLevel);
  const uint64_t coordinates = layout.coordinates() - masked.size();
  if (trits.size() != trit_bytes(coordinates))
    return error("the guide has {} bytes of trits, {} weights outside the mask need {}", trits.size(), coordinates,
                 trit_bytes(coordinates));
  for (const uint8_t byte : trits)
    if (byte >= kBytes) return error("five trits are below {}, not {}", kBytes, byte);
  for (uint64_t k = coordinates; k < trits.size() * kTritsPerByte; ++k)
    if (unpacked()[trits.back()][k % kTritsPerByte] != 0) return error("the guide goes on after its last weight");
  return Done{};
}

void Guide::serialize(ByteWriter& out) const {
  out.u32(static_cast<uint32_t>(scales.size()));
  out.u64(levels.size());
  out.u64(trits.size());
  for (const uint64_t scale : scales) out.u64(scale);
  for (size_t b = 0; b < levels.size(); b += 2) {
    const unsigned second = b + 1 < levels.size() ? levels[b + 1] : 0U;
    out.u8(static_cast<uint8_t>(levels[b] | second << 4));
  }
  out.raw(trits);
}

Result<Guide> Guide::parse(ByteReader& in) {
  Guide out;
  ZKAPEX_TRY(const uint32_t tensors, in.u32());
  ZKAPEX_TRY(const uint64_t blocks, in.u64());
  ZKAPEX_TRY(const uint64_t bytes, in.u64());
  // What is there is checked before anything is allocated for it.
  ZKAPEX_TRY(const ByteView scales, in.raw(size_t{8} * tensors));
  ZKAPEX_TRY(const ByteView levels, in.raw(blocks / 2 + blocks % 2));
  ZKAPEX_TRY(const ByteView trits, in.raw(bytes));
  ByteReader numbers(scales);
  for (uint32_t k = 0; k < tensors; ++k) {
    ZKAPEX_TRY(out.scales.emplace_back(), numbers.u64());
  }
  out.levels.reserve(blocks);
  for (uint64_t b = 0; b < blocks; ++b) {
    out.levels.push_back(static_cast<uint8_t>(b % 2 == 0 ? levels[b / 2] & 15U : levels[b / 2] >> 4));
  }
  if (blocks % 2 == 1 && levels.back() >> 4 != 0) return error("a level follows the last block");
  out.trits.assign(trits.begin(), trits.end());
  return out;
}

GuideReader::GuideReader(const Layout& layout, std::span<const uint64_t> masked, const Guide& guide)
    : layout_(layout), masked_(masked), guide_(guide), covered_(layout.tensors().size()) {
  for (size_t k = 0; k < layout.covered().size(); ++k) covered_[layout.covered()[k]] = k;
}

uint64_t GuideReader::magnitude(uint64_t block) const {
  return Guide::magnitude(guide_.scales[covered_[layout_.block(block).tensor]], guide_.levels[block]);
}

void GuideReader::signs(uint64_t block, std::span<int8_t> out) const {
  const Layout::Block at = layout_.block(block);
  const auto first = std::lower_bound(masked_.begin(), masked_.end(), at.first_coordinate);
  const auto last = std::lower_bound(first, masked_.end(), at.first_coordinate + at.count);
  const uint64_t trit = at.first_coordinate - static_cast<uint64_t>(first - masked_.begin());
  const uint64_t count = at.count - static_cast<uint64_t>(last - first);
  // Whole bytes, eight signs at a time of which the last three are overwritten; then apart where the mask is.
  std::array<int8_t, Geometry::kMaxBlock + 16> run;
  const uint64_t first_byte = trit / Guide::kTritsPerByte, offset = trit % Guide::kTritsPerByte;
  for (uint64_t k = 0; k * Guide::kTritsPerByte < offset + count; ++k) {
    std::memcpy(run.data() + k * Guide::kTritsPerByte, signs_of_bytes()[guide_.trits[first_byte + k]].data(), 8);
  }
  const int8_t* from = run.data() + offset;
  uint64_t next = 0;
  for (auto masked = first; masked != last; ++masked, ++next) {
    const uint64_t place = *masked - at.first_coordinate;
    std::copy_n(from, place - next, out.begin() + static_cast<ptrdiff_t>(next));
    from += place - next;
    next = place;
    out[next] = 0;
  }
  std::copy_n(from, at.count - next, out.begin() + static_cast<ptrdiff_t>(next));
}

void GuideReader::read(uint64_t block, std::span<int64_t> out) const {
  std::vector<int8_t> sign(out.size());
  signs(block, sign);
  const auto m = static_cast<int64_t>(magnitude(block));
  for (size_t k = 0; k < out.size(); ++k) out[k] = m * sign[k];
}

std::vector<Wide> GuideReader::squares() const {
  std::vector<Wide> out(layout_.covered().size());
  std::vector<int8_t> sign;
  for (uint64_t b = 0; b < layout_.blocks(); ++b) {
    const Layout::Block block = layout_.block(b);
    sign.resize(block.count);
    signs(b, sign);
    const auto moved = static_cast<uint64_t>(std::ranges::count_if(sign, [](int8_t s) { return s != 0; }));
    out[covered_[block.tensor]] += Wide(moved) * Wide::square_of(static_cast<int128>(magnitude(b)));
  }
  return out;
}

void GuideMaker::add_trit(unsigned trit) {
  constexpr std::array<unsigned, Guide::kTritsPerByte> kPlace = {1, 3, 9, 27, 81};
  const uint64_t place = trit_count_++ % Guide::kTritsPerByte;
  if (place == 0) trits_.push_back(0);
  trits_.back() = static_cast<uint8_t>(trits_.back() + trit * kPlace[place]);
}

Status GuideMaker::add_block(std::span<const double> displacement) {
  const Layout::Block block = deployment_.layout().block(magnitudes_.size());
  if (displacement.size() != block.count)
    return error("block {} has {} weights, not {}", magnitudes_.size(), block.count, displacement.size());
  std::vector<double> free;  // by weight outside the mask
  for (uint64_t k = 0; k < block.count; ++k) {
    if (next_masked_ < masked_.size() && masked_[next_masked_] == block.first_coordinate + k) {
      ++next_masked_;
    } else {
      free.push_back(displacement[k]);
    }
  }
  double sum = 0, chosen = 0;
  for (const double v : free) sum += std::fabs(v);
  const double threshold = free.empty() ? 0 : 0.7 * sum / static_cast<double>(free.size());
  size_t count = 0;
  for (const double v : free) {
    const bool moves = std::fabs(v) > threshold;
    chosen += moves ? std::fabs(v) : 0;
    count += moves ? 1 : 0;
    add_trit(!moves ? 0 : v > 0 ? 1 : 2);
  }
  const FixedPoint& weights = deployment_.parameters().weights;
  const double mean = count == 0 ? 0 : chosen / static_cast<double>(count);
  const double magnitude = std::ldexp(mean, static_cast<int>(weights.fraction_bits));
  if (!(std::isfinite(sum) && magnitude <= static_cast<double>(weights.max())))
    return error("the displacement of block {} is not finite, or larger than any weight", magnitudes_.size());
  magnitudes_.push_back(magnitude);
  return Done{};
}

Guide GuideMaker::finish() const {
  const Layout& layout = deployment_.layout();
  Guide out;
  out.trits = trits_;
  for (const size_t tensor : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[tensor];
    const uint64_t blocks = t.full_blocks + (t.rest > 0 ? 1 : 0);
    const auto of_tensor = std::span(magnitudes_).subspan(t.first_block, blocks);
    const double largest = *std::ranges::max_element(of_tensor);
    out.scales.push_back(static_cast<uint64_t>(largest));
    for (const double m : of_tensor) {
      // The nearest level by ratio; none for what is far below the lowest.
      const double level = m > 0 ? Guide::kTopLevel + 2 * std::log2(m / largest) : 0;
      out.levels.push_back(static_cast<uint8_t>(std::max(0.0, std::round(level))));
    }
  }
  return out;
}

}  // namespace zkapex
