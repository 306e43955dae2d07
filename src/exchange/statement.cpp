#include "exchange/statement.h"

#include "base/names.h"
#include "exchange/statement_json.h"

namespace zkapex {

namespace {

constexpr std::string_view kDeploymentSubject = "deployment.zka", kKeySubject = "key",
                           kRegistrationSubject = "registration.zka", kWindowSubject = "psi.zka",
                           kUpdateSubject = "update.zka", kSubmissionSubject = "proof.zka";

Result<std::vector<Operator>> operators_in(JsonObject& object) {
  ZKAPEX_TRY(const nlohmann::json* list, object.value("operators"));
  if (!list->is_array() || list->empty()) return error("\"operators\" is no list of operators");
  std::vector<Operator> out;
  for (const nlohmann::json& item : *list) {
    if (!item.is_string()) return error("\"operators\" is no list of operators");
    ZKAPEX_TRY(const Operator op, operator_named(item.get_ref<const std::string&>()));
    if (std::find(out.begin(), out.end(), op) != out.end()) return error("\"operators\" has {} twice", name(op));
    out.push_back(op);
  }
  return out;
}

}  // namespace

Bytes DeploymentNotice::encode() const {
  OrderedJson out;
  out["deployment"] = to_hex(deployment);
  out["bytes"] = file.bytes;
  out["log"] = log.vkey();
  OrderedJson key;
  put_public_key(provider, key);
  out["provider"] = std::move(key);
  out["certifiedError"] = certified_error;
  out["anchored"] = anchored;
  out["operators"] = OrderedJson::array();
  for (const Operator op : operators) out["operators"].push_back(name(op));
  out["certificateRequired"] = certificate;
  out["retentionDays"] = retention_days;
  out["verdictSeconds"] = verdict_seconds;
  if (carried) out["clientsCarryState"] = true;
  out["time"] = to_rfc3339(time);
  return write_statement(kKind, kDeploymentSubject, file.sha256, std::move(out));
}

Result<DeploymentNotice> DeploymentNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kDeploymentSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  ZKAPEX_TRY(const std::string vkey, in.text("log", 512));
  ZKAPEX_TRY(NoteKey log, NoteKey::parse(vkey));
  if (log.type != NoteKeyType::kLog) return error("\"log\" of the predicate is not the key of a log");
  ZKAPEX_TRY(JsonObject provider_object, in.object("provider"));
  ZKAPEX_TRY(PublicKey provider, public_key_in(provider_object));
  ZKAPEX_CHECK(provider_object.finish());
  DeploymentNotice out{.file = {statement.sha256, 0},
                       .deployment = {},
                       .log = std::move(log),
                       .provider = std::move(provider),
                       .certified_error = {},
                       .operators = {}};
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_TRY(out.certified_error, in.name("certifiedError"));
  ZKAPEX_TRY(out.anchored, in.truth("anchored"));
  ZKAPEX_TRY(out.operators, operators_in(in));
  ZKAPEX_TRY(out.certificate, in.truth("certificateRequired"));
  ZKAPEX_TRY(out.retention_days, in.number("retentionDays"));
  ZKAPEX_TRY(out.verdict_seconds, in.number("verdictSeconds"));
  if (in.has("clientsCarryState")) {
    ZKAPEX_TRY(out.carried, in.truth("clientsCarryState"));
    if (!out.carried) return error("\"clientsCarryState\" is true, or not there");
  }
  ZKAPEX_TRY(out.time, in.time("time"));
  ZKAPEX_CHECK(in.finish());
  return out;
}

Bytes ClientNotice::encode() const {
  OrderedJson out;
  out["client"] = client;
  out["deployment"] = to_hex(deployment);
  put_public_key(key, out);
  out["rotation"] = rotation;
  if (rotation > 0) out["replaces"] = replaces;
  return write_statement(kKind, kKeySubject, sha256(key.spki()), std::move(out));
}

Result<ClientNotice> ClientNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kKeySubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  ZKAPEX_TRY(PublicKey key, public_key_in(in));
  if (sha256(key.spki()) != statement.sha256) return error("the subject is not the client's key");
  ClientNotice out{.client = {}, .deployment = {}, .key = std::move(key), .rotation = 0, .replaces = {}};
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.rotation, in.number("rotation"));
  if (out.rotation > 0) {
    ZKAPEX_TRY(const Sha256::Digest replaced, in.digest("replaces"));
    out.replaces = to_hex(replaced);
  }
  ZKAPEX_CHECK(in.finish());
  return out;
}

Bytes RegistrationNotice::encode() const {
  OrderedJson out;
  out["client"] = client;
  out["deployment"] = to_hex(deployment);
  out["registration"] = to_hex(registration);
  out["bytes"] = file.bytes;
  out["certificate"] = certificate;
  out["checkpoint"] = json_of(seen);
  return write_statement(kKind, kRegistrationSubject, file.sha256, std::move(out));
}

Result<RegistrationNotice> RegistrationNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kRegistrationSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  RegistrationNotice out;
  out.file.sha256 = statement.sha256;
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.registration, in.digest("registration"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_TRY(out.certificate, in.truth("certificate"));
  ZKAPEX_TRY(out.seen, seen_in(in, "checkpoint"));
  ZKAPEX_CHECK(in.finish());
  return out;
}

Bytes WindowNotice::encode() const {
  OrderedJson out;
  out["window"] = window;
  out["deployment"] = to_hex(deployment);
  out["mask"] = to_hex(mask);
  out["predecessor"] = to_hex(predecessor);
  out["nonce"] = to_hex(nonce);
  out["operator"] = name(op);
  out["bytes"] = file.bytes;
  out["opens"] = to_rfc3339(opens);
  out["deadline"] = to_rfc3339(deadline);
  out["checkpoint"] = json_of(seen);
  return write_statement(kKind, kWindowSubject, file.sha256, std::move(out));
}

Result<WindowNotice> WindowNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kWindowSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  WindowNotice out;
  out.file.sha256 = statement.sha256;
  ZKAPEX_TRY(out.window, in.name("window"));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.mask, in.digest("mask"));
  ZKAPEX_TRY(out.predecessor, in.digest("predecessor"));
  ZKAPEX_TRY(out.nonce, in.digest("nonce"));
  ZKAPEX_TRY(out.op, operator_in(in, "operator"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_TRY(out.opens, in.time("opens"));
  ZKAPEX_TRY(out.deadline, in.time("deadline"));
  ZKAPEX_TRY(out.seen, seen_in(in, "checkpoint"));
  ZKAPEX_CHECK(in.finish());
  if (out.deadline <= out.opens) return error("the deadline of a window is after its opening");
  return out;
}

Bytes UpdateNotice::encode() const {
  OrderedJson out;
  out["client"] = client;
  out["deployment"] = to_hex(deployment);
  out["registration"] = to_hex(registration);
  out["update"] = to_hex(update);
  out["startsFrom"] = to_hex(starts_from);
  out["bytes"] = file.bytes;
  out["curvature"] = curvature;
  return write_statement(kKind, kUpdateSubject, file.sha256, std::move(out));
}

Result<UpdateNotice> UpdateNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kUpdateSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  UpdateNotice out;
  out.file.sha256 = statement.sha256;
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.registration, in.digest("registration"));
  ZKAPEX_TRY(out.update, in.digest("update"));
  ZKAPEX_TRY(out.starts_from, in.digest("startsFrom"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_TRY(out.curvature, in.truth("curvature"));
  ZKAPEX_CHECK(in.finish());
  return out;
}

Bytes SubmissionNotice::encode() const {
  OrderedJson out;
  out["client"] = client;
  out["window"] = window;
  out["deployment"] = to_hex(deployment);
  out["mask"] = to_hex(mask);
  out["registration"] = to_hex(registration);
  out["startsFrom"] = to_hex(starts_from);
  out["bytes"] = file.bytes;
  return write_statement(kKind, kSubmissionSubject, file.sha256, std::move(out));
}

Result<SubmissionNotice> SubmissionNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kSubmissionSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  SubmissionNotice out;
  out.file.sha256 = statement.sha256;
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(out.window, in.name("window"));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.mask, in.digest("mask"));
  ZKAPEX_TRY(out.registration, in.digest("registration"));
  ZKAPEX_TRY(out.starts_from, in.digest("startsFrom"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_CHECK(in.finish());
  return out;
}

namespace {

template <class T>
Result<Statement> decoded_as(ByteView payload) {
  ZKAPEX_TRY(T out, T::decode(payload));
  return Statement(std::move(out));
}

}  // namespace

Result<Statement> decode_statement(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload));
  switch (statement.kind) {
    case StatementKind::kDeployment:
      return decoded_as<DeploymentNotice>(payload);
    case StatementKind::kClient:
      return decoded_as<ClientNotice>(payload);
    case StatementKind::kRegistration:
      return decoded_as<RegistrationNotice>(payload);
    case StatementKind::kWindow:
      return decoded_as<WindowNotice>(payload);
    case StatementKind::kUpdate:
      return decoded_as<UpdateNotice>(payload);
    case StatementKind::kSubmission:
      return decoded_as<SubmissionNotice>(payload);
    case StatementKind::kVerdict:
      return decoded_as<VerdictNotice>(payload);
    case StatementKind::kUpload:
      return decoded_as<UploadNotice>(payload);
  }
  return error("no such statement");
}

Result<ClientNotice> open_client_statement(const Envelope& envelope, const PublicKey* before) {
  ZKAPEX_TRY(ClientNotice out, ClientNotice::decode(envelope.payload));
  ZKAPEX_CHECK(verify_envelope(envelope, out.key));
  if ((out.rotation > 0) != (before != nullptr)) return error("a rotation, and only a rotation, replaces a key");
  if (before == nullptr) return out;
  if (out.replaces != before->id()) return error("the statement replaces another key than the client's");
  ZKAPEX_CHECK(verify_envelope(envelope, *before));
  return out;
}

}  // namespace zkapex
