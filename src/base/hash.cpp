#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>

namespace zkapex {

namespace {

// The algorithm comes from a library context of our own. Such a context reads no configuration file, so nothing in the
// system's OpenSSL settings can take SHA-2 away, and what is left to fail is memory: std::bad_alloc, as for a vector.
void require(bool success) {
  if (!success) throw std::bad_alloc();
}

template <size_t kSize>
const EVP_MD* algorithm() {
  // Lives as long as the process: OpenSSL tears itself down at exit, in an order of its own.
  static const EVP_MD* const md = [] {
    OSSL_LIB_CTX* library = OSSL_LIB_CTX_new();
    require(library != nullptr);
    const EVP_MD* fetched = EVP_MD_fetch(library, kSize == 32 ? "SHA256" : "SHA512", nullptr);
    require(fetched != nullptr);
    return fetched;
  }();
  return md;
}

}  // namespace

template <size_t kSize>
void Sha2<kSize>::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

template <size_t kSize>
Sha2<kSize>::Sha2() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm<kSize>(), nullptr) == 1);
}

template <size_t kSize>
void Sha2<kSize>::update(ByteView bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

template <size_t kSize>
typename Sha2<kSize>::Digest Sha2<kSize>::finish() {
  Digest out;
  require(EVP_DigestFinal_ex(context_.get(), out.data(), nullptr) == 1 &&
          EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1);
  return out;
}

template class Sha2<32>;
template class Sha2<64>;

Sha256::Digest sha256(ByteView bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Sha512::Digest sha512(ByteView bytes) {
  Sha512 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace zkapex
