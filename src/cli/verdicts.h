// How verdicts are told, to people and to programs. What clients chose (names, folders) is quoted in text, so that it
// cannot be taken for a verdict.
#pragma once

#include "base/json.h"
#include "parties/admission.h"
#include "parties/judge.h"

namespace zkapex::cli {

// How far a certified window may be from its operator.
// Sentences on what of deployment and request asks little of a client.
[[nodiscard]] std::vector<std::string> loose_parameters(const Deployment& deployment, const Mask& mask);
[[nodiscard]] std::string certified_error(const Deployment& deployment, Operator op);

// What every accepted window leaves unproved, as sentences.
[[nodiscard]] std::vector<std::string> not_proved();

[[nodiscard]] std::string verdict_line(const std::optional<Rejection>& rejection, const std::string& accepted);
void put_rejection(const Rejection& rejection, nlohmann::ordered_json& out);
[[nodiscard]] nlohmann::ordered_json as_json(const Deployment& deployment, const Mask& mask,
                                             const Judgement& judgement);
[[nodiscard]] nlohmann::ordered_json as_json(const Admission& admission);

// Named values for people: nothing that the first line says already.
[[nodiscard]] nlohmann::ordered_json for_people(nlohmann::ordered_json verdict);

}  // namespace zkapex::cli
