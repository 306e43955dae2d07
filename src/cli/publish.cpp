// zkapex publish: a request enters the provider's ledger before clients know it.
#include <fmt/format.h>

#include <memory>

#include "attestation/inputs.h"
#include "base/names.h"
#include "cli/work.h"
#include "parties/ledger.h"
#include "parties/verdict_values.h"

namespace zkapex::cli {

namespace {

struct PublishOptions {
  CommonFlags common;
  Path ledger, mask;
};

Result<Outcome> run_publish(const PublishOptions& options) {
  ZKAPEX_TRY(const Ledger ledger, Ledger::open(options.ledger));
  ZKAPEX_TRY(const Mask mask, read_mask(options.mask, ledger.deployment()));
  ZKAPEX_TRY(const bool first, ledger.publish(mask));
  const Report report{.headline = fmt::format("{}: window {} {}", options.ledger.string(), in_quotes(mask.window),
                                              first ? "is published from now on" : "was published before"),
                      .values = published_as_json(mask, first)};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_publish(Command parent, Action& action) {
  const auto options = std::make_shared<PublishOptions>();
  const Command command = parent.add_command("publish", "Note a mask in the ledger, before clients get it (provider)");
  command.add_option("--ledger", options->ledger, "The provider's ledger, which admit made").required();
  command.add_option("--mask", options->mask, "The window's mask file").required();
  options->common.offer_json(command);
  command.footer(
      "A client that knows the request can choose a model or a curvature that it changes little. So verify rejects\n"
      "(order) answers that start from a registration or an update that was admitted after the mask was published.\n"
      "Run this before anybody outside sees the mask. The same mask again changes nothing; another one\n"
      "for the same window is refused.\n\n"
      "Example:\n"
      "  zkapex publish --ledger ledger --mask psi.zka");
  command.runs(action, [options] { return run_publish(*options); });
}

}  // namespace zkapex::cli
