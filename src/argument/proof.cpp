#include "argument/proof.h"

#include "base/bits.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace zkapex {

namespace {

constexpr std::array<uint8_t, 8> kMagic = {'z', 'k', 'a', 'p', 'e', 'x', 'P', 1};

}  // namespace

bool is_row_length(size_t length) { return std::has_single_bit(length) && length <= kMaxRowLength; }

unsigned ProofShape::position_rounds() const { return static_cast<unsigned>(std::countr_zero(row_length)); }

unsigned ProofShape::opening_rounds() const { return log2_ceil(generators()); }

size_t ProofShape::sealed_scalars() const {
  return std::accumulate(forks.begin(), forks.end(), size_t{0}) + main_scalars();
}

size_t ProofShape::bytes() const {
  const size_t points = rows + 1 + 1 + size_t{2} * opening_rounds();
  const size_t scalars = sealed_scalars() + 2 * products + 3;
  return kMagic.size() + 32 * (points + scalars);
}

Bytes Proof::encode() const {
  ByteWriter out;
  const auto put_points = [&](std::span<const EncodedPoint> points) {
    for (const EncodedPoint& p : points) out.raw(p);
  };
  const auto put_scalars = [&](std::span<const Scalar> scalars) {
    for (const Scalar& s : scalars) out.raw(s.to_bytes());
  };
  out.raw(kMagic);
  put_points(rows);
  out.raw(pads);
  for (const std::vector<Scalar>& fork : forks) put_scalars(fork);
  put_scalars(main);
  put_scalars(masked_factors);
  out.raw(opening.mask);
  put_scalars({{opening.mask_value, opening.blinding}});
  put_points(opening.left);
  put_points(opening.right);
  out.raw(opening.last.to_bytes());
  return out.take();
}

Result<Proof, Rejection> Proof::decode(ByteView bytes, const ProofShape& shape) {
  if (bytes.size() != shape.bytes()) {
    return Rejection{Reason::kLength,
                     fmt::format("the proof has {} bytes, these parameters imply {}", bytes.size(), shape.bytes())};
  }
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return Rejection{Reason::kVersion, "not a proof of this version"};
  }
  // From here on the length is right, so every read is inside.
  size_t at = kMagic.size();
  size_t bad_scalar = 0;  // where the first one begins; byte 0 is the magic's
  const auto point = [&] {
    EncodedPoint p;
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), 32, p.begin());
    at += 32;
    return p;
  };
  const auto points = [&](size_t count) {
    std::vector<EncodedPoint> out(count);
    for (EncodedPoint& p : out) p = point();
    return out;
  };
  const auto scalar = [&] {
    const Result<Scalar> s = Scalar::from_bytes(bytes.subspan(at, 32));
    if (!s && bad_scalar == 0) bad_scalar = at;
    at += 32;
    return s ? *s : Scalar::zero();
  };
  const auto scalars = [&](size_t count) {
    std::vector<Scalar> out(count);
    for (Scalar& s : out) s = scalar();
    return out;
  };
  Proof proof;
  proof.rows = points(shape.rows);
  proof.pads = point();
  for (const size_t count : shape.forks) proof.forks.push_back(scalars(count));
  proof.main = scalars(shape.main_scalars());
  proof.masked_factors = scalars(2 * shape.products);
  proof.opening.mask = point();
  proof.opening.mask_value = scalar();
  proof.opening.blinding = scalar();
  proof.opening.left = points(shape.opening_rounds());
  proof.opening.right = points(shape.opening_rounds());
  proof.opening.last = scalar();
  if (bad_scalar != 0) {
    return Rejection{Reason::kScalar, fmt::format("the scalar at byte {} is not canonical", bad_scalar)};
  }
  return proof;
}

}  // namespace zkapex
