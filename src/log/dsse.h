// DSSE envelopes of in-toto statements: a payload, and signatures over it and its type.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/json.h"
#include "log/keys.h"
#include "log/tiles.h"

namespace zkapex {

inline constexpr std::string_view kInTotoPayload = "application/vnd.in-toto+json";

struct EnvelopeSignature {
  std::string keyid;  // PublicKey::id(), a hint only
  Bytes signature;
  bool operator==(const EnvelopeSignature&) const = default;
};

struct Envelope {
  static constexpr size_t kMaxSignatures = 4;

  Bytes payload;
  std::vector<EnvelopeSignature> signatures;

  // One line of JSON without a newline: what is logged.
  [[nodiscard]] std::string encode() const;
  // Any JSON of the three fields of an envelope, with an in-toto payload, up to kMaxEntryBytes; encode() of the result
  // is its one form.
  [[nodiscard]] static Result<Envelope> decode(std::string_view text);
  [[nodiscard]] static Result<Envelope> from_json(const nlohmann::json& json);
  // SHA-256 of the payload: the id of what clients send.
  [[nodiscard]] Sha256::Digest payload_digest() const { return sha256(payload); }
  bool operator==(const Envelope&) const = default;
};

// "DSSEv1 SP len(type) SP type SP len(payload) SP payload": the signed bytes.
[[nodiscard]] Bytes pre_authentication_encoding(ByteView payload);

[[nodiscard]] Result<Envelope> sign_envelope(Bytes payload, const SigningKey& key);
// Adds a signature to one that others have signed.
[[nodiscard]] Status add_signature(Envelope& envelope, const SigningKey& key);

// One signature at least is this key's, and holds.
[[nodiscard]] Status verify_envelope(const Envelope& envelope, const PublicKey& key);

}  // namespace zkapex
