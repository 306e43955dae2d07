// Verdicts as named values: the same for programs, libraries and services.
#pragma once

#include "base/json.h"
#include "parties/admission.h"
#include "parties/judge.h"

namespace zkapex {

// Sentences on what of deployment and request asks little of a client.
[[nodiscard]] std::vector<std::string> loose_parameters(const Deployment& deployment, const Mask& mask);
// How far a certified window may be from its operator.
[[nodiscard]] std::string certified_error(const Deployment& deployment, Operator op);

// What every accepted registration leaves unproved, and every window, as sentences.
[[nodiscard]] std::vector<std::string> not_proved_by_registration(const Deployment& deployment);
[[nodiscard]] std::vector<std::string> not_proved_by_window(const Deployment& deployment);

void put_rejection(const Rejection& rejection, nlohmann::ordered_json& out);
[[nodiscard]] nlohmann::ordered_json as_json(const Deployment& deployment, const Mask& mask,
                                             const Judgement& judgement);
// Of a request that the ledger knows from now on, or knew before.
[[nodiscard]] nlohmann::ordered_json published_as_json(const Mask& mask, bool first);
[[nodiscard]] nlohmann::ordered_json as_json(const Deployment& deployment, const Admission& admission);
[[nodiscard]] nlohmann::ordered_json as_json(const Deployment& deployment, const UpdateAdmission& admission);

}  // namespace zkapex
