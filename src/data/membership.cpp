#include "data/membership.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/shuffle.h"

namespace zkapex {

namespace {

struct Sample {
  double loss;
  bool member;
};

// The probability that a member has the smaller loss, from samples by increasing loss and how often each is counted.
double weighted_auc(const std::vector<Sample>& sorted, const std::vector<double>& counts) {
  double members = 0, others = 0, wins = 0;
  for (size_t k = 0; k < sorted.size();) {
    double tied_members = 0, tied_others = 0;
    const double loss = sorted[k].loss;
    for (; k < sorted.size() && sorted[k].loss == loss; ++k)
      (sorted[k].member ? tied_members : tied_others) += counts[k];
    wins += tied_others * (members + 0.5 * tied_members);
    members += tied_members;
    others += tied_others;
  }
  return wins / (members * others);
}

void bootstrap_interval(const std::vector<Sample>& sorted, const MembershipOptions& options, MembershipResult& result) {
  std::vector<size_t> places[2];
  for (size_t k = 0; k < sorted.size(); ++k) places[sorted[k].member].push_back(k);
  SampleRandom random(derived_seed(options.seed, 1));
  std::vector<double> values;
  for (int round = 0; round < options.bootstrap; ++round) {
    std::vector<double> counts(sorted.size());
    for (const auto& side : places) {
      for (size_t k = 0; k < side.size(); ++k) counts[side[random.below(side.size())]] += 1;
    }
    values.push_back(weighted_auc(sorted, counts));
  }
  std::ranges::sort(values);
  const auto quantile = [&](double q) {
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
  };
  result.auc_low = quantile((1 - options.confidence) / 2);
  result.auc_high = quantile((1 + options.confidence) / 2);
}

struct Logistic {
  double slope = 0, intercept = 0;
  [[nodiscard]] double operator()(double x) const { return 1 / (1 + std::exp(-(slope * x + intercept))); }
};

// Newton's method with a little ridge on the slope, which keeps separable data finite. x is standardised.
Logistic fit_logistic(const std::vector<double>& x, const std::vector<bool>& y) {
  constexpr double kRidge = 1e-3;
  Logistic f;
  for (int round = 0; round < 50; ++round) {
    double g0 = 0, g1 = kRidge * f.slope, h00 = 1e-9, h01 = 0, h11 = kRidge;
    for (size_t k = 0; k < x.size(); ++k) {
      const double p = f(x[k]), d = p - (y[k] ? 1.0 : 0.0), w = p * (1 - p);
      g0 += d, g1 += d * x[k];
      h00 += w, h01 += w * x[k], h11 += w * x[k] * x[k];
    }
    const double determinant = h00 * h11 - h01 * h01;
    const double step0 = (h11 * g0 - h01 * g1) / determinant, step1 = (h00 * g1 - h01 * g0) / determinant;
    f.intercept -= step0;
    f.slope -= step1;
    if (std::abs(step0) + std::abs(step1) < 1e-10) break;
  }
  return f;
}

// Stratified: every fold has the same share of both sides.
double cross_validated_accuracy(std::vector<double> members, std::vector<double> others,
                                const MembershipOptions& options) {
  shuffle(members, derived_seed(options.seed, 2));
  shuffle(others, derived_seed(options.seed, 3));
  int64_t right = 0, total = 0;
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<double> x, held_x;
    std::vector<bool> y, held_y;
    for (const bool member : {true, false}) {
      const auto& side = member ? members : others;
      for (size_t k = 0; k < side.size(); ++k) {
        const bool held = static_cast<int>(k % static_cast<size_t>(options.folds)) == fold;
        (held ? held_x : x).push_back(side[k]);
        (held ? held_y : y).push_back(member);
      }
    }
    double mean = 0, square = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
    const double deviation = square > 0 ? std::sqrt(square) : 1;
    const auto standardise = [&](double v) { return (v - mean) / deviation; };
    std::ranges::transform(x, x.begin(), standardise);
    const Logistic f = fit_logistic(x, y);
    for (size_t k = 0; k < held_x.size(); ++k) right += (f(standardise(held_x[k])) > 0.5) == held_y[k] ? 1 : 0;
    total += static_cast<int64_t>(held_x.size());
  }
  return static_cast<double>(right) / static_cast<double>(total);
}

Result<std::vector<double>> prepare(std::span<const double> losses, size_t count, uint64_t seed) {
  std::vector<double> out;
  for (const double loss : losses) {
    if (std::isnan(loss)) return error("a loss is not a number");
    out.push_back(std::clamp(loss, -100.0, 100.0));
  }
  shuffle(out, seed);
  out.resize(count);
  return out;
}

}  // namespace

Result<MembershipResult> membership_inference(std::span<const double> member_losses,
                                              std::span<const double> other_losses, const MembershipOptions& options) {
  const size_t per_side = std::min(member_losses.size(), other_losses.size());
  if (options.folds < 2 || options.bootstrap < 1) return error("two folds and one resampling are the least");
  if (per_side < static_cast<size_t>(options.folds)) {
    return error("membership inference needs at least {} samples of each kind, there are {} and {}", options.folds,
                 member_losses.size(), other_losses.size());
  }
  ZKAPEX_TRY(const auto members, prepare(member_losses, per_side, derived_seed(options.seed, 4)));
  ZKAPEX_TRY(const auto others, prepare(other_losses, per_side, derived_seed(options.seed, 5)));
  std::vector<Sample> sorted;
  sorted.reserve(members.size() + others.size());
  for (const double loss : members) sorted.push_back({loss, true});
  for (const double loss : others) sorted.push_back({loss, false});
  std::ranges::stable_sort(sorted, {}, &Sample::loss);

  MembershipResult result;
  result.per_side = static_cast<int64_t>(per_side);
  result.auc = weighted_auc(sorted, std::vector<double>(sorted.size(), 1));
  result.advantage = std::abs(result.auc - 0.5);
  bootstrap_interval(sorted, options, result);
  result.accuracy = cross_validated_accuracy(members, others, options);
  return result;
}

}  // namespace zkapex
