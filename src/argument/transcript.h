// Fiat-Shamir: a hash chain over everything both sides have seen. Prover and verifier absorb the same labelled data in
// the same order and draw the same challenges.
//
//   state ← SHA-512(state ‖ kind ‖ u32 |label| ‖ label ‖ u64 |data| ‖ data)      kind: 1 absorb, 2 challenge, 3 fork
//   a challenge is a step with its label and no data; its value is the new state as a 512-bit integer, mod ℓ
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/point.h"
#include "algebra/scalar.h"
#include "argument/tamper.h"
#include "base/bytes.h"

namespace zkapex {

using EncodedPoint = std::array<uint8_t, Point::kBytes>;

class Transcript {
 public:
  // Forks have the same tamper.
  explicit Transcript(std::string_view protocol, Tamper* tamper = nullptr);
  Transcript(Transcript&&) = default;
  Transcript& operator=(Transcript&&) = default;
  Transcript(const Transcript&) = delete;  // two continuations of one state must be forks
  Transcript& operator=(const Transcript&) = delete;
  ~Transcript() = default;

  void absorb(std::string_view label, ByteView data);
  void absorb(std::string_view label, std::string_view text) { absorb(label, view(text)); }
  void absorb(std::string_view label, std::span<const Scalar> scalars);
  void absorb(std::string_view label, std::span<const EncodedPoint> points);
  void absorb(std::string_view label, const Transcript& fork);  // its final state

  // Uniform mod ℓ. Zero, which honest runs never see, is remembered: the verifier refuses such a transcript.
  Scalar challenge(std::string_view label);
  std::vector<Scalar> challenges(std::string_view label, size_t count);  // label[0], label[1], ..
  [[nodiscard]] bool drew_zero() const { return drew_zero_; }

  // A transcript of its own for one part of the work. The parent absorbs its final state when the part is done.
  [[nodiscard]] Transcript fork(std::string_view name, uint64_t index);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ByteView state() const { return state_; }
  [[nodiscard]] Tamper* tamper() const { return tamper_; }

 private:
  Transcript(std::string name, const std::array<uint8_t, 64>& state, Tamper* tamper)
      : name_(std::move(name)), state_(state), tamper_(tamper) {}
  void step(TranscriptStep kind, std::string_view label, ByteView data);

  std::string name_;
  std::array<uint8_t, 64> state_{};
  Tamper* tamper_;
  bool drew_zero_ = false;
};

}  // namespace zkapex
