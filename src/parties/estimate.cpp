#include "parties/estimate.h"

#include <algorithm>
#include <ctime>

#include "algebra/row_commit.h"
#include "parties/memory_plan.h"

namespace zkapex {

namespace {

// Shares of `bench window`'s CPU time (docs/performance.md), in units of the rates: a weight's part of the proof, of
// that an entry's of its block, and an entry's part of the operator; a generator's part of an opening, and a point's of
// a verification; an entry's and a weight's part of a registration. Between what AVX-512 and AVX2 take.
constexpr double kWeightProducts = 30, kEntryProducts = 0.04, kOperatorProducts = 0.075;
constexpr double kOpeningEntries = 60, kVerifiedEntries = 30;
constexpr double kRegisteredEntries = 0.3, kRegisteredProducts = 60;

uint64_t kept_vectors(const ProofShape& shape) {  // and their folded halves
  return shape.pairs * shape.row_length * sizeof(Scalar) * 3 / 2;
}

// CPU time: what else the machine does does not count.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(double nanoseconds, ThreadPool& pool) { return nanoseconds * 1e-9 / pool.size(); }

Rates measure_once() {
  Rates out;
  constexpr size_t kProducts = 1 << 15, kRows = 1 << 12, kEntries = 32;
  double start = thread_seconds();
  Scalar x = Scalar::from_u64(3), y = Scalar::from_u64(5);
  for (size_t k = 0; k < kProducts / 2; ++k) {
    x *= y;
    y *= x;
  }
  // Never true, which no compiler knows.
  const bool never = (x * y).is_zero();
  out.product = (thread_seconds() - start) * 1e9 / kProducts;
  std::vector<uint8_t> bytes(kRows * kEntries, never ? 1 : 0x5a);
  const std::vector<AffinePoint> points(kEntries, batch_to_affine(std::vector<Point>{Point::base()})[0]);
  ThreadPool alone(1);
  start = thread_seconds();
  (void)commit_rows_var(points, {bytes.data(), kRows, kEntries, kEntries, 8}, alone);
  out.entry = (thread_seconds() - start) * 1e9 / (kRows * kEntries);
  return out;
}

}  // namespace

// Twice: the first time pages and caches are new.
Rates Rates::measure() {
  const Rates first = measure_once(), second = measure_once();
  return {.product = std::min(first.product, second.product), .entry = std::min(first.entry, second.entry)};
}

Estimate estimate_window(const Deployment& deployment, const WindowPlan& plan, uint64_t masked, ThreadPool& pool,
                         const Rates& rates) {
  const ProofShape shape = plan.shape();
  const Layout& layout = deployment.layout();
  const auto weights = static_cast<double>(layout.rows() * layout.geometry().row);
  const auto stride = static_cast<double>(layout.geometry().stride());
  const double operator_products = plan.compensates() ? kOperatorProducts * stride : 1;
  const double products = weights * (kWeightProducts + kEntryProducts * stride + operator_products);
  const double points =
      kOpeningEntries * static_cast<double>(shape.generators()) +
      kVerifiedEntries * static_cast<double>(shape.generators() + shape.rows + curvature_rows(layout));
  const uint64_t packed = packed_bytes(deployment.parameters().weights.width);
  return {.seconds = seconds(products * rates.product + points * rates.entry, pool),
          .memory_bytes = window_memory(deployment, plan, masked, pool.size()),
          .proof_bytes = shape.bytes(),
          .disk_bytes = kept_vectors(shape) + layout.coordinates() * packed};
}

Estimate estimate_registration(const Deployment& deployment, const RegistrationPlan& plan, uint64_t batch,
                               ThreadPool& pool, const Rates& rates) {
  const ProofShape shape = plan.shape();
  const auto n = static_cast<double>(shape.row_length);
  const auto entries = static_cast<double>(plan.curvature_rows()) * n;
  const double weights = static_cast<double>(plan.model_rows() + plan.unchanged_rows()) * n;
  const double points = kRegisteredEntries * entries + kOpeningEntries * static_cast<double>(shape.generators());
  const uint64_t held = registration_memory(deployment, plan, pool.size());
  return {
      .seconds = seconds(weights * kRegisteredProducts * rates.product + points * rates.entry, pool),
      .memory_bytes = plan.curvature_rows() > 0 ? std::max(held, committing_memory(plan, batch, pool.size())) : held,
      .proof_bytes = shape.bytes(),
      .disk_bytes = kept_vectors(shape)};
}

}  // namespace zkapex
