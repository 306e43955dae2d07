#include "attestation/model_reader.h"

namespace zkapex {

void Squares::resize(bool wide_factor, size_t entries) {
  wide = wide_factor;
  wide ? wide_entries.resize(entries) : narrow_entries.resize(entries);
}

IntMatrix Squares::matrix(size_t first_entry, size_t rows, size_t cols) const {
  if (wide) return {wide_entries.data() + first_entry, rows, cols, cols};
  return {narrow_entries.data() + first_entry, rows, cols, cols};
}

Result<Sha512::Digest> model_digest(const Deployment& deployment, const ModelReader& model) {
  const Layout& layout = deployment.layout();
  Sha512 hash;
  std::vector<int64_t> row(layout.geometry().row);
  for (uint64_t t = 0; t < layout.rows(); ++t) {
    ZKAPEX_CHECK(model.weights(t, row));
    hash.update({reinterpret_cast<const uint8_t*>(row.data()), row.size() * sizeof(int64_t)});
  }
  constexpr uint64_t kAtOnce = 16;
  Squares squares;
  for (uint64_t slot = 0; slot < layout.slots(); slot += kAtOnce) {
    ZKAPEX_CHECK(model.squares(slot, std::min(kAtOnce, layout.slots() - slot), squares));
    hash.update({reinterpret_cast<const uint8_t*>(squares.narrow_entries.data()), squares.narrow_entries.size()});
    hash.update(
        {reinterpret_cast<const uint8_t*>(squares.wide_entries.data()), squares.wide_entries.size() * sizeof(int16_t)});
  }
  return hash.finish();
}

}  // namespace zkapex
