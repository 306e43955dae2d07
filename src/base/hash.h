// SHA-256 and SHA-512, at once or piece by piece.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/cpu.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace zkapex {

// SHA-2 with a digest of kSize bytes: 32 or 64. A moved-from object may only be assigned to or destroyed.
template <size_t kSize>
class Sha2 {
 public:
  using Digest = std::array<uint8_t, kSize>;

  Sha2();
  void update(ByteView bytes);
  // The digest of all updates since the beginning or the last `finish`; what follows starts a new message.
  [[nodiscard]] Digest finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

using Sha256 = Sha2<32>;
using Sha512 = Sha2<64>;

[[nodiscard]] Sha256::Digest sha256(ByteView bytes);
[[nodiscard]] Sha512::Digest sha512(ByteView bytes);

// Of messages of `size` bytes that follow one another. Those of at most 111 bytes, which make one block, are hashed
// side by side where the processor can.
void sha512_each(ByteView messages, size_t size, std::span<Sha512::Digest> digests,
                 InstructionSet set = instruction_set());

}  // namespace zkapex
