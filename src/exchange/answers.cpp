#include "exchange/answers.h"

#include <set>

#include "log/strict_json.h"

namespace zkapex {

namespace {

using AnswerJson = nlohmann::ordered_json;

Result<nlohmann::json> answer_json(std::string_view text) {
  if (text.size() > kMaxAnswerBytes) return error("an answer has at most {} bytes", kMaxAnswerBytes);
  return parse_strict_json(text);
}

AnswerJson json_of(const Envelope& envelope) { return AnswerJson::parse(envelope.encode()); }

AnswerJson json_of(const LoggedEnvelope& logged) {
  AnswerJson out;
  out["envelope"] = json_of(logged.envelope);
  if (logged.index) out["index"] = *logged.index;
  return out;
}

Result<Envelope> envelope_in(JsonObject& object, const std::string& key) {
  ZKAPEX_TRY(const nlohmann::json* value, object.value(key));
  return Envelope::from_json(*value);
}

Result<LoggedEnvelope> logged_in(const nlohmann::json& value, const std::string& what) {
  ZKAPEX_TRY(JsonObject object, JsonObject::open(value, what));
  LoggedEnvelope out;
  ZKAPEX_TRY(out.envelope, envelope_in(object, "envelope"));
  if (object.has("index")) {
    ZKAPEX_TRY(out.index, object.number("index"));
  }
  ZKAPEX_CHECK(object.finish());
  return out;
}

// Answers may gain fields: what is not known is passed over. Requests may not.
Result<JsonObject> answer_object(const nlohmann::json& json) { return JsonObject::open(json, "the answer"); }

constexpr SubmissionState kStates[] = {SubmissionState::kAnnounced, SubmissionState::kReceived,
                                       SubmissionState::kAccepted, SubmissionState::kRejected};

}  // namespace

std::string_view name(SubmissionState state) {
  switch (state) {
    case SubmissionState::kAnnounced:
      return "announced";
    case SubmissionState::kReceived:
      return "received";
    case SubmissionState::kAccepted:
      return "accepted";
    case SubmissionState::kRejected:
      return "rejected";
  }
  return "unknown";
}

std::string DeploymentAnswer::encode() const { return AnswerJson{{"deployment", json_of(deployment)}}.dump(); }

Result<DeploymentAnswer> DeploymentAnswer::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, answer_json(text));
  ZKAPEX_TRY(JsonObject object, answer_object(json));
  ZKAPEX_TRY(const nlohmann::json* value, object.value("deployment"));
  DeploymentAnswer out;
  ZKAPEX_TRY(out.deployment, logged_in(*value, "the deployment"));
  return out;
}

std::string WindowsAnswer::encode() const {
  AnswerJson list = AnswerJson::array();
  for (const LoggedEnvelope& window : windows) list.push_back(json_of(window));
  return AnswerJson{{"windows", std::move(list)}}.dump();
}

Result<WindowsAnswer> WindowsAnswer::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, answer_json(text));
  ZKAPEX_TRY(JsonObject object, answer_object(json));
  ZKAPEX_TRY(const nlohmann::json* list, object.value("windows"));
  if (!list->is_array()) return error("\"windows\" of the answer is no list");
  WindowsAnswer out;
  for (const nlohmann::json& value : *list) {
    ZKAPEX_TRY(LoggedEnvelope window, logged_in(value, "a window"));
    out.windows.push_back(std::move(window));
  }
  return out;
}

std::string EnrolmentRequest::encode() const { return AnswerJson{{"code", code}, {"client", json_of(client)}}.dump(); }

Result<EnrolmentRequest> EnrolmentRequest::decode(std::string_view text) {
  if (text.size() > 2 * kMaxEntryBytes) return error("the request has more than {} bytes", 2 * kMaxEntryBytes);
  ZKAPEX_TRY(const nlohmann::json json, parse_strict_json(text));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(json, "the request"));
  EnrolmentRequest out;
  ZKAPEX_TRY(out.code, object.text("code", kMaxCode));
  ZKAPEX_TRY(out.client, envelope_in(object, "client"));
  ZKAPEX_CHECK(object.finish());
  return out;
}

std::string EnrolmentAnswer::encode() const { return AnswerJson{{"client", json_of(client)}}.dump(); }

Result<EnrolmentAnswer> EnrolmentAnswer::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, answer_json(text));
  ZKAPEX_TRY(JsonObject object, answer_object(json));
  EnrolmentAnswer out;
  ZKAPEX_TRY(out.client, envelope_in(object, "client"));
  return out;
}

std::string UploadTicket::encode() const {
  AnswerJson out{{"id", to_hex(id)}, {"upload", upload}};
  for (const FileReference& file : state)
    out["state"].push_back({{"sha256", to_hex(file.sha256)}, {"bytes", file.bytes}});
  return out.dump();
}

Result<UploadTicket> UploadTicket::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, answer_json(text));
  ZKAPEX_TRY(JsonObject object, answer_object(json));
  UploadTicket out;
  ZKAPEX_TRY(out.id, object.digest("id"));
  ZKAPEX_TRY(out.upload, object.text("upload", 2048));
  if (!object.has("state")) return out;
  ZKAPEX_TRY(const nlohmann::json* list, object.value("state"));
  if (!list->is_array()) return error("\"state\" of the answer is no list");
  std::set<Sha256::Digest> listed;
  for (const nlohmann::json& value : *list) {
    ZKAPEX_TRY(JsonObject file, JsonObject::open(value, "a file of the state"));
    FileReference& reference = out.state.emplace_back();
    ZKAPEX_TRY(reference.sha256, file.digest("sha256"));
    ZKAPEX_TRY(reference.bytes, file.number("bytes"));
    if (!listed.insert(reference.sha256).second) return error("the answer asks twice for one file of the state");
  }
  return out;
}

std::string SubmissionAnswer::encode() const {
  AnswerJson out{{"id", to_hex(id)}, {"state", name(state)}};
  if (verdict) out["verdict"] = json_of(*verdict);
  return out.dump();
}

Result<SubmissionAnswer> SubmissionAnswer::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, answer_json(text));
  ZKAPEX_TRY(JsonObject object, answer_object(json));
  SubmissionAnswer out;
  ZKAPEX_TRY(out.id, object.digest("id"));
  ZKAPEX_TRY(const std::string state, object.text("state", 32));
  const auto* at = std::find_if(std::begin(kStates), std::end(kStates), [&](auto s) { return name(s) == state; });
  if (at == std::end(kStates)) return error("the answer has an unknown state");
  out.state = *at;
  if (object.has("verdict")) {
    ZKAPEX_TRY(const nlohmann::json* value, object.value("verdict"));
    ZKAPEX_TRY(out.verdict, logged_in(*value, "the verdict"));
  }
  const bool settled = out.state == SubmissionState::kAccepted || out.state == SubmissionState::kRejected;
  if (settled != out.verdict.has_value()) return error("the answer's state and verdict do not fit");
  return out;
}

}  // namespace zkapex
