// Arbitrary bytes as config.json: never a crash, and what is accepted has sizes that divide as they must.
#include <cstdlib>
#include <string_view>

#include "data/documents.h"
#include "data/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = zkapex::parse_json({reinterpret_cast<const char*>(data), size});
  if (!document.ok()) return 0;
  const auto config = zkapex::parse_model_config(*document);
  if (!config.ok()) return 0;
  if (config->heads < 1 || config->hidden % config->heads != 0 || config->layers < 1) std::abort();
  if (config->vit() && (config->vit()->patches() < 1 || config->vit()->classes < 1)) std::abort();
  return 0;
}
