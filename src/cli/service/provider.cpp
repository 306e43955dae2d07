// zkapex provider: the provider's service, from its folder to its compliance.
#include "cli/service/provider.h"

#include "cli/network/names.h"

namespace zkapex::cli {

void offer_provider_folder(Command command, std::filesystem::path& folder) {
  folder = "provider";
  command.add_option("--folder", folder, "The provider's folder").shows_default();
}

void add_provider(Command parent, Action& action) {
  const Command provider = parent.add_command(kProvider.name, kProvider.about);
  provider.needs_command();
  add_provider_init(provider, action);
  add_provider_run(provider, action);
  add_provider_code(provider, action);
  add_provider_request(provider, action);
  add_provider_status(provider, action);
  add_provider_export(provider, action);
  provider.footer(
      "A service, from beginning to end:\n"
      "  zkapex provider init    --deployment deployment.zka --base theta0.safetensors --origin example.com/log\n"
      "  zkapex provider run     until SIGTERM: HTTP, verification and the log in one process\n"
      "  zkapex provider code    --person 'Alice Example'\n"
      "  zkapex provider request --mask psi.zka --days 14\n"
      "  zkapex provider status\n"
      "  zkapex provider export  --window 2026-11 -o compliance.csv\n\n"
      "docs/operations.md has keys, backup, TLS and capacity.");
}

}  // namespace zkapex::cli
