// Sealed messages. The prover commits to uniform pads before the first challenge and sends s + pad for every scalar s;
// the verifier works with affine expressions in the pads, whose truth the final inner product settles.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "argument/expression.h"
#include "argument/transcript.h"

namespace zkapex {

class Sender {
 public:
  // `pads`: exactly one for each scalar that will be sent here; `out` receives the sealed scalars.
  Sender(Transcript& transcript, std::span<const Scalar> pads, std::vector<Scalar>& out)
      : transcript_(transcript), pads_(pads), out_(out) {}

  // The values as sent, which differ from those given only where the transcript's tamper changed them.
  std::vector<Scalar> send(std::string_view label, std::vector<Scalar> values,
                           std::span<const Scalar> coefficients = {}, const Scalar& claim = Scalar::zero());
  [[nodiscard]] Transcript& transcript() { return transcript_; }
  [[nodiscard]] bool exhausted() const { return used_ == pads_.size(); }

 private:
  Transcript& transcript_;
  std::span<const Scalar> pads_;
  std::vector<Scalar>& out_;
  size_t used_ = 0;
};

class Receiver {
 public:
  // The sealed scalars of one transcript; the first is padded by pad number `first_pad`, and so on.
  Receiver(Transcript& transcript, std::span<const Scalar> sealed, uint32_t first_pad)
      : transcript_(transcript), sealed_(sealed), next_pad_(first_pad) {}

  // The shape check of the proof guarantees that as many are there as will be asked for.
  std::vector<Expression> receive(std::string_view label, size_t count);
  [[nodiscard]] Transcript& transcript() { return transcript_; }
  [[nodiscard]] uint32_t next_pad() const { return next_pad_; }
  [[nodiscard]] bool exhausted() const { return sealed_.empty(); }

 private:
  Transcript& transcript_;
  std::span<const Scalar> sealed_;
  uint32_t next_pad_;
};

}  // namespace zkapex
