// The tensors that no operator touches: their rows, which are committed and stay as they are, and digests by which a
// client knows them again.
#pragma once

#include "parties/client_model.h"
#include "unlearning/deployment.h"
#include "weights/checkpoint.h"

namespace zkapex {

// SHA-256 of name, type, shape and bytes.
struct TensorDigest {
  std::string name;
  Sha256::Digest digest{};

  bool operator==(const TensorDigest&) const = default;
};
[[nodiscard]] std::vector<TensorDigest> digest_uncovered(const Layout& layout, const Checkpoint& model);
// The error names the first tensor that is not what was registered.
[[nodiscard]] Status check_uncovered(const Layout& layout, const Checkpoint& model,
                                     const std::vector<TensorDigest>& registered);

// Row `row` of an uncovered tensor, zero on padding.
[[nodiscard]] Status read_uncovered_row(const Deployment& deployment, const LayoutTensor& tensor,
                                        const TensorView& view, uint64_t row, std::span<int64_t> out);
// All such rows, one after another, from a view for each tensor of the layout; zeros where there is none. Deployment
// and views outlive it.
[[nodiscard]] RowReader uncovered_rows(const Deployment& deployment, std::vector<const TensorView*> views);
// Those of a model that has the tensors of the layout.
[[nodiscard]] RowReader uncovered_rows(const Deployment& deployment, const Checkpoint& model);

}  // namespace zkapex
