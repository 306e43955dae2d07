// Arbitrary bytes as an agent's configuration, as an order, and as what a provider answers: never a crash, and a
// configuration that is read is written as it was read.
#include <cstdlib>

#include "agent/config.h"
#include "agent/update_order.h"
#include "exchange/answers.h"
#include "exchange/problem.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto config = zkapex::AgentConfig::decode(text); config.ok()) {
    const auto again = zkapex::AgentConfig::decode(config->encode());
    if (!again.ok() || !(*again == *config)) std::abort();
  }
  (void)zkapex::UpdateOrder::decode(text);
  (void)zkapex::Problem::decode(text);
  (void)zkapex::WindowsAnswer::decode(text);
  (void)zkapex::SubmissionAnswer::decode(text);
  (void)zkapex::UploadTicket::decode(text);
  (void)zkapex::EnrolmentAnswer::decode(text);
  (void)zkapex::DeploymentAnswer::decode(text);
  return 0;
}
