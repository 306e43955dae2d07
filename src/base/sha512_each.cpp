#include <algorithm>

#include "base/hash.h"

namespace zkapex {

#if defined(__x86_64__)
// sha512_each_avx512.cpp: of blocks as messages and their padding make them.
void sha512_blocks_avx512(const uint8_t (*blocks)[128], uint8_t (*digests)[64]);
#endif

void sha512_each(ByteView messages, size_t size, std::span<Sha512::Digest> digests,
                 [[maybe_unused]] InstructionSet set) {
  size_t done = 0;
#if defined(__x86_64__)
  constexpr size_t kLanes = 8, kBlock = 128, kOfPadding = 17;  // a one, then the length in sixteen bytes
  if (set >= InstructionSet::kAvx512 && size + kOfPadding <= kBlock) {
    uint8_t blocks[kLanes][kBlock] = {}, out[kLanes][sizeof(Sha512::Digest)];
    for (auto& block : blocks) {
      block[size] = 0x80;
      block[kBlock - 2] = static_cast<uint8_t>(8 * size >> 8);
      block[kBlock - 1] = static_cast<uint8_t>(8 * size);
    }
    for (; done < digests.size(); done += std::min(kLanes, digests.size() - done)) {
      const size_t count = std::min(kLanes, digests.size() - done);
      for (size_t k = 0; k < count; ++k) std::ranges::copy(messages.subspan((done + k) * size, size), blocks[k]);
      sha512_blocks_avx512(blocks, out);
      for (size_t k = 0; k < count; ++k) std::ranges::copy(out[k], digests[done + k].begin());
    }
  }
#endif
  Sha512 hash;  // a new one for each digest would take as long as hashing
  for (; done < digests.size(); ++done) {
    hash.update(messages.subspan(done * size, size));
    digests[done] = hash.finish();
  }
}

}  // namespace zkapex
