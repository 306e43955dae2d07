#include "argument/row_openings.h"

#include "algebra/msm.h"

namespace zkapex {

CommittedRows blind_rows_var(std::vector<Point> rows, const Generators& generators, Nonces& nonces, ThreadPool& pool) {
  CommittedRows out{{}, nonces.scalars(rows.size())};
  const std::vector<Point> blindings = generators.blinding_base().multiply_var(out.all_blindings(), pool);
  for (size_t k = 0; k < rows.size(); ++k) rows[k] += blindings[k];
  out.encoded = encode_batch(rows, &pool);
  return out;
}

void CommittedRows::append(const CommittedRows& rows) {
  encoded.insert(encoded.end(), rows.encoded.begin(), rows.encoded.end());
  for (const Scalar& b : rows.blindings) blindings.push_back(b);
}

Result<CommittedRows> commit_rows_var(const Generators& generators, const PackedRows& rows, Nonces& nonces,
                                      ThreadPool& pool) {
  ZKAPEX_TRY(std::vector<Point> points, commit_rows_var(generators.positions(), rows, pool));
  return blind_rows_var(std::move(points), generators, nonces, pool);
}

Result<CommittedRows> commit_integers_var(const Generators& generators, std::span<const int64_t> values,
                                          size_t row_length, Nonces& nonces, ThreadPool& pool) {
  const PreparedPoints positions(generators.positions().first(row_length), pool);
  ZKAPEX_TRY(std::vector<Point> points, msm_rows_var(values, positions, pool));
  return blind_rows_var(std::move(points), generators, nonces, pool);
}

}  // namespace zkapex
