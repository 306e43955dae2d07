// Small windows for tests: random tensors and factors, solved exactly enough, with the commitments of a client.
#pragma once

#include <random>

#include "argument/row_openings.h"
#include "attestation/registration_relation.h"
#include "attestation/window_prover.h"
#include "attestation/window_verifier.h"

namespace zkapex::testing {

struct WindowOptions {
  uint64_t block = 8, row = 64;
  std::vector<uint64_t> tensors = {40, 77};  // covered weights of each; the second ends in a partial block
  uint64_t rows_per_segment = 1;
  uint32_t bits = 3;  // c
  FixedPoint weights{.fraction_bits = 10, .width = 14};
  uint64_t floor = 3;
  double density = 0.2;
  uint64_t seed = 1;
  Operator op = Operator::kGroupObs;
  // Of guided: t, and rules that the solution meets.
  uint64_t pull = 60;
  uint32_t progress = 300, distance = 800, distance_removed = 3000;
  bool anchored = false;
};

// A client with everything in memory. Tests change what they like before proving.
class TestWindow {
 public:
  explicit TestWindow(const WindowOptions& options, ThreadPool& pool);

  // Solves the operator for the integers as they are, and what follows from it.
  void solve();
  void commit(ThreadPool& pool);
  // Anchors the deployment at `base` and `base_others` as they are; a kind for each tensor.
  void set_anchor(const AnchorLimits& limits, std::vector<Anchored> tensors);
  [[nodiscard]] BaseRows base_rows() const;
  [[nodiscard]] WindowStatement statement() const;
  [[nodiscard]] WindowPlan plan() const;
  [[nodiscard]] Result<WindowProof> prove(ThreadPool& pool, Tamper* tamper = nullptr) const;
  [[nodiscard]] Verdict verify(const Proof& proof, ThreadPool& pool) const;
  [[nodiscard]] const Generators& generators() const { return *generators_; }

  [[nodiscard]] Wide residual(uint64_t slot) const;
  [[nodiscard]] std::vector<int64_t> guide() const;       // Δ by padded index
  [[nodiscard]] std::vector<RuleSums> rule_sums() const;  // of each group of rows

  class Before : public ModelReader {
   public:
    explicit Before(const TestWindow& w) : window(w) {}
    Status weights(uint64_t first_row, std::span<int64_t> out) const override;
    Status unchanged(uint64_t first_row, std::span<int64_t> out) const override;
    Status triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const override;
    Status square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const override;
    Status square_rows(uint64_t slot, uint64_t first, std::span<int16_t> out) const override;
    Result<Sha512::Digest> digest(ThreadPool& pool) const override;
    const TestWindow& window;
  };
  class After : public OperatorOutput {
   public:
    explicit After(const TestWindow& w) : window(w) {}
    Status weights(uint64_t first_row, std::span<int64_t> out) const override;
    [[nodiscard]] Wide residual(uint64_t slot) const override { return window.residual(slot); }
    const TestWindow& window;
  };

  WindowOptions options;
  std::optional<Deployment> deployment;
  Mask mask;
  std::vector<int64_t> theta_p, theta_u;   // by padded index
  std::vector<int8_t> factors;             // squares, slot by slot
  std::vector<int64_t> others;             // rows of the tensor that is not covered
  std::vector<int64_t> base, base_others;  // θ0, with an anchor
  CommittedRows model, curvature, unchanged;

 private:
  void make_guide(std::mt19937_64& rng);
  [[nodiscard]] std::vector<double> curvature_matrix(uint64_t slot) const;
  std::shared_ptr<const Generators> generators_;
};

}  // namespace zkapex::testing
