#include "argument/channel.h"

namespace zkapex {

std::vector<Scalar> Sender::send(std::string_view label, std::vector<Scalar> values,
                                 std::span<const Scalar> coefficients, const Scalar& claim) {
  if (Tamper* tamper = transcript_.tamper(); tamper != nullptr) {
    tamper->send(transcript_.name(), label, values, coefficients, claim);
  }
  const size_t first = out_.size();
  for (const Scalar& value : values) out_.push_back(value + pads_[used_++]);
  transcript_.absorb(label, std::span<const Scalar>(out_).subspan(first));
  return values;
}

std::vector<Expression> Receiver::receive(std::string_view label, size_t count) {
  const auto sealed = sealed_.first(count);
  sealed_ = sealed_.subspan(count);
  transcript_.absorb(label, sealed);
  std::vector<Expression> out;
  out.reserve(count);
  for (const Scalar& s : sealed) out.emplace_back(s, next_pad_++, -Scalar::one());
  return out;
}

}  // namespace zkapex
