// Keys that sign: Ed25519, or P-256 with ECDSA and SHA-256 for devices whose hardware has nothing else. A secret key is
// a PKCS #8 file in PEM (what `openssl genpkey` writes), readable by its owner only; a public one travels as
// SubjectPublicKeyInfo.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/files.h"
#include "base/hash.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace zkapex {

enum class KeyAlgorithm { kEd25519, kP256 };
[[nodiscard]] std::string_view name(KeyAlgorithm algorithm);  // "ed25519", "ecdsa-p256-sha256"

class PublicKey {
 public:
  // Accepts the one encoding that each algorithm has here (P-256 uncompressed, on the curve).
  [[nodiscard]] static Result<PublicKey> from_spki(ByteView der);
  [[nodiscard]] static Result<PublicKey> from_ed25519(ByteView key);  // 32 bytes

  [[nodiscard]] KeyAlgorithm algorithm() const { return algorithm_; }
  [[nodiscard]] const Bytes& spki() const { return spki_; }
  [[nodiscard]] ByteView raw() const;     // 32 bytes of Ed25519, 65 of P-256
  [[nodiscard]] std::string id() const;   // hexadecimal SHA-256 of spki(): the keyid of envelopes
  [[nodiscard]] std::string pem() const;  // for other people's tools

  // Ed25519: 64 bytes, strictly as libsodium checks it (no small-order keys, canonical S). P-256: DER.
  [[nodiscard]] bool verifies(ByteView message, ByteView signature) const;

  bool operator==(const PublicKey&) const = default;

 private:
  PublicKey(KeyAlgorithm algorithm, Bytes spki) : algorithm_(algorithm), spki_(std::move(spki)) {}
  KeyAlgorithm algorithm_;
  Bytes spki_;
};

class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> generate(KeyAlgorithm algorithm = KeyAlgorithm::kEd25519);
  // Refuses a file that others than its owner may read.
  [[nodiscard]] static Result<SigningKey> read(const Path& file);
  [[nodiscard]] static Result<SigningKey> from_seed(ByteView seed);  // Ed25519, 32 bytes

  [[nodiscard]] Status write(const Path& file) const;  // a new file, mode 0600
  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] Result<Bytes> sign(ByteView message) const;

 private:
  SigningKey(std::shared_ptr<evp_pkey_st> key, PublicKey public_key)
      : key_(std::move(key)), public_key_(std::move(public_key)) {}

  std::shared_ptr<evp_pkey_st> key_;  // wiped by OpenSSL with the last owner
  PublicKey public_key_;
};

}  // namespace zkapex
