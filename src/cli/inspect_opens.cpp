#include "cli/inspect_opens.h"

#include "base/hardening.h"
#include "parties/opens.h"

namespace zkapex::cli {

Result<Outcome> inspect_opens(const CommonFlags& flags, const Path& model, const Path& client, Report& report) {
  ZKAPEX_CHECK(keep_memory_private());
  Work work(flags);
  ZKAPEX_TRY(const OpensReport found, what_it_opens(client, model, work.settings()));
  auto opened = nlohmann::ordered_json::array();
  if (found.settled) opened.push_back("settled state");
  for (const Attempt& attempt : found.attempts)
    opened.push_back(fmt::format("pending window {}, attempt {}", attempt.window, attempt.id));
  report.values["client"] = client.string();
  report.values["opens"] = std::move(opened);
  report.values["windows"] = history_as_json(found.windows);
  if (!found.settled) report.values["differs"] = found.difference;
  report.headline = fmt::format("{}: {}", model.string(),
                                found.any() ? "opens the commitment of this client"
                                            : fmt::format("not the committed model: {}", found.difference));
  return found.any() ? Outcome::kDone : Outcome::kRejected;
}

}  // namespace zkapex::cli
