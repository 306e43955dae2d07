// A transcript's manifest as text: one line an event, the transcript's name, then + absorb, ? challenge or > fork, then
// the label.
#pragma once

#include "argument/argument_testing.h"

namespace zkapex::testing {

inline std::string manifest_text(const Manifest& manifest) {
  std::string out;
  for (const Manifest::Event& e : manifest.events) {
    const char* kind = e.kind == TranscriptStep::kAbsorb ? "+" : e.kind == TranscriptStep::kChallenge ? "?" : ">";
    out += fmt::format("{} {} {}\n", e.transcript, kind, e.label);
  }
  return out;
}

// The rounds of a sumcheck.
inline std::string round_events(std::string_view transcript, std::string_view label, unsigned rounds) {
  std::string out;
  for (unsigned k = 0; k < rounds; ++k)
    out += fmt::format("{0} + {1} round {2}\n{0} ? {1} round {2}\n", transcript, label, k);
  return out;
}
// label[0], label[1], ..
inline std::string challenge_events(std::string_view transcript, std::string_view label, unsigned count) {
  std::string out;
  for (unsigned k = 0; k < count; ++k) out += fmt::format("{} ? {}[{}]\n", transcript, label, k);
  return out;
}

inline std::string opening_events(unsigned rounds) {
  std::string out = R"(main + mask
main + mask value
main ? opening
main + blinding
main ? value base
)";
  for (unsigned k = 0; k < rounds; ++k) out += "main + left\nmain + right\nmain ? fold\n";
  return out;
}

// The main transcript from the forks' ends on.
inline std::string reduction_events(const ProofShape& shape) {
  std::string out;
  for (size_t k = 0; k < shape.forks.size(); ++k) out += "main + fork\n";
  out += "main ? beta\n" + round_events("main", "position", shape.position_rounds());
  out += R"(main + t(xi)
main ? beta'
main ? omega
main + T0, T1
main ? e
main + masked factors
main ? lambda
main ? zeta
)";
  return out + opening_events(shape.opening_rounds());
}

}  // namespace zkapex::testing
