// "The prover can open these committed rows": a part that relations use (docs/window.md, section 8), for rows of the
// statement that nothing else is said of.
//
//   fork   a random point; the value there of the rows as one table is sent, and opened
#pragma once

#include "argument/prover.h"
#include "argument/verifier.h"
#include "weights/packed_weights.h"

namespace zkapex {

struct KnownRows {
  size_t first_point = 0;  // the number of the first row among the relation's points
  uint64_t rows = 0;
  size_t row_length = 0;

  static constexpr size_t kScalars = 1;  // on its fork
  [[nodiscard]] unsigned row_variables() const;
  [[nodiscard]] unsigned variables() const;
};

// A model that was committed before, with what opens its commitment.
struct EarlierModel {
  RowReader rows;                     // covered, zero on padding
  std::span<const Scalar> blindings;  // one a row
};

// Each on its fork: one pair.
[[nodiscard]] Status prove_known(const KnownRows& known, const EarlierModel& model, Sender& channel,
                                 ArgumentProver& prover);
void replay_known(const KnownRows& known, Receiver& channel, ArgumentVerifier& verifier);

}  // namespace zkapex
