// The one seam for tests: stands between a run and what it says, and sees and may replace what it draws. Honest runs
// have none. Malicious provers, the programmed oracle of a simulator and the record of a transcript are made of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "algebra/scalar.h"

namespace zkapex {

enum class TranscriptStep : uint8_t { kAbsorb = 1, kChallenge = 2, kFork = 3 };

class Tamper {
 public:
  virtual ~Tamper() = default;
  // Hears of every step of every transcript, in order.
  virtual void step(const std::string& /*transcript*/, TranscriptStep /*kind*/, std::string_view /*label*/) {}
  // What takes the place of the challenge that was drawn.
  virtual Scalar challenge(const std::string& /*transcript*/, std::string_view /*label*/, const Scalar& drawn) {
    return drawn;
  }
  // May change `values` before they are sealed. Where they must meet Σ coefficients · values = claim, that equation is
  // given.
  virtual void send(const std::string& /*transcript*/, std::string_view /*label*/, std::span<Scalar> /*values*/,
                    std::span<const Scalar> /*coefficients*/, const Scalar& /*claim*/) {}
};

}  // namespace zkapex
