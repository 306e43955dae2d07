// zkapex settle: what the provider said about a window reaches the client's state.
#include "parties/settle.h"

#include <fmt/format.h>

#include <memory>

#include "base/hardening.h"
#include "base/names.h"
#include "cli/work.h"

namespace zkapex::cli {

namespace {

struct SettleOptions {
  CommonFlags common;
  SettleRequest request;
  bool rejected = false;
};

Result<Outcome> run_settle(const SettleOptions& options) {
  const SettleRequest& request = options.request;
  if (request.accepted == options.rejected)
    return error("say what the provider's verdict was: --accepted or --rejected");
  ZKAPEX_CHECK(keep_memory_private());
  ZKAPEX_TRY(const SettleReport done, settle(request));
  const char* what = request.accepted
                         ? (done.before ? "accepted, and settled before" : "accepted, and the state moved on")
                         : "rejected, and the state is where it was";
  Report report{.headline = fmt::format("{}: window {} {}", request.client.string(), in_quotes(done.window), what)};
  report.values["window"] = done.window;
  report.values["verdict"] = request.accepted ? "accepted" : "rejected";
  report.values["settled_before"] = done.before;
  report.values["attempts"] = done.attempts;
  if (!done.dropped.empty()) report.values["dropped_windows"] = done.dropped;
  report.values["windows"] = history_as_json(done.windows);
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_settle(Command parent, Action& action) {
  const auto options = std::make_shared<SettleOptions>();
  SettleRequest& request = options->request;
  const Command command = parent.add_command("settle", "Take over what the provider said about a window (client)");
  command.add_option("--client", request.client, "The client's folder").required();
  const Option accepted = command.add_flag("--accepted", request.accepted, "The window was accepted");
  command.add_flag("--rejected", options->rejected, "It was rejected, or never sent").excludes(accepted);
  command.add_option("--window", request.window, "Which window, where several are pending");
  command.add_option("--proof", request.proof, "The proof that was sent, where a window was computed more than once");
  command.add_flag("--all", request.all, "Rejected: all attempts of the window, none of which was accepted");
  options->common.offer_json(command);
  command.footer(
      "unlearn leaves the state after a window in client/pending, and the client's own state as it was. Accepted: the\n"
      "pending state becomes the client's own, the next window starts from it, and the weights before are gone from "
      "the\n"
      "folder; other windows that were pending started from there too: they are dropped and named. Rejected: the "
      "attempt is removed, and unlearn can be run again. Where a window was computed more than "
      "once,\n"
      "--proof says which attempt is meant: another may be the one that the provider accepted. A rejection (window) "
      "says\n"
      "that one was: settle that one as accepted. Interrupted, the same command goes on.\n\n"
      "Examples:\n"
      "  zkapex settle --client client --accepted\n"
      "  zkapex settle --client client --rejected --window 2026-11\n"
      "  zkapex settle --client client --accepted --proof proof.zka");
  command.runs(action, [options] { return run_settle(*options); });
}

}  // namespace zkapex::cli
