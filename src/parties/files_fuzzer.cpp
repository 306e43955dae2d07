// Arbitrary bytes as the public files of attestation, as they are and as the content of one with a right digest, and as
// the header of a secret: never a crash, one encoding each.
#include "attestation/files.h"

#include <cstdlib>

#include "parties/secret_file.h"

namespace {

template <class File>
void fuzz(zkapex::ByteView input) {
  if (const auto file = File::decode(input); file.ok() && !std::ranges::equal(file->encode(), input)) std::abort();
  const zkapex::Bytes framed = zkapex::frame(File::kKind, input);
  if (const auto file = File::decode(framed); file.ok() && file->encode() != framed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const zkapex::ByteView input(data, size);
  fuzz<zkapex::RegistrationFile>(input);
  fuzz<zkapex::ProofFile>(input);
  fuzz<zkapex::UpdateFile>(input);
  fuzz<zkapex::ModelCommitment>(input);
  fuzz<zkapex::Registered>(input);
  if (const auto secret = zkapex::decode_secret_header(input);
      secret.ok() && !std::ranges::equal(zkapex::encode_secret_header(*secret), input)) {
    std::abort();
  }
  return 0;
}
