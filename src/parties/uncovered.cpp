#include "parties/uncovered.h"

#include <algorithm>
#include <set>

namespace zkapex {

namespace {

Sha256::Digest digest_of(const TensorView& tensor) {
  ByteWriter head;
  head.text(tensor.name());
  head.text(dtype_name(tensor.dtype()));
  head.u64(tensor.shape().size());
  for (const uint64_t size : tensor.shape()) head.u64(size);
  Sha256 hash;
  hash.update(head.bytes());
  hash.update(tensor.data());
  return hash.finish();
}

}  // namespace

std::vector<TensorDigest> digest_uncovered(const Layout& layout, const Checkpoint& model) {
  std::set<std::string_view> covered;
  for (const size_t k : layout.covered()) covered.insert(layout.tensors()[k].name);
  std::vector<TensorDigest> out;
  for (const TensorView& tensor : model.tensors()) {
    if (!covered.contains(tensor.name())) out.push_back({tensor.name(), digest_of(tensor)});
  }
  return out;
}

Status check_uncovered(const Layout& layout, const Checkpoint& model, const std::vector<TensorDigest>& registered) {
  const std::vector<TensorDigest> found = digest_uncovered(layout, model);
  const auto [ours, theirs] = std::ranges::mismatch(found, registered);
  if (ours == found.end() && theirs == registered.end()) return Done{};
  return error("it is not the checkpoint that was registered: tensor '{}' differs",
               ours != found.end() ? ours->name : theirs->name);
}

Status read_uncovered_row(const Deployment& deployment, const LayoutTensor& tensor, const TensorView& view,
                          uint64_t row, std::span<int64_t> out) {
  const uint64_t n = out.size(), count = std::min(n, tensor.count - row * n);
  std::fill(out.begin(), out.end(), 0);
  return read_unchanged(view, deployment.parameters().weights.fraction_bits, row * n, out.first(count));
}

Result<CommittedRows> commit_uncovered(const Deployment& deployment, const Checkpoint& model,
                                       const Generators& generators, Nonces& nonces, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  CommittedRows out;
  std::vector<int64_t> row(layout.geometry().row);
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    const LayoutTensor& tensor = layout.tensors()[k];
    if (tensor.covered) continue;
    for (uint64_t t = 0; t < tensor.rows; ++t) {
      ZKAPEX_CHECK(read_uncovered_row(deployment, tensor, model.tensors()[k], t, row));
      ZKAPEX_TRY(const CommittedRows committed, commit_integers_var(generators, row, row.size(), nonces, pool));
      out.append(committed);
    }
  }
  return out;
}

}  // namespace zkapex
