#include "parties/verdict_values.h"

#include "base/names.h"

namespace zkapex {

std::string certified_error(const Deployment& deployment, Operator op) {
  return op == Operator::kMaskOnly ? "0" : deployment.parameters().error.text();
}

std::vector<std::string> loose_parameters(const Deployment& deployment, const Mask& mask) {
  std::vector<std::string> out = deployment.loose();
  for (std::string& sentence : mask.loose()) out.push_back(std::move(sentence));
  return out;
}

std::vector<std::string> not_proved_by_registration(const Deployment& deployment) {
  std::vector<std::string> out{"that the curvature was computed from the client's own data"};
  if (!deployment.anchor()) return out;  // said where parameters are loose
  out.emplace_back(
      "that the model was trained from the base model: tensors that it holds are near it in norm, which is less");
  const auto name_tensors = [&](Anchored kind, std::string_view sentence) {
    const std::vector<std::string> names = tensors_anchored(deployment, kind);
    if (!names.empty()) out.push_back(fmt::format("{}: {}", sentence, fmt::join(summarize_names(names), ", ")));
  };
  name_tensors(Anchored::kFree, "that tensors which the deployment leaves free are near the base model's");
  name_tensors(Anchored::kAdded, "that tensors which the base model does not have are anything but small");
  return out;
}

std::vector<std::string> not_proved_by_window(const Deployment& deployment) {
  std::vector<std::string> out = not_proved_by_registration(deployment);
  out.emplace_back("that the client uses the new model and keeps no copy of the old one");
  return out;
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
    out["not_proved"] = not_proved_by_window(deployment);
  }
  out["proof_bytes"] = judgement.proof_bytes;
  if (judgement.proof_bytes > 0) out["proof_sha256"] = to_hex(judgement.proof);
  return out;
}

nlohmann::ordered_json published_as_json(const Mask& mask, bool first) {
  return {{"window", mask.window}, {"mask", to_hex(mask.digest())}, {"published_before", !first}};
}

nlohmann::ordered_json as_json(const Deployment& deployment, const Admission& admission) {
  nlohmann::ordered_json out;
  out["verdict"] = admission.rejection ? "rejected" : "accepted";
  if (admission.rejection) put_rejection(*admission.rejection, out);
  if (!admission.client.empty()) {
    out["client"] = admission.client;
    out["registration"] = to_hex(admission.registration);
  }
  if (!admission.rejection) {
    out["known_before"] = admission.known;
    out["not_proved"] = not_proved_by_registration(deployment);
  }
  out["registration_bytes"] = admission.registration_bytes;
  return out;
}

nlohmann::ordered_json as_json(const Deployment& deployment, const UpdateAdmission& admission) {
  nlohmann::ordered_json out;
  out["verdict"] = admission.rejection ? "rejected" : "accepted";
  if (admission.rejection) put_rejection(*admission.rejection, out);
  if (!admission.client.empty()) out["client"] = admission.client;
  if (admission.update) out["update"] = to_hex(*admission.update);
  if (admission.registration) out["registration"] = to_hex(*admission.registration);
  if (admission.start) out["starts_from"] = to_hex(*admission.start);
  if (!admission.rejection) {
    out["known_before"] = admission.known;
    if (admission.next) out["leads_to"] = to_hex(*admission.next);
    out["curvature"] = admission.curvature ? "new" : "as before";
    out["not_proved"] = not_proved_by_window(deployment);
    out["not_proved"].push_back("that nothing of what was unlearned was learned again from data");
  }
  out["update_bytes"] = admission.update_bytes;
  return out;
}

}  // namespace zkapex
