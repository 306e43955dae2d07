#include "parties/memory_plan.h"

#include <algorithm>

#include "algebra/msm.h"
#include "attestation/registration_prover.h"
#include "base/memory.h"
#include "unlearning/guide.h"

namespace zkapex {

namespace {

constexpr uint64_t kProgram = 22'000'000, kOfAThread = 1'500'000;  // libraries, stacks, small things
constexpr uint64_t kScalar = sizeof(Scalar), kAffine = sizeof(AffinePoint), kEntry = sizeof(TableEntry);

// Buckets of sums of integers over so many points, in every thread: no more than points, at most 2^12.
uint64_t buckets(uint64_t points, unsigned threads) {
  return threads * kBucketStreams * sizeof(Bucket) * std::min<uint64_t>(points / 8 + 64, (1 << 12) + 1);
}

uint64_t always(const ProofShape& shape, unsigned threads) {
  return kProgram + threads * kOfAThread + shape.generators() * kAffine + 3 * kScalar * shape.rows;
}
// What the inner product takes: three vectors, and half of one.
uint64_t opening(const ProofShape& shape, unsigned threads) {
  const uint64_t n = shape.generators();
  return 7 * kScalar * n / 2 + msm_bytes(n, threads);
}
// The sumcheck over positions: tables in memory, and in every thread one that is folded.
uint64_t pairs(const ProofShape& shape, unsigned threads) {
  return (kScalar << 18) + (threads + 1) * 3 * kScalar * shape.row_length / 2;
}
// Bits of projections, all of them, and what is beside them while the largest unit is proved: a copy, tables of scalars
// as large as that, and what is opened.
struct ProjectionBytes {
  uint64_t all = 0, unit = 0;

  void add(const ProjectionShape& shape) {
    const uint64_t n = shape.row_length, row = n * shape.bits / 8;
    all += shape.unit_rows() * row;
    unit = std::max(unit, std::ranges::max(shape.units) * row * 5 / 2 + 4 * kScalar * n);
  }
};

uint64_t verifying(const ProofShape& shape, size_t statement_points, unsigned threads) {
  const uint64_t points = shape.rows + statement_points, n = shape.generators();
  return points * 2 * (kAffine + kScalar) + 2 * kScalar * n + msm_bytes(n + points, threads);
}

uint64_t least_batch(const Deployment& deployment, unsigned threads) {
  constexpr uint64_t kFewRows = uint64_t{1} << 12;
  const uint64_t rows = std::min(kFewRows, curvature_rows(deployment.layout()));
  return 2 * rows * std::max(curvature_row_bytes(threads), 2 * deployment.layout().geometry().stride());
}

uint64_t usual_or_asked(const WorkSettings& settings) { return settings.memory.value_or(WorkSettings::kUsualMemory); }

}  // namespace

uint64_t window_memory(const Deployment& deployment, const WindowPlan& plan, uint64_t masked, unsigned threads) {
  const Layout& layout = deployment.layout();
  const ProofShape shape = plan.shape();
  const uint64_t n = plan.geometry().row, s = plan.geometry().stride(), curvature = curvature_rows(layout);
  uint64_t rows = 0, slots = 0;  // of the largest segment, virtual slots, too
  for (const WindowSegment& segment : plan.segments()) {
    rows = std::max<uint64_t>(rows, segment.rows.rows);
    slots = std::max(slots, uint64_t{1} << segment.slot_variables);
  }
  ProjectionBytes projection;
  projection.add(plan.projection().shape);
  const uint64_t guide = plan.guided() ? layout.coordinates() / Guide::kTritsPerByte + layout.blocks() : 0;
  const uint64_t fixed =
      always(shape, threads) + 20 * masked + guide + layout.slots() * sizeof(Wide) + curvature * 4 * kScalar;
  // An index of a segment: θ_u, x, z in 8 bytes, y in 16, u and its complement in one; in the second round a quarter of
  // a scalar for each of θ_u, x, 1 − u, its product with a weight, and a plane; that of y takes y's place. With a guide
  // a sign, and a quarter of a scalar for it and for 1 − u times the weight of a tensor. Four tables have a scalar for
  // each slot.
  const uint64_t second = kScalar / 4, slacks = plan.slack_planes() * (2 + second);
  const uint64_t index = (plan.narrow_z() ? 42 : 50) + 4 * second + slacks + (plan.guided() ? 1 + 2 * second : 0);
  const uint64_t squares = threads * 16 * s * s * 2 * (deployment.parameters().curvature_bits > 8 ? 2 : 1);
  // At the end θ_u and x, with something to spare, and vectors to be opened; a fold of the curvature takes 4 MB in
  // every thread.
  const uint64_t opened = rows * n * 34 + 5 * kScalar * n + threads * 4'000'000;
  const uint64_t segment = std::max(rows * n * index + 4 * kScalar * slots + squares, opened);
  const uint64_t commit = kEntry * n + 16 * rows * n + threads * 8 * n + buckets(n, threads);
  const uint64_t most = std::max({segment, projection.unit, commit, pairs(shape, threads)});
  return fixed + std::max({projection.all + most, opening(shape, threads), verifying(shape, curvature, threads)});
}

uint64_t registration_memory(const Deployment& deployment, const RegistrationPlan& plan, unsigned threads) {
  const ProofShape shape = plan.shape();
  const uint64_t n = plan.geometry().row;
  ProjectionBytes projection;
  for (const ProjectedRows& projected : plan.projections()) projection.add(projected.shape);
  const uint64_t fixed = always(shape, threads) + deployment.layout().slots() * sizeof(Wide);
  uint64_t part = 0;  // of weights that are proved together, in 8 bytes and a quarter of a scalar
  for (const PaddedSegment& segment : plan.padded()) part = std::max<uint64_t>(part, segment.rows.rows * n * 18);
  if (plan.sums()) {
    for (const AnchoredUnit& unit : plan.sums()->units) part = std::max<uint64_t>(part, unit.rows * n * 17);
    for (const ProgressUnit& unit : plan.sums()->progress_units)
      part = std::max<uint64_t>(part, unit.rows.rows * n * 50);
  }
  const uint64_t some_rows = std::max(n, uint64_t{1} << 20), squares = std::max(n, uint64_t{1} << 23);
  const uint64_t commit = kEntry * n + 16 * some_rows + buckets(n, threads);
  const uint64_t project = 16 * some_rows + 2 * squares + 5 * kScalar * n;  // and sums of sixteen digits a column
  const uint64_t most = std::max({part + 4 * kScalar * n, projection.unit, project, pairs(shape, threads)});
  const uint64_t statement = plan.sums() ? deployment.layout().rows() : 0;
  return fixed +
         std::max({commit, projection.all + most, opening(shape, threads), verifying(shape, statement, threads)});
}

uint64_t committing_memory(const RegistrationPlan& plan, uint64_t batch, unsigned threads) {
  return always(plan.shape(), threads) + batch;
}

uint64_t verifier_memory(const ProofShape& shape, size_t statement_points, unsigned threads) {
  return always(shape, threads) + verifying(shape, statement_points, threads);
}

Status check_memory(uint64_t least, const WorkSettings& settings) {
  if (!settings.memory || least <= *settings.memory) return Done{};
  return error(
      "at least {} of memory are needed with {} threads, but the budget is {}; raise it with --memory, or give fewer "
      "--threads",
      format_size(least), settings.pool->size(), format_size(*settings.memory));
}

Result<WindowPlan> plan_window(const Deployment& deployment, const Mask& mask, const WorkSettings& settings) {
  const uint64_t rows = deployment.layout().rows();
  Mask bare = mask;  // plans of a long support take long
  bare.support.clear();
  uint64_t least = ~uint64_t{0}, last = 0;
  Segmentation best;
  for (uint64_t parts = 1; parts <= rows; ++parts) {
    const uint64_t each = (rows + parts - 1) / parts;
    if (each == last) continue;
    last = each;
    const Result<WindowPlan> plan = WindowPlan::make(deployment, bare, cut_rows(rows, each));
    if (!plan && parts == 1) return plan.error();
    if (!plan) break;
    const uint64_t memory = window_memory(deployment, *plan, mask.support.size(), settings.pool->size());
    if (memory < least) {
      least = memory;
      best = plan->segmentation();
    }
    if (memory <= usual_or_asked(settings)) break;
  }
  ZKAPEX_CHECK(check_memory(least, settings));
  return WindowPlan::make(deployment, mask, best);
}

Result<RegistrationPlan> plan_registration(const Deployment& deployment, const WorkSettings& settings,
                                           const UpdateTerms* update) {
  const uint64_t rows = deployment.layout().rows();
  const unsigned threads = settings.pool->size();
  uint64_t least = ~uint64_t{0}, last = 0;
  Segmentation best;
  for (uint64_t parts = 1; parts <= rows; ++parts) {
    const uint64_t each = (rows + parts - 1) / parts;
    if (each == last) continue;
    last = each;
    const Result<RegistrationPlan> plan = RegistrationPlan::make(deployment, cut_rows(rows, each), update);
    if (!plan && parts == 1) return plan.error();
    if (!plan) break;
    const uint64_t memory = std::max(registration_memory(deployment, *plan, threads),
                                     committing_memory(*plan, least_batch(deployment, threads), threads));
    if (memory < least) {
      least = memory;
      best = plan->cut();
    }
    if (memory <= usual_or_asked(settings)) break;
  }
  ZKAPEX_CHECK(check_memory(least, settings));
  return RegistrationPlan::make(deployment, best, update);
}

Result<uint64_t> verifying_memory(const Deployment& deployment, const Mask& mask, const WorkSettings& settings) {
  WorkSettings usual = settings;
  usual.memory.reset();
  ZKAPEX_TRY(const WindowPlan plan, plan_window(deployment, mask, usual));
  return 20 * mask.support.size() +
         verifier_memory(plan.shape(), curvature_rows(deployment.layout()), settings.pool->size());
}

Result<uint64_t> admitting_memory(const Deployment& deployment, const WorkSettings& settings) {
  WorkSettings usual = settings;
  usual.memory.reset();
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(deployment, usual));
  return verifier_memory(plan.shape(), 0, settings.pool->size());
}

uint64_t registration_batch(const Deployment& deployment, const RegistrationPlan& plan, const WorkSettings& settings) {
  const unsigned threads = settings.pool->size();
  const uint64_t held = committing_memory(plan, 0, threads), budget = usual_or_asked(settings);
  return std::max(least_batch(deployment, threads), budget - std::min(budget, held));
}

}  // namespace zkapex
