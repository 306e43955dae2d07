#include "attestation/window_relation.h"

#include "attestation/public_terms.h"
#include "attestation/segment_guide.h"

namespace zkapex {

namespace {

// Where the rows of the three commitments begin in the list of points.
struct RowNumbers {
  size_t model, curvature;
  explicit RowNumbers(const WindowStatement& s, const WindowPlan& plan)
      : model(plan.shape().rows), curvature(model + s.model.size()) {}
};

class SegmentVerifier {
 public:
  SegmentVerifier(const WindowStatement& statement, const WindowPlan& plan, const WindowSegment& segment,
                  const RuleWeights& rules, const SegmentGuide& guide, ArgumentVerifier& verifier, Receiver& channel)
      : statement_(statement),
        plan_(plan),
        segment_(segment),
        rules_(rules),
        guide_(guide),
        verifier_(verifier),
        channel_(channel),
        transcript_(channel.transcript()) {}

  // Returns this segment's part of the rules: K, and what the guide alone adds to it.
  Expression run() {
    Expression k = joint();
    if (plan_.compensates()) verifier_.add_product({values_.y, values_.y, values_.y_square});
    const Expression x_r = values_.x();
    verifier_.add_product({x_r, x_r, values_.x_square});
    if (plan_.compensates()) stationarity();
    open();
    for (size_t g = 0; g < segment_.groups.size(); ++g) {
      k += rules_.of(segment_.groups[g]).guide * to_scalar(guide_sums_.squares[g]);
    }
    return k;
  }

 private:
  Expression joint() {
    Expression k = channel_.receive("K", 1)[0];
    challenges_.draw(transcript_, segment_);
    VerifierTerms others{.labels = kJointLabels, .claim = k * challenges_.alpha[2], .values = segment_.evaluations};
    if (plan_.compensates()) {
      const auto tau_b = std::span(challenges_.bits.tau).first(segment_.slot_variables);
      others.claim += challenges_.alpha[1] * to_scalar(plan_.residual_bound()) * committed_slots(segment_, tau_b);
    }
    others.coefficients = [this](std::span<const Scalar> r) {
      guide_sums_ = guide_.sums(r, verifier_.pool());
      return joint_coefficients(plan_, segment_, rules_, challenges_, r, guide_sums_.at_r);
    };
    bits_ = segment_.planes > 0 ? verify_bits(channel_, verifier_, challenges_.bits, std::move(others))
                                : without_planes(std::move(others));

    values_ = JointValues(plan_, bits_.values);
    return k;
  }

  // The same where no slack has a plane.
  VerifierBits without_planes(VerifierTerms others) {
    SumcheckClaim end =
        verify_sumcheck(channel_, others.labels.sumcheck, segment_.variables, 3, std::move(others.claim));
    VerifierBits out{std::move(end.point), {}, channel_.receive(others.labels.message, others.values), {}};
    const std::vector<Scalar> coefficients = others.coefficients(out.r);
    for (size_t k = 0; k < coefficients.size(); ++k) end.claim += out.values[k] * -coefficients[k];
    verifier_.require_zero(std::move(end.claim));
    return out;
  }

  // y at r, by two products with L: y(r) − (μ + t) x(r) + t Δ(r) = Σ v z, then v and z at ρ together.
  void stationarity() {
    const Expression start = values_.y - values_.x() * Scalar::from_u64(plan_.floor());
    const SumcheckClaim first = verify_sumcheck(channel_, "product 1", segment_.variables, 2,
                                                start + guide_sums_.at_r * Scalar::from_u64(plan_.pull()));
    rho_ = first.point;
    const std::vector<Expression> vz = channel_.receive("v, z, vz", 3);
    verifier_.require_zero(first.claim - vz[2]);
    verifier_.add_product({vz[0], vz[1], vz[2]});
    const Scalar eta = transcript_.challenge("eta");
    const SumcheckClaim second = verify_sumcheck(channel_, "product 2", segment_.variables, 3, vz[0] + vz[1] * eta);
    sigma_ = second.point;
    const std::vector<Expression> lx = channel_.receive("L, x, Lx", 3);
    const unsigned slots = segment_.slot_variables;
    const auto rho_b = std::span(rho_).first(slots), r_b = std::span(bits_.r).first(slots),
               sigma_b = std::span(sigma_).first(slots);
    const Scalar at_row = eq(std::span(bits_.r).subspan(slots), std::span(sigma_).subspan(slots));
    verifier_.require_zero(second.claim - lx[0] * (eq(rho_b, r_b, sigma_b) * at_row) -
                           lx[2] * (eq(rho_b, sigma_b) * eta));
    verifier_.add_product({lx[0], lx[1], lx[2]});
    factor_ = lx[0];
    x_sigma_ = lx[1];
  }

  void open() {
    const OpeningWeights weights(transcript_.challenge("delta"), values_.slacks.size());
    const unsigned rows = segment_.row_variables;
    const std::vector<Scalar>& r = bits_.r;
    VerifierPair at_r{{},
                      {r.begin() + rows, r.end()},
                      values_.theta_u * weights.theta_u + values_.theta_p * weights.theta_p + bits_.b * weights.planes};
    for (size_t k = 0; k < values_.slacks.size(); ++k) at_r.value += values_.slacks[k] * weights.slacks[k];
    const std::vector<Scalar> row = eq_prefix(std::span(r).first(rows), segment_.rows.rows);
    add_weights(at_r.commitment, weights.theta_u, row);
    if (segment_.planes > 0) {
      const std::vector<Scalar> plane = plane_coefficients(segment_, weights, bits_.kappa);
      add_bit_rows(at_r.commitment, plan_.first_bit_row(segment_), std::span(plane).first(plan_.slack_planes()), row);
      // The rules' planes: one row each.
      for (unsigned p = 0; p < segment_.rule_planes; ++p) {
        at_r.commitment.emplace_back(plan_.first_rule_row() + p, plane[plan_.slack_planes() + p] * row[0]);
      }
    }
    add_model(at_r.commitment, weights.theta_p, row);
    verifier_.add_pair(std::move(at_r));
    if (!plan_.compensates()) return;

    VerifierPair at_sigma{{}, {sigma_.begin() + rows, sigma_.end()}, x_sigma_};
    const std::vector<Scalar> sigma_row = eq_prefix(std::span(sigma_).first(rows), segment_.rows.rows);
    add_weights(at_sigma.commitment, Scalar::one(), sigma_row);
    add_model(at_sigma.commitment, -Scalar::one(), sigma_row);
    verifier_.add_pair(std::move(at_sigma));

    // L at (σ, ρ_l): squares follow one another, so the number of a curvature row is the highest variables.
    std::vector<Scalar> point = sigma_;
    point.insert(point.end(), rho_.begin() + segment_.slot_variables, rho_.end());
    const unsigned curvature_rows = rows + plan_.side_variables();
    VerifierPair factor{{}, {point.begin() + curvature_rows, point.end()}, factor_};
    const std::vector<Scalar> square = eq_table(std::span(point).first(curvature_rows));
    const size_t stride = plan_.geometry().stride(),
                 first = RowNumbers(statement_, plan_).curvature + segment_.rows.first_row * stride;
    for (size_t t = 0; t < segment_.rows.rows * stride; ++t) factor.commitment.emplace_back(first + t, square[t]);
    verifier_.add_pair(std::move(factor));
  }

  // Rows of θ_u, and of θ_p.
  void add_weights(RowCombination& out, const Scalar& weight, std::span<const Scalar> row) const {
    for (size_t t = 0; t < segment_.rows.rows; ++t) out.emplace_back(segment_.rows.first_row + t, weight * row[t]);
  }
  void add_model(RowCombination& out, const Scalar& weight, std::span<const Scalar> row) const {
    const size_t first = RowNumbers(statement_, plan_).model + segment_.rows.first_row;
    for (size_t t = 0; t < segment_.rows.rows; ++t) out.emplace_back(first + t, weight * row[t]);
  }

  const WindowStatement& statement_;
  const WindowPlan& plan_;
  const WindowSegment& segment_;
  const RuleWeights& rules_;
  const SegmentGuide& guide_;
  SegmentGuide::Sums guide_sums_;
  ArgumentVerifier& verifier_;
  Receiver& channel_;
  Transcript& transcript_;
  JointChallenges challenges_;
  VerifierBits bits_;
  std::vector<Scalar> rho_, sigma_;
  JointValues<Expression> values_;
  Expression factor_, x_sigma_;
};

}  // namespace

Verdict WindowRelation::sound() const {
  const Layout& layout = statement_.deployment->layout();
  if (statement_.model.size() != layout.rows() || statement_.unchanged.size() != layout.unchanged_rows() ||
      statement_.curvature.size() != layout.rows() * layout.geometry().stride()) {
    return Rejection{Reason::kStatement, "the commitments do not have the rows of the deployment's layout"};
  }
  return plan_.projection().shape.sound();
}

std::vector<EncodedPoint> WindowRelation::statement_rows() const {
  std::vector<EncodedPoint> out = statement_.model;
  if (plan_.compensates()) out.insert(out.end(), statement_.curvature.begin(), statement_.curvature.end());
  return out;
}

void WindowRelation::replay(ArgumentVerifier& verifier) const {
  const ProjectedRows& projected = plan_.projection();
  const Scalar challenge = verifier.main().challenge("projection");
  verifier.absorb_rows("projections", projected.shape.later_rows());
  const TernaryMatrix matrix = draw_projection(projected.shape, challenge, projected.number);
  const RuleWeights rules = RuleWeights::draw(plan_, verifier.main());
  const std::optional<GuideReader> reader = guide_reader(*statement_.deployment, *statement_.mask);
  const std::vector<WindowSegment>& segments = plan_.segments();
  Expression all_rules;
  verifier.for_forks("segment", [&](size_t k, Receiver& channel) {
    if (k >= segments.size())
      return replay_projection(projected.shape, k - segments.size(), matrix, projected.rows, channel, verifier);
    const SegmentGuide guide(statement_.deployment->layout(), reader ? &*reader : nullptr, segments[k]);
    all_rules += SegmentVerifier(statement_, plan_, segments[k], rules, guide, verifier, channel).run();
  });
  verifier.require_zero(std::move(all_rules));
}

}  // namespace zkapex
