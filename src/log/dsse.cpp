#include "log/dsse.h"

#include "base/names.h"
#include "log/base64.h"
#include "log/strict_json.h"

namespace zkapex {

namespace {

Result<EnvelopeSignature> signature_in(const nlohmann::json& value) {
  ZKAPEX_TRY(JsonObject object, JsonObject::open(value, "a signature of the envelope"));
  EnvelopeSignature out;
  if (object.has("keyid")) {
    ZKAPEX_TRY(out.keyid, object.text("keyid", kMaxName));
  }
  ZKAPEX_TRY(const std::string text, object.text("sig", 1024));
  ZKAPEX_TRY(out.signature, from_base64(text));
  ZKAPEX_CHECK(object.finish());
  return out;
}

}  // namespace

std::string Envelope::encode() const {
  nlohmann::ordered_json out;
  out["payload"] = to_base64(payload);
  out["payloadType"] = kInTotoPayload;
  out["signatures"] = nlohmann::ordered_json::array();
  for (const EnvelopeSignature& signature : signatures)
    out["signatures"].push_back({{"keyid", signature.keyid}, {"sig", to_base64(signature.signature)}});
  return out.dump();
}

Result<Envelope> Envelope::decode(std::string_view text) {
  if (text.size() > kMaxEntryBytes) return error("an envelope has at most {} bytes", kMaxEntryBytes);
  ZKAPEX_TRY(const nlohmann::json json, parse_strict_json(text));
  return from_json(json);
}

Result<Envelope> Envelope::from_json(const nlohmann::json& json) {
  ZKAPEX_TRY(JsonObject object, JsonObject::open(json, "the envelope"));
  Envelope out;
  ZKAPEX_TRY(const std::string type, object.text("payloadType", kMaxName));
  if (type != kInTotoPayload) return error("the envelope's payload is {}, not {}", in_quotes(type), kInTotoPayload);
  ZKAPEX_TRY(const std::string payload, object.text("payload", kMaxEntryBytes));
  ZKAPEX_TRY(out.payload, from_base64(payload));
  ZKAPEX_TRY(const nlohmann::json* signatures, object.value("signatures"));
  ZKAPEX_CHECK(object.finish());
  if (!signatures->is_array() || signatures->empty() || signatures->size() > kMaxSignatures)
    return error("an envelope has 1 to {} signatures", kMaxSignatures);
  for (const nlohmann::json& value : *signatures) {
    ZKAPEX_TRY(EnvelopeSignature signature, signature_in(value));
    out.signatures.push_back(std::move(signature));
  }
  if (out.encode().size() > kMaxEntryBytes) return error("an envelope has at most {} bytes", kMaxEntryBytes);
  return out;
}

Bytes pre_authentication_encoding(ByteView payload) {
  ByteWriter out;
  out.raw(view(fmt::format("DSSEv1 {} {} {} ", kInTotoPayload.size(), kInTotoPayload, payload.size())));
  out.raw(payload);
  return out.take();
}

Result<Envelope> sign_envelope(Bytes payload, const SigningKey& key) {
  Envelope out{.payload = std::move(payload), .signatures = {}};
  ZKAPEX_CHECK(add_signature(out, key));
  return out;
}

Status add_signature(Envelope& envelope, const SigningKey& key) {
  ZKAPEX_TRY(Bytes signature, key.sign(pre_authentication_encoding(envelope.payload)));
  envelope.signatures.push_back({.keyid = key.public_key().id(), .signature = std::move(signature)});
  return Done{};
}

Status verify_envelope(const Envelope& envelope, const PublicKey& key) {
  const Bytes message = pre_authentication_encoding(envelope.payload);
  // The keyid is a hint that anybody may have written: it decides nothing.
  for (const EnvelopeSignature& signature : envelope.signatures) {
    if (key.verifies(message, signature.signature)) return Done{};
  }
  return error("the envelope is not signed by the key {}", key.id().substr(0, 16));
}

}  // namespace zkapex
