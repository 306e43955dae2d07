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
  (void)tensor.for_pieces([&](ByteView piece) -> Status {
    hash.update(piece);
    return Done{};
  });
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
  const uint32_t fraction_bits = deployment.parameters().weights.fraction_bits;
  const uint64_t n = out.size(), each = tensor.split ? 2 : 1, first = row * n / each;
  const uint64_t count = std::min(n / each, tensor.count - first);
  std::fill(out.begin(), out.end(), 0);
  const std::span<int64_t> filled = out.first(count * each);
  return tensor.split ? read_unchanged_split(view, fraction_bits, first, filled)
                      : read_unchanged(view, fraction_bits, first, filled);
}

RowReader uncovered_rows(const Deployment& deployment, const Checkpoint& model) {
  std::vector<const TensorView*> views;
  for (const TensorView& view : model.tensors()) views.push_back(&view);
  return uncovered_rows(deployment, std::move(views));
}

RowReader uncovered_rows(const Deployment& deployment, std::vector<const TensorView*> views) {
  return [&deployment, views = std::move(views)](uint64_t first_row, std::span<int64_t> out) -> Status {
    const Layout& layout = deployment.layout();
    const uint64_t n = layout.geometry().row;
    uint64_t row = first_row;
    for (size_t k = 0; k < layout.tensors().size() && !out.empty(); ++k) {
      const LayoutTensor& tensor = layout.tensors()[k];
      if (tensor.covered) continue;
      for (; row < tensor.first_row + tensor.rows && !out.empty(); ++row, out = out.subspan(n)) {
        if (views[k] == nullptr) {
          std::fill_n(out.begin(), n, 0);
          continue;
        }
        ZKAPEX_CHECK(read_uncovered_row(deployment, tensor, *views[k], row - tensor.first_row, out.first(n)));
      }
    }
    return Done{};
  };
}

}  // namespace zkapex
