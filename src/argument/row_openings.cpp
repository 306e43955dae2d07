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
  if (values.size() % row_length != 0) return error("{} integers do not fill rows of {}", values.size(), row_length);
  std::vector<Point> points;
  for (size_t k = 0; k < values.size(); k += row_length) {
    ZKAPEX_TRY(const Point row,
               msm_small_var(values.subspan(k, row_length), generators.positions().first(row_length), pool));
    points.push_back(row);
  }
  return blind_rows_var(std::move(points), generators, nonces, pool);
}

}  // namespace zkapex
