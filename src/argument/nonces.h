// Secret randomness for one proof. Hedged: a stream keyed by operating-system randomness, the witness and the statement
// together, so that a broken source alone does not repeat a mask under two challenges (which would reveal its operand).
#pragma once

#include <array>
#include <initializer_list>

#include "algebra/scalar.h"
#include "base/secret.h"

namespace zkapex {

class Nonces {
 public:
  // `bound`: a digest of the witness, and all that names the statement.
  [[nodiscard]] static Result<Nonces> create(std::initializer_list<ByteView> bound);

  // Another stream, which depends on this one's key and on `state`: for what is drawn after a challenge, so that two
  // runs that differ from there on share nothing.
  void rekey(ByteView state);

  [[nodiscard]] Scalar scalar();  // uniform mod ℓ
  [[nodiscard]] SecretVector<Scalar> scalars(size_t count);

 private:
  Nonces() = default;

  Wiped<std::array<uint8_t, 32>> key_;
  Wiped<std::array<uint8_t, 4096>> block_;  // key stream not yet used
  size_t used_ = 4096;
  uint64_t counter_ = 0;  // of 64-byte stream blocks
};

}  // namespace zkapex
