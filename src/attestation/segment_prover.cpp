#include "attestation/segment_prover.h"

#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "attestation/product_table.h"
#include "attestation/public_terms.h"
#include "attestation/rule_terms.h"
#include "attestation/segment_guide.h"
#include "base/bits.h"
#include "base/first_error.h"

namespace zkapex {

namespace {

constexpr uint64_t kSlotsAtOnce = 16;        // triangles in memory, per thread
constexpr size_t kAtOnce = size_t{1} << 16;  // of indices, by a thread

GuideTable guide_table(const WindowStatement& statement, const WindowSegment& segment, ThreadPool& pool) {
  const std::optional<GuideReader> reader = guide_reader(*statement.deployment, *statement.mask);
  return SegmentGuide(statement.deployment->layout(), reader ? &*reader : nullptr, segment).table(pool);
}

class SegmentProver {
 public:
  SegmentProver(const WindowStatement& statement, const WindowPlan& plan, const WindowSegment& segment,
                const RuleWeights& rules, const ModelReader& before, const ModelOpenings& openings, Sender& channel,
                ArgumentProver& prover)
      : statement_(statement),
        parameters_(statement.deployment->parameters()),
        plan_(plan),
        segment_(segment),
        rules_(rules),
        before_(before),
        openings_(openings),
        channel_(channel),
        transcript_(channel.transcript()),
        prover_(prover),
        pool_(prover.pool()),
        guide_(guide_table(statement, segment, pool_)) {}

  Status run(SegmentWitness witness, const SegmentRows& rows) {
    tables_ = std::move(witness);
    if (plan_.compensates()) {
      ZKAPEX_CHECK(multiply_curvature());
    }
    joint();
    if (plan_.compensates()) prover_.add_product({values_.y, values_.y, values_.y_square});
    prover_.add_product({values_.x(), values_.x(), values_.x_square});
    if (plan_.compensates()) {
      ZKAPEX_CHECK(stationarity());
    }
    return open(rows);
  }

 private:
  [[nodiscard]] size_t stride() const { return plan_.geometry().stride(); }
  [[nodiscard]] std::span<const Scalar> slot_part(const std::vector<Scalar>& point) const {
    return std::span(point).first(segment_.slot_variables);
  }
  [[nodiscard]] std::span<const Scalar> side_part(const std::vector<Scalar>& point) const {
    return std::span(point).subspan(segment_.slot_variables);
  }

  // body(slot of the segment, its triangle), in parallel: of `body` every range of slots has a copy of its own.
  template <class Body>
  Status for_triangles(const Body& body) {
    FirstError failed;
    const uint64_t slots = segment_.rows.slots;
    pool_.for_ranges((slots + kSlotsAtOnce - 1) / kSlotsAtOnce, 1, [&](size_t begin, size_t end) {
      Triangles triangles;
      Body own = body;
      for (size_t k = begin; k < end; ++k) {
        const uint64_t first = k * kSlotsAtOnce, count = std::min(kSlotsAtOnce, slots - first);
        const Status read = before_.triangles(segment_.rows.first_slot + first, count, triangles);
        failed.note(read);
        for (uint64_t b = 0; read.ok() && b < count; ++b) own(first + b, triangles.at(b));
      }
    });
    return failed.status();
  }

  // z = Lᵀ x and y = L z + (μ + t) x − t Δ; again, in more bits, where y turns out not to fit 64: time shows that.
  Status multiply_curvature() {
    ZKAPEX_TRY(const bool fit, multiply_curvature(true));
    if (fit) return Done{};
    ZKAPEX_TRY(const bool wide_fit, multiply_curvature(false));
    if (!wide_fit) return error("weights or factors are larger than the deployment lets them be");
    return Done{};
  }
  Result<bool> multiply_curvature(bool narrow) {
    const size_t s = stride();
    const auto floor = static_cast<int128>(plan_.floor()), pull = static_cast<int128>(plan_.pull());
    z_table_ = {};  // first, as they take the same memory
    y_table_ = {};
    z_table_ = ProductTable(narrow || plan_.narrow_z(), segment_.size());
    y_table_ = ProductTable(narrow, segment_.size());
    std::atomic<bool> fit = true;
    struct Room {
      TriangleSquare square;
      std::vector<int128> moves, z, y;
      std::vector<int64_t> guide;
    };
    const std::vector<int128> zeros(s);
    ZKAPEX_CHECK(for_triangles([&, room = Room{TriangleSquare(s), zeros, zeros, zeros, std::vector<int64_t>(s)}](
                                   uint64_t slot, const Triangle& triangle) mutable {
      auto& [square, moves, z, y, guide] = room;
      const size_t at = slot * s;
      const auto x = std::span(tables_.x).subspan(at, s);
      std::ranges::copy(x, moves.begin());
      const IntMatrix factor = square.matrix(triangle);
      fold_rows_exact(factor, moves, z);
      fold_columns_exact(factor, z, y);
      for (size_t j = 0; j < s; ++j) y[j] += floor * x[j];
      if (plan_.guided()) guide_.read(slot, guide);
      for (size_t j = 0; plan_.guided() && j < s; ++j) y[j] -= pull * guide[j];
      if (!z_table_.set(at, z) || !y_table_.set(at, y)) fit = false;
    }));
    return fit.load();
  }

  // docs/window.md, section 3: everything that is summed over i, in one sumcheck; then the rounds over the planes.
  void joint() {
    const std::vector<RuleSums> sums = sum_moves(segment_, tables_.x, tables_.free, guide_, pool_);
    const Scalar k = channel_.send("K", {weigh(sums, segment_, rules_) - tables_.rule_slack})[0];
    challenges_.draw(transcript_, segment_);
    const std::vector<Scalar>& alpha = challenges_.alpha;

    enum : unsigned { kThetaU, kX, kHeld, kY, kSlot, kWeightedHeld };
    // 1 − u: far fewer entries than u has. It is 1 on virtual padding too, which has tables of its own: where others
    // end, one of blocks costs nothing.
    UnsetVector<uint8_t> held(segment_.size());
    pool_.for_ranges(held.size(), kAtOnce, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) held[i] = tables_.free[i] == 0;
    });
    const std::span<const uint8_t> held_bytes(held);
    ProverTerms others{.labels = kJointLabels,
                       .tables = {{tables_.theta_u}, {tables_.x}, {held_bytes, true}},
                       .terms = {{alpha[0], {kHeld, kThetaU}, true}},
                       .claim = alpha[2] * k};
    std::deque<std::vector<uint8_t>> slack_bits;  // what tables point to
    if (plan_.compensates()) {
      const auto tau_b = slot_part(challenges_.bits.tau);
      const std::vector<Scalar> slot = eq_table(tau_b);
      const unsigned side = plan_.side_variables();
      others.tables.push_back(y_table_.take());
      others.tables.push_back({SumcheckTable::Blocks{slot, side}});
      others.tables.push_back({SumcheckTable::Chosen{slot, side, held_bytes}, true});
      others.terms.push_back({alpha[1], {kSlot, kY, kY}});
      others.terms.push_back({-alpha[1], {kWeightedHeld, kY, kY}});
      if (segment_.padded()) {
        others.terms.push_back({-alpha[1], {static_cast<unsigned>(others.tables.size()), kY, kY}});
        others.tables.push_back(on_padding(segment_, slot, side));
      }
      for (unsigned q = 0; q < plan_.slack_planes(); ++q) {
        // the weights are public: on virtual padding too
        const auto powers = static_cast<unsigned>(others.tables.size());
        others.tables.push_back({SumcheckTable::Periodic{slack_powers(q), size_t{1} << segment_.variables}});
        add_plane_term(others, alpha[1], {kSlot, powers}, q, segment_.size(), slack_bits);
      }
      for (unsigned p = 0; p < segment_.rule_planes; ++p) {
        std::vector<Scalar> powers = plan_.rule_rows().weights(rules_.powers, p);
        const auto weight = static_cast<unsigned>(others.tables.size());
        const size_t length = powers.size();
        others.tables.push_back({std::move(powers)});
        add_plane_term(others, -alpha[2], {weight}, plan_.slack_planes() + p, length, slack_bits);
      }
      others.claim += alpha[1] * to_scalar(plan_.residual_bound()) * committed_slots(segment_, tau_b);
    }
    const auto padding = static_cast<unsigned>(others.tables.size());
    others.tables.push_back(on_padding(
        segment_, std::vector<Scalar>(size_t{1} << segment_.row_variables, Scalar::one()), plan_.position_variables()));
    if (segment_.padded()) others.terms.push_back({alpha[0], {padding, kThetaU}, true});
    const RuleTables rule_tables{kX, kHeld, padding, padding + 1, held_bytes};
    if (plan_.guided()) others.tables.push_back(guide_.table());
    add_rule_terms(plan_, segment_, rules_, alpha[2], rule_tables, others);
    others.end = [&](const SumcheckProof& end) -> ProverTerms::End {
      const Scalar x_r = end.tables[kX];
      std::vector<Scalar> values;
      if (plan_.compensates()) values = {end.tables[kY], end.tables[kY] * end.tables[kY]};
      values.insert(values.end(), {x_r * x_r, end.tables[kThetaU], end.tables[kThetaU] - x_r});
      values.insert(values.end(), end.planes.begin(), end.planes.end());
      if (plan_.guided()) guide_at_r_ = end.tables[rule_tables.guide];
      return {std::move(values), joint_coefficients(plan_, segment_, rules_, challenges_, end.point, guide_at_r_)};
    };
    bits_ = segment_.planes > 0
                ? prove_bits(channel_, prover_, challenges_.bits, std::move(tables_.planes), std::move(others))
                : without_planes(std::move(others));

    values_ = JointValues(plan_, bits_.values);
  }

  // The same where no slack has a plane.
  ProverBits without_planes(ProverTerms others) {
    Sumcheck sumcheck{.variables = segment_.variables,
                      .degree = 3,
                      .tables = std::move(others.tables),
                      .terms = std::move(others.terms),
                      .eq_point = challenges_.bits.tau,
                      .bits = {}};
    const SumcheckProof end =
        prove_sumcheck(channel_, others.labels.sumcheck, std::move(sumcheck), others.claim, pool_);
    ProverTerms::End last = others.end(end);
    return {
        end.point, {}, channel_.send(others.labels.message, std::move(last.values), last.coefficients, end.claim), {}};
  }

  // 2^(q S + j) where q S + j < NB
  [[nodiscard]] std::vector<Scalar> slack_powers(unsigned q) const {
    std::vector<Scalar> out(stride());
    for (size_t j = 0; j < stride() && q * stride() + j < plan_.slack_bits(); ++j) {
      out[j] = Scalar::power_of_two(static_cast<unsigned>(q * stride() + j));
    }
    return out;
  }

  // coefficient · Σ_i weights(i) (plane at i)
  void add_plane_term(ProverTerms& others, const Scalar& coefficient, std::vector<unsigned> weights, unsigned plane,
                      size_t length, std::deque<std::vector<uint8_t>>& keep) const {
    std::vector<uint8_t>& bits = keep.emplace_back(length);
    for (size_t i = 0; i < length; ++i) bits[i] = tables_.planes[plane][i / 8] >> (i % 8) & 1;
    weights.push_back(static_cast<unsigned>(others.tables.size()));
    others.tables.push_back({std::span<const uint8_t>(bits)});
    others.terms.push_back({coefficient, std::move(weights)});
  }

  // docs/window.md, section 4: two products with L.
  Status stationarity() {
    const size_t s = stride();
    const std::vector<Scalar> slot = eq_table(slot_part(bits_.r)), row = eq_table(side_part(bits_.r));
    SumcheckTable::Scalars v(segment_.size());  // v(b, l) = eq(r_b, b) Σ_j eq(r_j, j) L_b[j, l]
    const TriangleFolder by_row(row, pool_);
    ZKAPEX_CHECK(for_triangles(
        [&](uint64_t b, const Triangle& triangle) { by_row.rows(triangle, slot[b], std::span(v).subspan(b * s, s)); }));
    Sumcheck first{.variables = segment_.variables,
                   .degree = 2,
                   .tables = {},
                   .terms = {{Scalar::one(), {0, 1}}},
                   .eq_point = {},
                   .bits = {}};
    first.tables.emplace_back(std::move(v));  // lists of initial values would copy it
    first.tables.push_back(z_table_.take());
    const Scalar claim =
        values_.y - Scalar::from_u64(plan_.floor()) * values_.x() + Scalar::from_u64(plan_.pull()) * guide_at_r_;
    SumcheckProof end = prove_sumcheck(channel_, "product 1", std::move(first), claim, pool_);
    rho_ = std::move(end.point);
    const std::vector<Scalar> vz =
        channel_.send("v, z, vz", {end.tables[0], end.tables[1], end.tables[0] * end.tables[1]},
                      {{Scalar::zero(), Scalar::zero(), Scalar::one()}}, end.claim);
    prover_.add_product({vz[0], vz[1], vz[2]});

    const Scalar eta = transcript_.challenge("eta");
    const std::vector<Scalar> column = eq_table(side_part(rho_));
    SumcheckTable::Scalars factor(segment_.size());  // L(b, j, ρ_l)
    const TriangleFolder by_column(column, pool_);
    ZKAPEX_CHECK(for_triangles([&](uint64_t b, const Triangle& triangle) {
      by_column.columns(triangle, Scalar::one(), std::span(factor).subspan(b * s, s));
    }));
    const auto rho_b = slot_part(rho_);
    const std::vector<Scalar> at_rho = eq_table(rho_b);
    std::vector<Scalar> at_both = slot;
    for (size_t b = 0; b < at_both.size(); ++b) at_both[b] *= at_rho[b];
    enum : unsigned { kFactor, kX, kAtRho, kAtBoth, kRow };
    Sumcheck second{.variables = segment_.variables,
                    .degree = 3,
                    .tables = {},
                    .terms = {{Scalar::one(), {kAtBoth, kRow, kFactor}}, {eta, {kAtRho, kX, kFactor}}},
                    .eq_point = {},
                    .bits = {}};
    second.tables.emplace_back(std::move(factor));
    second.tables.emplace_back(tables_.x);
    second.tables.emplace_back(SumcheckTable::Blocks{at_rho, plan_.side_variables()});
    second.tables.emplace_back(SumcheckTable::Blocks{std::move(at_both), plan_.side_variables()});
    second.tables.emplace_back(SumcheckTable::Periodic{row, size_t{1} << segment_.variables});
    end = prove_sumcheck(channel_, "product 2", std::move(second), vz[0] + eta * vz[1], pool_);
    sigma_ = std::move(end.point);
    const Scalar l = end.tables[kFactor], x = end.tables[kX];
    const std::vector<Scalar> lx =
        channel_.send("L, x, Lx", {l, x, l * x},
                      {{end.tables[kAtBoth] * end.tables[kRow], Scalar::zero(), end.tables[kAtRho] * eta}}, end.claim);
    prover_.add_product({lx[0], lx[1], lx[2]});
    factor_ = lx[0];
    x_sigma_ = lx[1];
    return Done{};
  }

  // docs/window.md, section 5: the committed vectors, and where they are opened.
  Status open(const SegmentRows& rows) {
    const OpeningWeights weights(transcript_.challenge("delta"), values_.slacks.size());
    const std::vector<Scalar> row = row_table(bits_.r);
    ProverPair at_r;
    at_r.vector.resize(plan_.geometry().row);
    if (segment_.planes > 0) {
      const std::vector<Scalar> plane = plane_coefficients(segment_, weights, bits_.kappa);
      at_r = fold_bit_rows(rows.bits, std::span(plane).first(plan_.slack_planes()), row, pool_);
      for (unsigned p = 0; p < segment_.rule_planes; ++p) {
        add_rule_row(at_r, plane[plan_.slack_planes() + p] * row[0], p, rows);
      }
    }
    // θ_p = θ_u − x
    add_rows(at_r, weights.theta_u + weights.theta_p, row, tables_.theta_u);
    add_rows(at_r, -weights.theta_p, row, tables_.x);
    at_r.blinding += weights.theta_u * inner_product(row, rows.weights);
    at_r.blinding += weights.theta_p * inner_product(row, model_blindings());
    at_r.point.assign(bits_.r.begin() + segment_.row_variables, bits_.r.end());
    at_r.value = values_.theta_u * weights.theta_u + values_.theta_p * weights.theta_p + bits_.b * weights.planes;
    for (size_t k = 0; k < values_.slacks.size(); ++k) at_r.value += values_.slacks[k] * weights.slacks[k];
    ZKAPEX_CHECK(prover_.add_pair(std::move(at_r)));
    if (!plan_.compensates()) return Done{};

    const std::vector<Scalar> sigma_row = row_table(sigma_);
    ProverPair at_sigma;
    at_sigma.vector.resize(plan_.geometry().row);
    add_rows(at_sigma, Scalar::one(), sigma_row, tables_.x);
    at_sigma.blinding = inner_product(sigma_row, rows.weights) - inner_product(sigma_row, model_blindings());
    at_sigma.point.assign(sigma_.begin() + segment_.row_variables, sigma_.end());
    at_sigma.value = x_sigma_;
    ZKAPEX_CHECK(prover_.add_pair(std::move(at_sigma)));
    return open_factor();
  }

  [[nodiscard]] std::vector<Scalar> row_table(const std::vector<Scalar>& point) const {
    return eq_prefix(std::span(point).first(segment_.row_variables), segment_.rows.rows);
  }

  void add_rule_row(ProverPair& pair, const Scalar& weight, unsigned p, const SegmentRows& rows) const {
    const std::span<const uint8_t> bits = rows.rules->bytes(p);
    for (size_t i = 0; i < plan_.geometry().row; ++i) {
      if ((bits[i / 8] >> (i % 8) & 1) != 0) pair.vector[i] += weight;
    }
    pair.blinding += weight * rows.rule_blindings[p];
  }

  [[nodiscard]] std::span<const Scalar> model_blindings() const {
    return openings_.model.subspan(segment_.rows.first_row, segment_.rows.rows);
  }

  // weight · Σ_t row[t] (row t of integers)
  void add_rows(ProverPair& pair, const Scalar& weight, const std::vector<Scalar>& row,
                std::span<const int64_t> integers) const {
    const std::vector<Scalar> folded = fold_i64(integers, plan_.geometry().row, row, pool_);
    pool_.for_ranges(folded.size(), 1024, [&](size_t begin, size_t end) {
      for (size_t l = begin; l < end; ++l) pair.vector[l] += weight * folded[l];
    });
  }

  Status open_factor() {
    const size_t s = stride();
    std::vector<Scalar> point = sigma_;
    point.insert(point.end(), rho_.begin() + segment_.slot_variables, rho_.end());
    const unsigned row_variables = segment_.row_variables + plan_.side_variables();
    const std::vector<Scalar> row = eq_prefix(std::span(point).first(row_variables), segment_.rows.rows * s);
    ProverPair pair;
    ZKAPEX_TRY(pair.vector, parameters_.curvature_bits > 8 ? fold_factor<int16_t>(row) : fold_factor<int8_t>(row));
    pair.blinding = inner_product(row, openings_.curvature.subspan(segment_.rows.first_row * s, row.size()));
    pair.point.assign(point.begin() + row_variables, point.end());
    pair.value = factor_;
    return prover_.add_pair(std::move(pair));
  }

  // Σ_t row[t] (row t of the curvature), some columns at a time: those of a few lines of one square.
  template <class Entry>
  Result<std::vector<Scalar>> fold_factor(std::span<const Scalar> row) {
    constexpr size_t kColumns = size_t{1} << 14, kRowsAtOnce = 64;
    const size_t s = stride(), n = plan_.geometry().row, row_lines = n / s;
    const size_t lines = std::clamp<size_t>(kColumns / s, 1, std::min(s, row_lines)), width = lines * s;
    const size_t triangle = row_lines >= s ? s : 0;  // where rows are shorter, they have different lines of squares
    std::vector<Scalar> out(n);
    FirstError failed;
    pool_.for_each(n / width, [&](size_t task) {
      const size_t part = n / width - 1 - task;  // the longest lines first: threads end together
      RowFolder folder(width, pool_, triangle, part * width);
      UnsetVector<Entry> entries(kRowsAtOnce * width);
      for (size_t t = 0; t < row.size(); t += kRowsAtOnce) {
        const size_t count = std::min(kRowsAtOnce, row.size() - t);
        for (size_t k = 0; k < count; ++k) {
          const uint64_t line = (t + k) * row_lines + part * lines;
          const auto to = std::span(entries).subspan(k * width, width);
          failed.note(before_.square_rows(segment_.rows.first_slot + line / s, line % s, to));
        }
        folder.add({entries.data(), count, width, width}, row.subspan(t, count));
      }
      const std::vector<Scalar> folded = folder.finish();
      std::copy(folded.begin(), folded.end(), out.begin() + static_cast<ptrdiff_t>(part * width));
    });
    ZKAPEX_CHECK(failed.status());
    return out;
  }

  const WindowStatement& statement_;
  const Parameters& parameters_;
  const WindowPlan& plan_;
  const WindowSegment& segment_;
  const RuleWeights& rules_;
  const ModelReader& before_;
  const ModelOpenings& openings_;
  Sender& channel_;
  Transcript& transcript_;
  ArgumentProver& prover_;
  ThreadPool& pool_;
  GuideTable guide_;
  Scalar guide_at_r_;
  SegmentWitness tables_;
  ProductTable y_table_, z_table_;
  JointChallenges challenges_;
  ProverBits bits_;
  std::vector<Scalar> rho_, sigma_;
  JointValues<Scalar> values_;
  Scalar factor_, x_sigma_;
};

}  // namespace

Status prove_segment(const WindowStatement& statement, const WindowPlan& plan, const WindowSegment& segment,
                     const RuleWeights& rules, const ModelReader& before, const ModelOpenings& openings,
                     SegmentWitness witness, const SegmentRows& rows, Sender& channel, ArgumentProver& prover) {
  SegmentProver segment_prover(statement, plan, segment, rules, before, openings, channel, prover);
  return segment_prover.run(std::move(witness), rows);
}

}  // namespace zkapex
