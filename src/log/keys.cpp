#include "log/keys.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sys/stat.h>

#include "base/secret.h"

namespace zkapex {

namespace {

constexpr size_t kEd25519Bytes = crypto_sign_ed25519_PUBLICKEYBYTES;
constexpr size_t kMaxKeyFile = 4096;
// Everything in SubjectPublicKeyInfo before the key itself (RFC 8410; RFC 5480 with the named curve, uncompressed).
constexpr std::array<uint8_t, 12> kEd25519Prefix = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                    0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::array<uint8_t, 27> kP256Prefix = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                                 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                                 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
constexpr size_t kP256Coordinates = 64;

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioFree>;
struct DigestFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, DigestFree>;
using Key = std::shared_ptr<evp_pkey_st>;

Key owned(EVP_PKEY* key) { return Key(key, &EVP_PKEY_free); }

bool starts_with(ByteView bytes, ByteView prefix) {
  return bytes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

Key key_of_spki(ByteView der) {
  const uint8_t* at = der.data();
  return owned(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
}

// Ed25519 hashes by itself.
const EVP_MD* digest_for(KeyAlgorithm algorithm) {
  return algorithm == KeyAlgorithm::kEd25519 ? nullptr : EVP_sha256();
}

Result<PublicKey> public_part(const Key& key) {
  uint8_t* der = nullptr;
  const int length = i2d_PUBKEY(key.get(), &der);
  if (length <= 0) return error("OpenSSL gives no public key");
  const Bytes spki(der, der + length);
  OPENSSL_free(der);
  return PublicKey::from_spki(spki);
}

}  // namespace

std::string_view name(KeyAlgorithm algorithm) {
  return algorithm == KeyAlgorithm::kEd25519 ? "ed25519" : "ecdsa-p256-sha256";
}

Result<PublicKey> PublicKey::from_ed25519(ByteView key) {
  if (key.size() != kEd25519Bytes) return error("an Ed25519 key has {} bytes, not {}", kEd25519Bytes, key.size());
  Bytes spki(kEd25519Prefix.begin(), kEd25519Prefix.end());
  spki.insert(spki.end(), key.begin(), key.end());
  return PublicKey(KeyAlgorithm::kEd25519, std::move(spki));
}

Result<PublicKey> PublicKey::from_spki(ByteView der) {
  if (starts_with(der, kEd25519Prefix)) return from_ed25519(der.subspan(kEd25519Prefix.size()));
  if (!starts_with(der, kP256Prefix) || der.size() != kP256Prefix.size() + kP256Coordinates)
    return error("this is no public key of Ed25519 or P-256 (SubjectPublicKeyInfo, uncompressed)");
  const Key key = key_of_spki(der);
  if (!key) {
    ERR_clear_error();
    return error("this public key is no point of P-256");
  }
  return PublicKey(KeyAlgorithm::kP256, Bytes(der.begin(), der.end()));
}

ByteView PublicKey::raw() const {
  const size_t length = algorithm_ == KeyAlgorithm::kEd25519 ? kEd25519Bytes : 1 + kP256Coordinates;
  return ByteView(spki_).last(length);
}

std::string PublicKey::id() const { return to_hex(sha256(spki_)); }

std::string PublicKey::pem() const {
  const Key key = key_of_spki(spki_);
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!key || !bio || PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1) return {};
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(length)};
}

bool PublicKey::verifies(ByteView message, ByteView signature) const {
  if (algorithm_ == KeyAlgorithm::kEd25519) {
    return signature.size() == crypto_sign_ed25519_BYTES &&
           crypto_sign_ed25519_verify_detached(signature.data(), message.data(), message.size(), raw().data()) == 0;
  }
  const Key key = key_of_spki(spki_);
  const DigestContext context(EVP_MD_CTX_new());
  const bool out =
      key && context && EVP_DigestVerifyInit(context.get(), nullptr, digest_for(algorithm_), nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(), message.size()) == 1;
  ERR_clear_error();
  return out;
}

Result<SigningKey> SigningKey::generate(KeyAlgorithm algorithm) {
  Key key = owned(algorithm == KeyAlgorithm::kEd25519 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                                      : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (!key) return error("OpenSSL makes no key");
  ZKAPEX_TRY(PublicKey public_key, public_part(key));
  return SigningKey(std::move(key), std::move(public_key));
}

Result<SigningKey> SigningKey::from_seed(ByteView seed) {
  Key key = owned(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  if (!key) {
    ERR_clear_error();
    return error("a seed of Ed25519 has 32 bytes");
  }
  ZKAPEX_TRY(PublicKey public_key, public_part(key));
  return SigningKey(std::move(key), std::move(public_key));
}

Result<SigningKey> SigningKey::read(const Path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
    return error("{} is readable by others than its owner: chmod 600 it", file.string());
  ZKAPEX_TRY(const SecretBytes text, read_secret_file(file, kMaxKeyFile));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // An empty password, so that nobody is asked for one.
  Key key = bio ? owned(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>(""))) : nullptr;
  ERR_clear_error();
  if (!key) return error("{} is no secret key (PKCS #8 in PEM, without a password)", file.string());
  Result<PublicKey> public_key = public_part(key);
  if (!public_key) return error("{} is no key of Ed25519 or P-256", file.string());
  return SigningKey(std::move(key), *std::move(public_key));
}

Status SigningKey::write(const Path& file) const {
  const Bio bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return error("OpenSSL does not write the key");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return write_file(file, view({text, static_cast<size_t>(length)}), {.secret = true});
}

Result<Bytes> SigningKey::sign(ByteView message) const {
  const DigestContext context(EVP_MD_CTX_new());
  const EVP_MD* digest = digest_for(public_key_.algorithm());
  size_t length = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &length, message.data(), message.size()) != 1)
    return error("OpenSSL does not sign");
  Bytes out(length);
  if (EVP_DigestSign(context.get(), out.data(), &length, message.data(), message.size()) != 1)
    return error("OpenSSL does not sign");
  out.resize(length);
  return out;
}

}  // namespace zkapex
