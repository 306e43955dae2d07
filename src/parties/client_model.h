// A client's model and curvature as provers read them: integers by coordinate from somewhere, factors from the store.
#pragma once

#include "attestation/model_reader.h"
#include "attestation/window_bits.h"
#include "base/scratch_file.h"
#include "curvature/store.h"
#include "unlearning/deployment.h"
#include "weights/checkpoint.h"
#include "weights/packed_weights.h"

namespace zkapex {

// Reads covered weights of a checkpoint by coordinate, of one tensor at a time. Both outlive it.
[[nodiscard]] CoordinateReader checkpoint_coordinates(const Deployment& deployment, const Checkpoint& model);

class ClientModel : public ModelReader {
 public:
  // All outlive this. The store was made for the deployment. `others` gives whole rows of the tensors that are not
  // covered, for registration.
  ClientModel(const Deployment& deployment, CoordinateReader read, const StoreReader& store, RowReader others = {})
      : deployment_(deployment), read_(std::move(read)), store_(store), others_(std::move(others)) {}

  Status unchanged(uint64_t first_row, std::span<int64_t> out) const override { return others_(first_row, out); }
  Status weights(uint64_t first_row, std::span<int64_t> out) const override;
  Status triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const override;
  Status square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const override;
  Status square_rows(uint64_t slot, uint64_t first, std::span<int16_t> out) const override;
  Result<Sha512::Digest> digest(ThreadPool& pool) const override;

 private:
  template <class Entry>
  Status read_square_rows(uint64_t slot, uint64_t first, std::span<Entry> out) const;
  template <class Entry>
  Status read_triangles(uint64_t first_slot, uint64_t slots, std::span<Entry> out) const;

  const Deployment& deployment_;
  CoordinateReader read_;
  const StoreReader& store_;
  RowReader others_;
};

// θ_u as the operator gives it, block by block, in a scratch file.
class UnlearnedModel : public OperatorOutput {
 public:
  [[nodiscard]] static Result<UnlearnedModel> make(const Deployment& deployment, const Path& scratch_folder);

  [[nodiscard]] Status set_block(const Layout::Block& block, std::span<const int64_t> weights, const Wide& residual);
  // Weights by coordinate.
  [[nodiscard]] Status read(uint64_t first, std::span<int64_t> out) const;
  // As a function, which this outlives.
  [[nodiscard]] CoordinateReader reader() const;
  Status weights(uint64_t first_row, std::span<int64_t> out) const override;
  [[nodiscard]] Wide residual(uint64_t slot) const override { return residuals_[slot]; }

 private:
  UnlearnedModel(const Deployment& deployment, ScratchFile file);
  [[nodiscard]] unsigned width() const { return deployment_.parameters().weights.width; }

  const Deployment& deployment_;
  ScratchFile file_;
  std::vector<Wide> residuals_;  // by slot
};

}  // namespace zkapex
