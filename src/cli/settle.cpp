// zkapex settle: what the provider said about a window or an update reaches the client's state.
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
  bool rejected = false, update = false;
};

const char* outcome(bool accepted, bool before) {
  if (!accepted) return "rejected, and the state is where it was";
  return before ? "accepted, and settled before" : "accepted, and the state moved on";
}

Result<Outcome> run_settle_update(const SettleOptions& options) {
  const SettleUpdateRequest request{
      .client = options.request.client, .accepted = options.request.accepted, .update = options.request.proof};
  ZKAPEX_TRY(const SettleUpdateReport done, settle_update(request));
  const Report report{
      .headline = fmt::format("{}: update {}", request.client.string(), outcome(request.accepted, done.before)),
      .values = as_json(request, done)};
  report.print(options.common.json);
  return Outcome::kDone;
}

Result<Outcome> run_settle(const SettleOptions& options) {
  const SettleRequest& request = options.request;
  if (request.accepted == options.rejected)
    return error("say what the provider's verdict was: --accepted or --rejected");
  ZKAPEX_CHECK(keep_memory_private());
  if (options.update) return run_settle_update(options);
  ZKAPEX_TRY(const SettleReport done, settle(request));
  const Report report{.headline = fmt::format("{}: window {} {}", request.client.string(), in_quotes(done.window),
                                              outcome(request.accepted, done.before)),
                      .values = as_json(request, done)};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_settle(Command parent, Action& action) {
  const auto options = std::make_shared<SettleOptions>();
  SettleRequest& request = options->request;
  const Command command =
      parent.add_command("settle", "Take over what the provider said about a window or an update (client)");
  command.add_option("--client", request.client, "The client's folder").required();
  const Option accepted = command.add_flag("--accepted", request.accepted, "The window, or the update, was accepted");
  command.add_flag("--rejected", options->rejected, "It was rejected, or never sent").excludes(accepted);
  const Option window = command.add_option("--window", request.window, "Which window, where several are pending");
  command.add_flag("--update", options->update, "The verdict is about an update").excludes(window);
  command.add_option("--proof", request.proof,
                     "What was sent, where a window or an update was computed more than once");
  command.add_flag("--all", request.all, "Rejected: all attempts of the window, none of which was accepted");
  options->common.offer_json(command);
  command.footer(
      "unlearn leaves the state after a window in client/pending, and the client's own state as it was.\n"
      "Accepted: the pending state becomes the client's own, the next window starts from it, and the weights\n"
      "before are gone from the folder, unless the request had a guide: updates have to show that progress from\n"
      "there is kept, so client/past keeps them (zkapex update --help). Other windows that were pending started\n"
      "from there too: they are dropped. Rejected: the attempt is removed, and unlearn can be run again. Where\n"
      "a window was computed more than once, --proof says which attempt is meant: another may be the one that\n"
      "the provider accepted. A rejection (window) says that one was: settle that one as accepted. Interrupted,\n"
      "the same command goes on.\n\n"
      "Examples:\n"
      "  zkapex settle --client client --accepted\n"
      "  zkapex settle --client client --rejected --window 2026-11\n"
      "  zkapex settle --client client --accepted --proof proof.zka\n"
      "  zkapex settle --client client --accepted --update");
  command.runs(action, [options] { return run_settle(*options); });
}

}  // namespace zkapex::cli
