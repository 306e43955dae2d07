// DSSE envelopes from strangers: what is accepted has one form, which is accepted again.
#include <cstdlib>

#include "log/dsse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const auto envelope = Envelope::decode({reinterpret_cast<const char*>(data), size});
  if (!envelope.ok()) return 0;
  const auto again = Envelope::decode(envelope->encode());
  if (!again.ok() || !(*again == *envelope)) std::abort();
  return 0;
}
