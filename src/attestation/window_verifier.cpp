#include "attestation/window_verifier.h"

#include "argument/bit_matrix.h"
#include "argument/plane_rounds.h"
#include "argument/sumcheck.h"
#include "attestation/derived_rows.h"
#include "attestation/public_terms.h"

namespace zkapex {

namespace {

// Where the rows of the three commitments begin in the list of points.
struct RowNumbers {
  size_t model, curvature;
  explicit RowNumbers(const WindowStatement& s, const WindowPlan& plan)
      : model(plan.bit_rows()), curvature(model + s.model.size()) {}
};

class SegmentVerifier {
 public:
  SegmentVerifier(const WindowStatement& statement, const WindowPlan& plan, const WindowSegment& segment,
                  size_t first_bit_row, ArgumentVerifier& verifier, Receiver& channel)
      : statement_(statement),
        parameters_(statement.deployment->parameters()),
        plan_(plan),
        segment_(segment),
        first_bit_row_(first_bit_row),
        verifier_(verifier),
        channel_(channel),
        transcript_(channel.transcript()) {}

  // Returns K, this segment's part of the cap.
  Expression run(std::vector<VerifierPair>& pairs, std::vector<VerifierProduct>& products) {
    Expression k = joint();
    const VerifierPlanes planes = verify_planes(channel_, verifier_, challenges_.tau_k, rest_);
    products.push_back({planes.b, planes.b, planes.square});
    if (plan_.compensates()) products.push_back({y_, y_, y_square_});
    const Expression x_r = theta_u_ - theta_p_;
    products.push_back({x_r, x_r, x_square_});
    if (plan_.compensates()) stationarity(products);
    open(planes, pairs);
    return k;
  }

 private:
  Expression joint() {
    Expression k = channel_.receive("K", 1)[0];
    challenges_.tau_k = transcript_.challenges("tau_k", segment_.plane_variables);
    challenges_.tau = transcript_.challenges("tau", segment_.variables);
    challenges_.alpha = transcript_.challenges("alpha", 3);
    Expression claim = k * challenges_.alpha[2];
    if (plan_.compensates()) {
      const auto tau_b = std::span(challenges_.tau).first(segment_.slot_variables);
      claim +=
          challenges_.alpha[1] * to_scalar(statement_.deployment->residual_bound()) * committed_slots(segment_, tau_b);
    }
    SumcheckClaim end = verify_sumcheck(channel_, "joint", segment_.variables, 3, std::move(claim));
    r_ = std::move(end.point);
    const std::vector<Expression> sent = channel_.receive("joint evaluations", segment_.evaluations);
    const std::vector<Scalar> coefficients = joint_coefficients(plan_, segment_, parameters_, challenges_, r_);
    for (size_t e = 0; e < sent.size(); ++e) end.claim += sent[e] * -coefficients[e];
    verifier_.require_zero(std::move(end.claim));

    size_t at = 0;
    if (plan_.compensates()) {
      y_ = sent[at++];
      y_square_ = sent[at++];
    }
    x_square_ = sent[at++];
    theta_u_ = sent[at++];
    theta_p_ = sent[at++];
    slacks_.assign(sent.begin() + static_cast<ptrdiff_t>(at), sent.end() - 1);
    rest_ = sent.back();
    return k;
  }

  // y = A x at r, by two products with L: y(r) − μ x(r) = Σ v z, then v and z at ρ together.
  void stationarity(std::vector<VerifierProduct>& products) {
    const Expression x_r = theta_u_ - theta_p_;
    const SumcheckClaim first =
        verify_sumcheck(channel_, "product 1", segment_.variables, 2, y_ - x_r * Scalar::from_u64(parameters_.floor));
    rho_ = first.point;
    const std::vector<Expression> vz = channel_.receive("v, z, vz", 3);
    verifier_.require_zero(first.claim - vz[2]);
    products.push_back({vz[0], vz[1], vz[2]});
    const Scalar eta = transcript_.challenge("eta");
    const SumcheckClaim second = verify_sumcheck(channel_, "product 2", segment_.variables, 3, vz[0] + vz[1] * eta);
    sigma_ = second.point;
    const std::vector<Expression> lx = channel_.receive("L, x, Lx", 3);
    const Scalar slots =
        eq(std::span(rho_).first(segment_.slot_variables), std::span(sigma_).first(segment_.slot_variables));
    verifier_.require_zero(second.claim - lx[0] * (slots * eq(r_, sigma_)) - lx[2] * (slots * eta));
    products.push_back({lx[0], lx[1], lx[2]});
    factor_ = lx[0];
    x_sigma_ = lx[1];
  }

  void open(const VerifierPlanes& planes, std::vector<VerifierPair>& pairs) {
    const OpeningWeights weights(transcript_.challenge("delta"), slacks_.size());
    const unsigned rows = segment_.row_variables;
    VerifierPair at_r{{},
                      {r_.begin() + rows, r_.end()},
                      theta_u_ * weights.theta_u + theta_p_ * weights.theta_p + planes.b * weights.planes};
    for (size_t k = 0; k < slacks_.size(); ++k) at_r.value += slacks_[k] * weights.slacks[k];
    const std::vector<Scalar> row = eq_table(std::span(r_).first(rows));
    add_planes(at_r.commitment, plane_coefficients(plan_, segment_, weights, planes.kappa), row);
    add_model(at_r.commitment, weights.theta_p, row);
    pairs.push_back(std::move(at_r));
    if (!plan_.compensates()) return;

    VerifierPair at_sigma{{}, {sigma_.begin() + rows, sigma_.end()}, x_sigma_};
    const std::vector<Scalar> sigma_row = eq_table(std::span(sigma_).first(rows));
    add_planes(at_sigma.commitment, sign_weights(plan_.width()), sigma_row);
    add_model(at_sigma.commitment, -Scalar::one(), sigma_row);
    pairs.push_back(std::move(at_sigma));

    // L at (σ, ρ_l): a curvature row holds n / S² squares, so its number is the highest variables of σ.
    std::vector<Scalar> point = sigma_;
    point.insert(point.end(), rho_.begin() + segment_.slot_variables, rho_.end());
    const unsigned curvature_rows = rows + plan_.side_variables();
    VerifierPair factor{{}, {point.begin() + curvature_rows, point.end()}, factor_};
    const std::vector<Scalar> square = eq_table(std::span(point).first(curvature_rows));
    const size_t stride = plan_.geometry().stride(),
                 first = RowNumbers(statement_, plan_).curvature + segment_.rows.first_row * stride;
    for (size_t t = 0; t < segment_.rows.rows * stride; ++t) factor.commitment.emplace_back(first + t, square[t]);
    pairs.push_back(std::move(factor));
  }

  void add_planes(RowCombination& out, std::span<const Scalar> plane, std::span<const Scalar> row) const {
    for (size_t k = 0; k < plane.size(); ++k) {
      if (k == plan_.block_planes()) {  // the cap's plane: one row, the last of the proof
        out.emplace_back(plan_.bit_rows() - 1, plane[k] * row[0]);
        continue;
      }
      for (size_t t = 0; t < segment_.rows.rows; ++t)
        out.emplace_back(first_bit_row_ + k * segment_.rows.rows + t, plane[k] * row[t]);
    }
  }

  void add_model(RowCombination& out, const Scalar& weight, std::span<const Scalar> row) const {
    const size_t first = RowNumbers(statement_, plan_).model + segment_.rows.first_row;
    for (size_t t = 0; t < segment_.rows.rows; ++t) out.emplace_back(first + t, weight * row[t]);
  }

  const WindowStatement& statement_;
  const Parameters& parameters_;
  const WindowPlan& plan_;
  const WindowSegment& segment_;
  size_t first_bit_row_;
  ArgumentVerifier& verifier_;
  Receiver& channel_;
  Transcript& transcript_;
  JointChallenges challenges_;
  std::vector<Scalar> r_, rho_, sigma_;
  Expression y_, y_square_, x_square_, theta_u_, theta_p_, rest_, factor_, x_sigma_;
  std::vector<Expression> slacks_;
};

}  // namespace

OpeningClaim replay_window(const WindowStatement& statement, const WindowPlan& plan, const ProofShape& shape,
                           const Proof& proof, Transcript& main) {
  ArgumentVerifier verifier(shape, proof);
  std::vector<Transcript> forks;
  std::vector<VerifierPair> pairs;
  std::vector<VerifierProduct> products;
  Expression cap;
  size_t first_bit_row = 0;
  for (size_t s = 0; s < plan.segments().size(); ++s) {
    const WindowSegment& segment = plan.segments()[s];
    forks.push_back(main.fork("segment", s));
    Receiver channel = verifier.fork(s, forks.back());
    cap += SegmentVerifier(statement, plan, segment, first_bit_row, verifier, channel).run(pairs, products);
    first_bit_row += plan.block_planes() * segment.rows.rows;
  }
  verifier.require_zero(std::move(cap));
  return verifier.reduce(main, forks, pairs, products);
}

Result<PointSum, Rejection> check_window(const WindowStatement& statement, const WindowPlan& plan, const Proof& proof,
                                         ThreadPool& pool) {
  const Layout& layout = statement.deployment->layout();
  if (statement.model.size() != layout.rows() || statement.unchanged.size() != layout.unchanged_rows() ||
      statement.curvature.size() != layout.rows() * layout.geometry().stride()) {
    return Rejection{Reason::kStatement, "the commitments do not have the rows of the deployment's layout"};
  }
  const ProofShape shape = plan.shape();
  std::vector<EncodedPoint> encoded = proof.rows;
  encoded.insert(encoded.end(), statement.model.begin(), statement.model.end());
  if (plan.compensates()) encoded.insert(encoded.end(), statement.curvature.begin(), statement.curvature.end());
  ZKAPEX_TRY(const std::vector<Point> rows, decode_rows(encoded, pool));
  Transcript main = window_transcript(statement, plan, proof.rows, proof.pads);
  const OpeningClaim claim = replay_window(statement, plan, shape, proof, main);
  return settle(main, claim, proof, rows);
}

Result<std::vector<EncodedPoint>, Rejection> unlearned_rows(const WindowPlan& plan, const Proof& proof,
                                                            ThreadPool& pool) {
  std::vector<EncodedPoint> out;
  size_t first = 0;
  for (const WindowSegment& segment : plan.segments()) {
    const size_t rows = segment.rows.rows, count = plan.block_planes() * rows;
    ZKAPEX_TRY(const std::vector<EncodedPoint> values,
               value_rows(std::span(proof.rows).subspan(first, count), rows, plan.width(), pool));
    out.insert(out.end(), values.begin(), values.end());
    first += count;
  }
  return out;
}

}  // namespace zkapex
