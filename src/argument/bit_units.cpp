#include "argument/bit_units.h"

#include <numeric>

#include "algebra/multilinear.h"
#include "base/bits.h"

namespace zkapex {

namespace {

// What is opened of a unit: Σ_k eq(κ, k) Σ_t eq(r_row, t) R[k, t] at r_position.
struct Opening {
  std::vector<Scalar> plane, row, point;
  Opening(const BitUnits& units, size_t unit, std::span<const Scalar> r, std::span<const Scalar> kappa)
      : plane(eq_prefix(kappa, units.planes)),
        row(eq_prefix(r.first(units.row_variables(unit)), units.rows[unit])),
        point(r.begin() + units.row_variables(unit), r.end()) {}
};

BitRows rows_of(const BitUnits& units, size_t unit, const BitMatrix& bits, std::span<const Scalar> blindings) {
  return {bits.segment(unit), bits.words_per_row(), units.row_length,
          blindings.subspan(units.first_bit_row(unit), units.planes * units.rows[unit])};
}

}  // namespace

size_t BitUnits::all_rows() const { return first_row(rows.size()); }

size_t BitUnits::first_row(size_t unit) const {
  return std::accumulate(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(unit), size_t{0});
}

unsigned BitUnits::row_variables(size_t unit) const { return log2_ceil(rows[unit]); }

unsigned BitUnits::variables(size_t unit) const { return row_variables(unit) + log2_ceil(row_length); }

size_t BitUnits::scalars(size_t unit) const { return bit_check_scalars(planes, variables(unit)); }

Verdict BitUnits::sound() const {
  if (!is_row_length(row_length))
    return Rejection{Reason::kStatement, "the row length is not a supported power of two"};
  if (planes < 1 || planes > 64) return Rejection{Reason::kStatement, fmt::format("{} bits, not 1 to 64", planes)};
  if (rows.empty() || rows.size() > kMaxForks)
    return Rejection{Reason::kStatement, fmt::format("{} segments, not 1 to {}", rows.size(), kMaxForks)};
  for (const size_t count : rows) {
    if (count < 1 || count > kMaxRows)
      return Rejection{Reason::kStatement, fmt::format("a segment of {} rows, not 1 to {}", count, kMaxRows)};
  }
  return Done{};
}

Status prove_unit(const BitUnits& units, size_t unit, const BitMatrix& bits, std::span<const Scalar> blindings,
                  Sender& channel, ArgumentProver& prover) {
  const auto tau = BitChallenges::draw(channel.transcript(), units.planes, units.variables(unit));
  const ProverBits proved = prove_bits(channel, prover, tau, bits.planes(unit));
  const Opening opening(units, unit, proved.r, proved.kappa);
  ProverPair pair = fold_bit_rows(rows_of(units, unit, bits, blindings), opening.plane, opening.row, prover.pool());
  pair.point = opening.point;
  pair.value = proved.b;
  return prover.add_pair(std::move(pair));
}

void replay_unit(const BitUnits& units, size_t unit, size_t first, Receiver& channel, ArgumentVerifier& verifier) {
  const auto tau = BitChallenges::draw(channel.transcript(), units.planes, units.variables(unit));
  const VerifierBits bits = verify_bits(channel, verifier, tau);
  const Opening opening(units, unit, bits.r, bits.kappa);
  VerifierPair pair{{}, opening.point, bits.b};
  add_bit_rows(pair.commitment, first + units.first_bit_row(unit), opening.plane, opening.row);
  verifier.add_pair(std::move(pair));
}

ProverPair fold_value_rows(const BitUnits& units, const BitMatrix& bits, std::span<const Scalar> blindings,
                           std::span<const Scalar> row, ThreadPool& pool) {
  const std::vector<Scalar> signs = sign_weights(units.planes);
  ProverPair out;
  out.vector.resize(units.row_length);
  for (size_t unit = 0; unit < units.rows.size(); ++unit) {
    const ProverPair part = fold_bit_rows(rows_of(units, unit, bits, blindings), signs,
                                          row.subspan(units.first_row(unit), units.rows[unit]), pool);
    for (size_t l = 0; l < out.vector.size(); ++l) out.vector[l] += part.vector[l];
    out.blinding += part.blinding;
  }
  return out;
}

void add_value_rows(RowCombination& out, const BitUnits& units, size_t first, std::span<const Scalar> row) {
  const std::vector<Scalar> signs = sign_weights(units.planes);
  for (size_t unit = 0; unit < units.rows.size(); ++unit) {
    add_bit_rows(out, first + units.first_bit_row(unit), signs, row.subspan(units.first_row(unit), units.rows[unit]));
  }
}

}  // namespace zkapex
