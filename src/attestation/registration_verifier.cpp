#include "attestation/registration_verifier.h"

#include "attestation/derived_rows.h"

namespace zkapex {

Result<RegisteredRows, Rejection> registered_rows(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                                  const Proof& proof, ThreadPool& pool) {
  const RegistrationRelation relation(statement, plan);
  ZKAPEX_CHECK(relation.sound());
  if (auto points = decode_rows(relation.statement_rows(), pool); !points) return points.error();
  RegisteredRows out;
  out.curvature = statement.curvature;
  for (const RangeUnit& unit : plan.units()) {
    const auto planes = std::span(proof.rows).subspan(unit.first_bit_row, unit.bit_rows());
    ZKAPEX_TRY(const std::vector<EncodedPoint> rows, value_rows(planes, unit.rows.rows, unit.planes, pool));
    std::vector<EncodedPoint>& to = unit.model ? out.model : out.curvature;
    to.insert(to.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace zkapex
