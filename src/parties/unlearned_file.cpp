#include "parties/unlearned_file.h"

#include <functional>

namespace zkapex {

namespace {

constexpr uint64_t kPiece = 1 << 16;

using PieceVisitor = std::function<Status(std::span<const double> values)>;

// The weights of a covered tensor as numbers, piece by piece.
Status for_each_piece(const Deployment& deployment, const LayoutTensor& tensor, const CoordinateReader& weights,
                      const PieceVisitor& visit) {
  std::vector<int64_t> integers;
  std::vector<double> values;
  for (uint64_t at = 0; at < tensor.count; at += kPiece) {
    integers.resize(std::min(kPiece, tensor.count - at));
    ZKAPEX_CHECK(weights(tensor.first_coordinate + at, integers));
    values.clear();
    for (const int64_t v : integers) values.push_back(deployment.parameters().weights.to_double(v));
    ZKAPEX_CHECK(visit(values));
  }
  return Done{};
}

// Written in that type and read again, they are what they were.
Result<bool> holds(Dtype dtype, std::span<const double> values) {
  Bytes bytes;
  ZKAPEX_CHECK(append_elements(dtype, values, bytes));
  std::vector<double> again(values.size());
  ZKAPEX_CHECK(TensorView({"", dtype, {values.size()}}, bytes).read(0, std::span(again)));
  return std::ranges::equal(values, again);
}

Result<Dtype> type_for(const Deployment& deployment, const LayoutTensor& tensor, Dtype old,
                       const CoordinateReader& weights) {
  for (const Dtype dtype : {old, Dtype::kF32}) {
    bool all = true;
    ZKAPEX_CHECK(for_each_piece(deployment, tensor, weights, [&](std::span<const double> values) -> Status {
      if (all) {
        ZKAPEX_TRY(all, holds(dtype, values));
      }
      return Done{};
    }));
    if (all) return dtype;
  }
  return Dtype::kF64;
}

}  // namespace

Result<std::vector<Widened>> write_unlearned(FileWriter& file, const Deployment& deployment, const Checkpoint& model,
                                             const CoordinateReader& weights) {
  const Layout& layout = deployment.layout();
  std::vector<Widened> widened;
  std::vector<TensorSource> sources;
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    const TensorView& old = model.tensors()[k];
    const LayoutTensor& tensor = layout.tensors()[k];
    if (!tensor.covered) {
      sources.push_back({old.info(), [&old](const ByteSink& sink) { return old.for_pieces(sink); }});
      continue;
    }
    TensorInfo info = old.info();
    ZKAPEX_TRY(info.dtype, type_for(deployment, tensor, old.dtype(), weights));
    if (info.dtype != old.dtype()) widened.push_back({info.name, old.dtype(), info.dtype});
    sources.push_back({info, [&, dtype = info.dtype](const ByteSink& sink) {
                         return for_each_piece(deployment, tensor, weights,
                                               [&](std::span<const double> values) -> Status {
                                                 Bytes bytes;
                                                 ZKAPEX_CHECK(append_elements(dtype, values, bytes));
                                                 return sink(bytes);
                                               });
                       }});
  }
  ZKAPEX_CHECK(write_checkpoint(file, sources, model.metadata()));
  return widened;
}

}  // namespace zkapex
