#include "parties/client_model.h"

#include "base/first_error.h"
#include "base/unset_vector.h"

namespace zkapex {

CoordinateReader checkpoint_coordinates(const Deployment& deployment, const Checkpoint& model) {
  return [&deployment, &model](uint64_t first, std::span<int64_t> out) {
    const Layout::Place place = deployment.layout().place(first);
    return deployment.parameters().weights.read(model.tensors()[place.tensor], place.element, out);
  };
}

Status ClientModel::weights(uint64_t first_row, std::span<int64_t> out) const {
  return read_rows(deployment_.layout(), first_row, out, read_);
}

Status ClientModel::triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const {
  out.resize(deployment_.layout().geometry().block, store_.header().bits > 8, slots);
  return out.wide ? read_triangles(first_slot, slots, std::span(out.wide_entries))
                  : read_triangles(first_slot, slots, std::span(out.narrow_entries));
}

template <class Entry>
Status ClientModel::read_triangles(uint64_t first_slot, uint64_t slots, std::span<Entry> out) const {
  const Layout& layout = deployment_.layout();
  const uint64_t entries = triangle_size(layout.geometry().block);
  for (uint64_t k = 0; k < slots;) {
    const std::optional<uint64_t> first = layout.block_in_slot(first_slot + k);
    if (!first) {  // a slot without weights
      std::ranges::fill(out.subspan(k * entries, entries), Entry{0});
      ++k;
      continue;
    }
    uint64_t run = 1;  // consecutive slots with weights are consecutive blocks
    while (k + run < slots && layout.block_in_slot(first_slot + k + run)) ++run;
    ZKAPEX_CHECK(store_.read(*first, run, out.subspan(k * entries, run * entries)));
    k += run;
  }
  return Done{};
}

template <class Entry>
Status ClientModel::read_square_rows(uint64_t slot, uint64_t first, std::span<Entry> out) const {
  const Layout& layout = deployment_.layout();
  const uint64_t block = layout.geometry().block, stride = layout.geometry().stride();
  const std::optional<uint64_t> index = layout.block_in_slot(slot);
  const uint64_t end = index ? std::min(block, first + out.size() / stride) : 0;
  if (first < end) {
    UnsetVector<Entry> packed(triangle_size(end) - triangle_size(first));
    ZKAPEX_CHECK(store_.read_part(*index, triangle_size(first), std::span<Entry>(packed)));
    auto from = packed.begin();
    for (uint64_t j = first; j < end; ++j, from += static_cast<ptrdiff_t>(j)) {
      const auto row = out.subspan((j - first) * stride, stride);
      std::fill(std::copy_n(from, j + 1, row.begin()), row.end(), Entry{0});
    }
    out = out.subspan((end - first) * stride);
  }
  std::ranges::fill(out, Entry{0});
  return Done{};
}

Status ClientModel::square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const {
  return read_square_rows(slot, first, out);
}
Status ClientModel::square_rows(uint64_t slot, uint64_t first, std::span<int16_t> out) const {
  return read_square_rows(slot, first, out);
}

Result<Sha512::Digest> ClientModel::digest(ThreadPool& pool) const {
  const Layout& layout = deployment_.layout();
  std::vector<Sha512::Digest> rows(layout.rows());
  FirstError failed;
  pool.for_each(rows.size(), [&](size_t t) {
    std::vector<int64_t> row(layout.geometry().row);
    failed.note(weights(t, row));
    Sha512 hash;
    hash.update({reinterpret_cast<const uint8_t*>(row.data()), row.size() * sizeof(int64_t)});
    rows[t] = hash.finish();
  });
  ZKAPEX_CHECK(failed.status());
  ZKAPEX_TRY(const Sha512::Digest curvature, store_.digest(pool));
  Sha512 hash;
  std::vector<int64_t> other(layout.geometry().row);
  for (uint64_t t = 0; t < layout.unchanged_rows(); ++t) {
    ZKAPEX_CHECK(unchanged(t, other));
    hash.update({reinterpret_cast<const uint8_t*>(other.data()), other.size() * sizeof(int64_t)});
  }
  for (const Sha512::Digest& row : rows) hash.update(row);
  hash.update(curvature);
  return hash.finish();
}

Result<UnlearnedModel> UnlearnedModel::make(const Deployment& deployment, const Path& scratch_folder) {
  ZKAPEX_TRY(ScratchFile file, ScratchFile::in(scratch_folder));
  return UnlearnedModel(deployment, std::move(file));
}

UnlearnedModel::UnlearnedModel(const Deployment& deployment, ScratchFile file)
    : deployment_(deployment), file_(std::move(file)), residuals_(deployment.layout().slots()) {}

Status UnlearnedModel::set_block(const Layout::Block& block, std::span<const int64_t> weights, const Wide& residual) {
  residuals_[block.slot] = residual;
  SecretBytes bytes(weights.size() * packed_bytes(width()));
  pack_weights(weights, width(), bytes.data());
  return file_.write(block.first_coordinate * packed_bytes(width()), {bytes.data(), bytes.size()});
}

Status UnlearnedModel::read(uint64_t first, std::span<int64_t> out) const {
  SecretBytes bytes(out.size() * packed_bytes(width()));
  ZKAPEX_CHECK(file_.read(first * packed_bytes(width()), {bytes.data(), bytes.size()}));
  unpack_weights(bytes.data(), width(), out);
  return Done{};
}

CoordinateReader UnlearnedModel::reader() const {
  return [this](uint64_t first, std::span<int64_t> out) { return read(first, out); };
}

Status UnlearnedModel::weights(uint64_t first_row, std::span<int64_t> out) const {
  return read_rows(deployment_.layout(), first_row, out, reader());
}

}  // namespace zkapex
