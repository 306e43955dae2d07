#include "argument/transcript.h"

#include "base/hash.h"

namespace zkapex {

Transcript::Transcript(std::string_view protocol, Tamper* tamper) : name_("main"), tamper_(tamper) {
  step(TranscriptStep::kAbsorb, "protocol", view(protocol));
}

void Transcript::step(TranscriptStep kind, std::string_view label, ByteView data) {
  if (tamper_ != nullptr) tamper_->step(name_, kind, label);
  ByteWriter header;
  header.raw(state_);
  header.u8(static_cast<uint8_t>(kind));
  header.text(label);
  header.u64(data.size());
  Sha512 hash;
  hash.update(header.bytes());
  hash.update(data);
  state_ = hash.finish();
}

void Transcript::absorb(std::string_view label, ByteView data) { step(TranscriptStep::kAbsorb, label, data); }

void Transcript::absorb(std::string_view label, std::span<const Scalar> scalars) {
  ByteWriter out;
  for (const Scalar& s : scalars) out.raw(s.to_bytes());
  absorb(label, out.bytes());
}

void Transcript::absorb(std::string_view label, std::span<const EncodedPoint> points) {
  static_assert(sizeof(EncodedPoint) == 32);
  absorb(label, ByteView(reinterpret_cast<const uint8_t*>(points.data()), 32 * points.size()));
}

void Transcript::absorb(std::string_view label, const Transcript& fork) {
  absorb(label, ByteView(fork.state_));
  drew_zero_ = drew_zero_ || fork.drew_zero_;
}

Scalar Transcript::challenge(std::string_view label) {
  step(TranscriptStep::kChallenge, label, {});
  const Scalar drawn = Scalar::from_bytes_wide(state_);
  const Scalar x = tamper_ != nullptr ? tamper_->challenge(name_, label, drawn) : drawn;
  drew_zero_ = drew_zero_ || x.is_zero();
  return x;
}

std::vector<Scalar> Transcript::challenges(std::string_view label, size_t count) {
  std::vector<Scalar> out;
  out.reserve(count);
  for (size_t k = 0; k < count; ++k) out.push_back(challenge(fmt::format("{}[{}]", label, k)));
  return out;
}

Transcript Transcript::fork(std::string_view name, uint64_t index) {
  const std::string full = fmt::format("{} {}", name, index);
  Transcript child(full, state_, tamper_);
  child.step(TranscriptStep::kFork, full, {});
  return child;
}

}  // namespace zkapex
