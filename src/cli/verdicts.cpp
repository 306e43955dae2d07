#include "cli/verdicts.h"

#include "base/names.h"

namespace zkapex::cli {

std::string certified_error(const Deployment& deployment, Operator op) {
  return op == Operator::kMaskOnly ? "0" : deployment.parameters().error.text();
}

std::vector<std::string> loose_parameters(const Deployment& deployment, const Mask& mask) {
  std::vector<std::string> out = deployment.loose();
  for (std::string& sentence : mask.loose()) out.push_back(std::move(sentence));
  return out;
}

std::vector<std::string> not_proved() {
  return {"that the curvature was computed from the client's own data",
          "that the client uses the new model and keeps no copy of the old one"};
}

std::string verdict_line(const std::optional<Rejection>& rejection, const std::string& accepted) {
  if (!rejection) return accepted;
  return fmt::format("rejected ({}): {}", name(rejection->reason), rejection->detail);
}

void put_rejection(const Rejection& rejection, nlohmann::ordered_json& out) {
  out["reason"] = name(rejection.reason);
  out["detail"] = rejection.detail;
  out["advice"] = advice(rejection.reason);
}

nlohmann::ordered_json as_json(const Deployment& deployment, const Mask& mask, const Judgement& judgement) {
  nlohmann::ordered_json out;
  out["verdict"] = judgement.rejection ? "rejected" : "accepted";
  if (judgement.rejection) put_rejection(*judgement.rejection, out);
  if (!judgement.client.empty()) out["client"] = judgement.client;
  out["window"] = mask.window;
  if (judgement.registration) out["registration"] = to_hex(*judgement.registration);
  if (judgement.start) out["starts_from"] = to_hex(*judgement.start);
  if (!judgement.rejection) {
    out["leads_to"] = to_hex(judgement.next->digest());
    out["operator"] = name(mask.op);
    out["certified_error"] = certified_error(deployment, mask.op);
    out["masked"] = mask.support.size();
    if (const auto loose = loose_parameters(deployment, mask); !loose.empty()) out["loose"] = loose;
    out["not_proved"] = not_proved();
  }
  out["proof_bytes"] = judgement.proof_bytes;
  if (judgement.proof_bytes > 0) out["proof_sha256"] = to_hex(judgement.proof);
  return out;
}

nlohmann::ordered_json as_json(const Admission& admission) {
  nlohmann::ordered_json out;
  out["verdict"] = admission.rejection ? "rejected" : "accepted";
  if (admission.rejection) put_rejection(*admission.rejection, out);
  if (!admission.client.empty()) {
    out["client"] = admission.client;
    out["registration"] = to_hex(admission.registration);
  }
  if (!admission.rejection) out["known_before"] = admission.known;
  out["registration_bytes"] = admission.registration_bytes;
  return out;
}

nlohmann::ordered_json for_people(nlohmann::ordered_json verdict) {
  for (const char* key : {"verdict", "reason", "detail"}) verdict.erase(key);
  return verdict;
}

}  // namespace zkapex::cli
