// zkapex provider init: a folder with keys, records and an empty log.
#include <fmt/format.h>

#include <memory>

#include "cli/service/provider.h"
#include "cli/work.h"
#include "service/provider_folder.h"

namespace zkapex::cli {

namespace {

struct ProviderInitOptions {
  CommonFlags common;
  Path folder, deployment, base, certificate, key, s3_credentials;
  ProviderSettings settings;
  S3Location s3;
  unsigned port = 8470, admin_port = 8471;
  std::string store;
};

Result<Outcome> run_provider_init(ProviderInitOptions options) {
  ProviderSettings& settings = options.settings;
  std::error_code failed;
  const auto absolute = [&](const Path& path) { return std::filesystem::absolute(path, failed).string(); };
  if (!options.base.empty()) settings.base = absolute(options.base);
  if (!options.certificate.empty()) settings.tls_certificate = absolute(options.certificate);
  if (!options.key.empty()) settings.tls_key = absolute(options.key);
  if (!options.store.empty()) settings.store = options.store;
  if (!options.s3.endpoint.empty()) {
    if (!options.s3_credentials.empty()) options.s3.credentials = absolute(options.s3_credentials);
    settings.s3 = options.s3;
  } else if (!options.s3.bucket.empty() || !options.s3.region.empty() || !options.s3_credentials.empty()) {
    return error("give --s3-endpoint with the other options of S3");
  }
  settings.port = static_cast<uint16_t>(options.port);
  settings.admin_port = static_cast<uint16_t>(options.admin_port);
  ZKAPEX_CHECK(ProviderFolder::init(options.folder, settings, options.deployment, system_time()));
  ZKAPEX_TRY(const ProviderFolder provider, ProviderFolder::open(options.folder));
  const Report report{fmt::format("made {}", options.folder.string()),
                      {{"folder", options.folder.string()},
                       {"origin", settings.origin},
                       {"log_key", provider.notice().log.vkey()},
                       {"statement_key", provider.notice().provider.id()},
                       {"store", settings.store},
                       {"deployment", to_hex(provider.notice().deployment)}}};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_provider_init(Command provider, Action& action) {
  const auto options = std::make_shared<ProviderInitOptions>();
  ProviderSettings& settings = options->settings;
  const Command command = provider.add_command("init", "Make the provider's folder: keys, records, an empty log");
  offer_provider_folder(command, options->folder);
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--base", options->base, "The base model that the deployment is anchored at: safetensors");
  command.add_option("--origin", settings.origin, "The log's name, for good: a URL without its scheme").required();
  command.add_option("--store", options->store, "postgresql://… in place of a SQLite file in the folder");
  command.add_option("--s3-endpoint", options->s3.endpoint, "https://…, to keep uploads in S3 in place of the folder");
  command.add_option("--s3-bucket", options->s3.bucket, "its bucket");
  command.add_option("--s3-region", options->s3.region, "and region");
  command.add_option("--s3-credentials", options->s3_credentials,
                     "File with access_key and secret_key; otherwise the environment has them");
  command.add_option("--address", settings.address, "Where clients reach it: an address of numbers").shows_default();
  command.add_option("--port", options->port, "and its port").between(0, 65'535).shows_default();
  command.add_option("--admin-port", options->admin_port, "Port of the operator's listener, on 127.0.0.1")
      .between(0, 65'535)
      .shows_default();
  command.add_option("--tls-certificate", options->certificate, "PEM, to serve HTTPS");
  command.add_option("--tls-key", options->key, "and its key, PEM, readable by its owner only");
  command.add_flag("--clients-carry-state", settings.carried,
                   "Keep only digests of clients' commitments: clients send them along with what they hand in");
  command.add_option("--retention-days", settings.retention_days, "How long uploads are kept after their verdict")
      .shows_default();
  command.add_option("--verdict-seconds", settings.verdict_seconds, "A verdict is promised within that time")
      .shows_default();
  options->common.offer_json(command);
  command.footer(
      "The folder has two keys, each readable by its owner only: log-key.pem signs checkpoints and is needed by the\n"
      "role log alone, statement-key.pem signs windows, verdicts and receipts. Keep copies of both: "
      "docs/operations.md.\n"
      "provider.json has what is given here, and may be edited while the service does not run.");
  command.runs(action, [options] { return run_provider_init(*options); });
}

}  // namespace zkapex::cli
