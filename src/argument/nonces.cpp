#include "argument/nonces.h"

#include <sodium/crypto_stream_chacha20.h>

#include "base/hash.h"
#include "base/random.h"

namespace zkapex {

Result<Nonces> Nonces::create(std::initializer_list<ByteView> bound) {
  Wiped<std::array<uint8_t, 64>> entropy;
  ZKAPEX_CHECK(random_bytes(*entropy));
  Sha512 hash;
  hash.update(view("zkapex nonces 1"));
  hash.update(*entropy);
  for (const ByteView part : bound) {
    ByteWriter length;
    length.u64(part.size());
    hash.update(length.bytes());
    hash.update(part);
  }
  const Wiped<Sha512::Digest> digest(hash.finish());
  Nonces nonces;
  std::copy_n(digest->begin(), nonces.key_->size(), nonces.key_->begin());
  return nonces;
}

void Nonces::rekey(ByteView state) {
  Sha512 hash;
  hash.update(view("zkapex nonces 1, keyed anew"));
  hash.update(*key_);
  hash.update(state);
  const Wiped<Sha512::Digest> digest(hash.finish());
  std::copy_n(digest->begin(), key_->size(), key_->begin());
  used_ = block_->size();
  counter_ = 0;
}

Scalar Nonces::scalar() {
  if (used_ == block_->size()) {
    constexpr uint8_t kNonce[crypto_stream_chacha20_NONCEBYTES] = {};
    block_.clear();
    crypto_stream_chacha20_xor_ic(block_->data(), block_->data(), block_->size(), kNonce, counter_, key_->data());
    counter_ += block_->size() / 64;
    used_ = 0;
  }
  const auto bytes = std::span<const uint8_t, 4096>(*block_).subspan(used_).first<64>();
  used_ += 64;
  return Scalar::from_bytes_wide(bytes);
}

SecretVector<Scalar> Nonces::scalars(size_t count) {
  SecretVector<Scalar> out;
  out.reserve(count);
  for (size_t k = 0; k < count; ++k) out.push_back(scalar());
  return out;
}

}  // namespace zkapex
