#include "agent/config.h"

#include "agent/web_client.h"
#include "base/json.h"
#include "log/strict_json.h"

namespace zkapex {

std::string AgentConfig::encode() const {
  nlohmann::ordered_json out = {{"provider", provider},    {"authorities", authorities},
                                {"client", client},        {"poll_seconds", poll_seconds},
                                {"at_once", at_once},      {"max_guide", max_guide.text()},
                                {"min_masked", min_masked}};
  if (max_masked) out["max_masked"] = *max_masked;
  return out.dump(2) + "\n";
}

Result<AgentConfig> AgentConfig::decode(std::string_view json) {
  ZKAPEX_TRY(const nlohmann::json value, parse_strict_json(json));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(value, "the configuration"));
  AgentConfig out;
  ZKAPEX_TRY(const std::string address, object.text("provider", 2048));
  ZKAPEX_TRY(out.provider, provider_address(address));
  ZKAPEX_TRY(out.authorities, object.text("authorities", 4096));
  ZKAPEX_TRY(out.client, object.text("client", kMaxName));
  ZKAPEX_CHECK(check_pseudonym(out.client));
  ZKAPEX_TRY(const uint64_t poll, object.number("poll_seconds"));
  if (poll < 1 || poll > static_cast<uint64_t>(kLongestPoll))
    return error("poll_seconds is {}: it can be from 1 to {}", poll, kLongestPoll);
  out.poll_seconds = static_cast<int64_t>(poll);
  ZKAPEX_TRY(out.at_once, object.truth("at_once"));
  ZKAPEX_TRY(const std::string guide, object.text("max_guide", 64));
  ZKAPEX_TRY(out.max_guide, Decimal::parse(guide));
  ZKAPEX_TRY(out.min_masked, object.number("min_masked"));
  if (object.has("max_masked")) {
    ZKAPEX_TRY(out.max_masked, object.number("max_masked"));
  }
  ZKAPEX_CHECK(object.finish());
  return out;
}

Result<AgentConfig> read_config(const AgentFolder& folder) {
  std::error_code failed;
  if (!std::filesystem::exists(folder.config(), failed))
    return error("{} is no agent's folder: zkapex agent init makes one", folder.folder.string());
  ZKAPEX_TRY(const Bytes bytes, read_file(folder.config(), AgentConfig::kMaxFileBytes));
  Result<AgentConfig> config = AgentConfig::decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!config) return config.error().within(folder.config().string());
  return config;
}

Result<Envelope> read_envelope(const Path& file) {
  ZKAPEX_TRY(const Bytes bytes, read_file(file, kMaxEntryBytes));
  Result<Envelope> envelope = Envelope::decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!envelope) return envelope.error().within(file.string());
  return envelope;
}

Status write_envelope(const Path& file, const Envelope& envelope) {
  return write_file(file, view(envelope.encode()), {.overwrite = true, .secret = true});
}

Result<AgentIdentity> AgentIdentity::read(const AgentFolder& folder) {
  ZKAPEX_TRY(AgentConfig config, read_config(folder));
  for (const Path& file : {folder.key(), folder.policy(), folder.provider(), folder.enrolment()}) {
    std::error_code failed;
    if (!std::filesystem::exists(file, failed))
      return error("{} is not there: run zkapex agent init again, it goes on where it stopped", file.string());
  }
  ZKAPEX_TRY(SigningKey key, SigningKey::read(folder.key()));
  ZKAPEX_TRY(Policy policy, Policy::read(folder.policy()));
  ZKAPEX_TRY(const Envelope envelope, read_envelope(folder.provider()));
  ZKAPEX_TRY(DeploymentNotice provider, DeploymentNotice::decode(envelope.payload));
  return AgentIdentity{std::move(config), std::move(key), std::move(policy), std::move(provider)};
}

}  // namespace zkapex
