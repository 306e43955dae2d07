#include "parties/base_model.h"

#include <algorithm>
#include <bit>

#include "base/first_error.h"
#include "parties/uncovered.h"

namespace zkapex {

namespace {

// θ0's tensor for each of the layout's that has one and is neither free nor added.
using BaseViews = std::vector<const TensorView*>;

bool is_compared(Anchored kind) { return kind == Anchored::kNear || kind == Anchored::kSame; }

Result<const TensorView*> find_compared(const Checkpoint& base, const LayoutTensor& tensor) {
  const TensorView* view = base.find(tensor.name);
  if (view != nullptr && view->shape() != tensor.shape)
    return error("tensor '{}' has another shape in the base model: is it to be --free?", tensor.name);
  if (view != nullptr && tensor.split && holds_weights(view->dtype()))
    return error("tensor '{}' has elements of {} in the base model, and whole numbers of 64 bits in the model",
                 tensor.name, dtype_name(view->dtype()));
  if (view != nullptr && tensor.covered && !holds_weights(view->dtype()))
    return error("tensor '{}' is covered, but the base model's elements are {}", tensor.name,
                 dtype_name(view->dtype()));
  return view;
}

Result<BaseViews> views_of(const Deployment& deployment, const Checkpoint& base) {
  const Layout& layout = deployment.layout();
  BaseViews out(layout.tensors().size());
  for (size_t k = 0; k < out.size(); ++k) {
    if (!is_compared(deployment.anchor()->tensors[k])) continue;
    ZKAPEX_TRY(out[k], find_compared(base, layout.tensors()[k]));
    if (out[k] == nullptr) return error("there is no tensor '{}' in it", layout.tensors()[k].name);
  }
  return out;
}

// The integers of some elements, as they are committed.
Status read_entries(const Parameters& p, const LayoutTensor& tensor, const TensorView& view, uint64_t first,
                    std::span<int64_t> out) {
  if (tensor.covered) return p.weights.read(view, first, out);
  ZKAPEX_CHECK(tensor.split ? read_unchanged_split(view, p.weights.fraction_bits, first, out)
                            : read_unchanged(view, p.weights.fraction_bits, first, out));
  const int64_t most = p.largest_other();
  if (const auto [low, high] = std::ranges::minmax(out); high > most || low < -most)
    return error("tensor '{}' of the base model has an element that is too large for a proof", tensor.name);
  return Done{};
}

// Entries are below 2^62 in size: eight squares fit 128 bits.
Wide sum_of_squares(std::span<const int64_t> entries) {
  Wide out;
  for (size_t i = 0; i < entries.size(); i += 8) {
    uint128 sum = 0;
    for (size_t j = i; j < std::min(i + 8, entries.size()); ++j)
      sum += static_cast<uint128>(static_cast<int128>(entries[j]) * entries[j]);
    out += Wide::from(sum);
  }
  return out;
}

struct BaseFigures {
  Sha256::Digest digest{};
  std::vector<Wide> squares;  // Σ θ0² of each tensor; 0 where there is none
};

// Of all that is compared, by pieces of tensors, in parallel: docs/formats.md, "Deployment".
Result<BaseFigures> base_figures(const Layout& layout, const Parameters& p, const BaseViews& views, ThreadPool& pool) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kElements = uint64_t{1} << 16;
  struct Piece {
    size_t tensor;
    uint64_t first, count;
    Sha256::Digest digest{};
    Wide square;
  };
  std::vector<Piece> pieces;
  for (size_t k = 0; k < views.size(); ++k) {
    for (uint64_t at = 0; views[k] != nullptr && at < layout.tensors()[k].count; at += kElements)
      pieces.push_back({k, at, std::min(kElements, layout.tensors()[k].count - at), {}, {}});
  }
  FirstError failed;
  pool.for_each(pieces.size(), [&](size_t at) {
    Piece& piece = pieces[at];
    const LayoutTensor& tensor = layout.tensors()[piece.tensor];
    std::vector<int64_t> entries(piece.count * (tensor.split ? 2 : 1));
    failed.note(read_entries(p, tensor, *views[piece.tensor], piece.first, entries));
    piece.digest = sha256({reinterpret_cast<const uint8_t*>(entries.data()), entries.size() * sizeof(int64_t)});
    piece.square = sum_of_squares(entries);
  });
  ZKAPEX_CHECK(failed.status());
  BaseFigures out;
  out.squares.resize(views.size());
  Sha256 hash;
  hash.update(view("zkapex base 1"));
  for (const Piece& piece : pieces) {
    hash.update(piece.digest);
    out.squares[piece.tensor] += piece.square;
  }
  out.digest = hash.finish();
  return out;
}

}  // namespace

Result<Deployment> anchor_deployment(const Deployment& deployment, const Checkpoint& base, const AnchorLimits& limits,
                                     const CoverPatterns& free, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  Anchor anchor{.limits = limits, .base = {}, .tensors = {}, .squares = {}};
  BaseViews views;
  for (const LayoutTensor& tensor : layout.tensors()) {
    const bool is_free = is_covered(free, tensor.name);
    views.push_back(nullptr);
    if (!is_free) {
      ZKAPEX_TRY(views.back(), find_compared(base, tensor));
    }
    anchor.tensors.push_back(is_free                                ? Anchored::kFree
                             : views.back() == nullptr              ? Anchored::kAdded
                             : holds_weights(views.back()->dtype()) ? Anchored::kNear
                                                                    : Anchored::kSame);
  }
  if (std::ranges::none_of(anchor.tensors, is_compared))
    return error("the base model has none of the model's tensors that are not free");
  ZKAPEX_TRY(BaseFigures figures, base_figures(layout, deployment.parameters(), views, pool));
  for (size_t k = 0; k < anchor.tensors.size(); ++k) {
    // Nothing is near a matrix of zeros but itself: what is trained from there counts as added.
    if (anchor.tensors[k] == Anchored::kNear && figures.squares[k] == Wide() && !is_vector(layout.tensors()[k])) {
      anchor.tensors[k] = Anchored::kAdded;
      views[k] = nullptr;
    }
    if (anchor.tensors[k] != Anchored::kNear) figures.squares[k] = Wide();
  }
  ZKAPEX_TRY(const BaseFigures compared, base_figures(layout, deployment.parameters(), views, pool));
  anchor.base = compared.digest;
  anchor.squares = std::move(figures.squares);
  return Deployment::make(layout, deployment.parameters(), std::move(anchor));
}

Result<BaseRows> open_base(const Path& path, const Deployment& deployment, ThreadPool& pool) {
  ZKAPEX_TRY(Checkpoint opened, Checkpoint::open(path));
  const auto base = std::make_shared<const Checkpoint>(std::move(opened));
  Result<BaseViews> found = views_of(deployment, *base);
  if (!found) return found.error().within(path.string());
  const Result<BaseFigures> figures = base_figures(deployment.layout(), deployment.parameters(), *found, pool);
  if (!figures) return figures.error().within(path.string());
  const Anchor& anchor = *deployment.anchor();
  if (figures->digest != anchor.base)
    return error("{} is not the base model that the deployment is anchored at", path.string());
  for (size_t k = 0; k < anchor.tensors.size(); ++k) {
    if (anchor.tensors[k] == Anchored::kNear && figures->squares[k] != anchor.squares[k])
      return error("the deployment tells another size of the base model's tensor '{}' than it has in {}",
                   deployment.layout().tensors()[k].name, path.string());
  }
  const CoordinateReader read = [&deployment, base, views = *found](uint64_t first, std::span<int64_t> out) -> Status {
    const Layout::Place place = deployment.layout().place(first);
    if (views[place.tensor] != nullptr)
      return deployment.parameters().weights.read(*views[place.tensor], place.element, out);
    std::ranges::fill(out, 0);
    return Done{};
  };
  return BaseRows{[&deployment, read](uint64_t first_row, std::span<int64_t> out) {
                    return read_rows(deployment.layout(), first_row, out, read);
                  },
                  [base, rows = uncovered_rows(deployment, *std::move(found))](
                      uint64_t first_row, std::span<int64_t> out) { return rows(first_row, out); }};
}

Result<std::optional<BaseRows>> open_base_option(const Path& path, const Deployment& deployment, ThreadPool& pool) {
  if (!deployment.anchor()) {
    if (!path.empty()) return error("--base {}: the deployment has no anchor", path.string());
    return std::optional<BaseRows>();
  }
  if (path.empty()) return error("the deployment is anchored at its provider's base model: say by --base where it is");
  ZKAPEX_TRY(BaseRows rows, open_base(path, deployment, pool));
  return std::optional(std::move(rows));
}

}  // namespace zkapex
