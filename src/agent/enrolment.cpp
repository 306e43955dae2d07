#include "agent/enrolment.h"

#include "exchange/answers.h"
#include "exchange/paths.h"

namespace zkapex {

namespace {

// By both keys; the new one proves that the client has it.
Result<Envelope> statement_of(const SigningKey& next, const SigningKey& current, const ClientNotice& enrolled) {
  const ClientNotice notice{.client = enrolled.client,
                            .deployment = enrolled.deployment,
                            .key = next.public_key(),
                            .rotation = enrolled.rotation + 1,
                            .replaces = current.public_key().id()};
  ZKAPEX_TRY(Envelope out, sign_envelope(notice.encode(), next));
  ZKAPEX_CHECK(add_signature(out, current));
  return out;
}

}  // namespace

Result<KeyAnswer> enrol_key(ProviderLink& link, const std::string& code, const Envelope& statement,
                            const PublicKey& provider) {
  ZKAPEX_TRY(const Reply reply, link.post_json(paths::kClients, EnrolmentRequest{code, statement}.encode()));
  if (reply.refusal) return KeyAnswer{.refused = reply.refusal};
  ZKAPEX_TRY(EnrolmentAnswer answer, EnrolmentAnswer::decode(reply.text()));
  ZKAPEX_CHECK(verify_envelope(answer.client, provider));
  if (answer.client.payload != statement.payload) return error("the provider signed another client than this one");
  return KeyAnswer{.statement = std::move(answer.client)};
}

Status order_new_key(const AgentFolder& folder) {
  ZKAPEX_CHECK(AgentIdentity::read(folder));  // says what to do where there is no agent, or half of one
  std::error_code failed;
  if (std::filesystem::exists(folder.next_key(), failed)) return Done{};
  ZKAPEX_TRY(const SigningKey key, SigningKey::generate());
  return key.write(folder.next_key());
}

Result<KeyReplacement> replace_key(const AgentFolder& folder, AgentIdentity& agent, ProviderLink& link,
                                   const std::function<void()>& between_changes) {
  const auto changed = [&] {
    if (between_changes) between_changes();
  };
  std::error_code failed;
  if (!std::filesystem::exists(folder.next_key(), failed)) return KeyReplacement{};
  ZKAPEX_TRY(SigningKey next, SigningKey::read(folder.next_key()));
  ZKAPEX_TRY(const Envelope last, read_envelope(folder.enrolment()));
  ZKAPEX_TRY(const ClientNotice enrolled, ClientNotice::decode(last.payload));
  if (enrolled.key.id() != next.public_key().id()) {  // else it was stopped before the last change
    ZKAPEX_TRY(const Envelope statement, statement_of(next, agent.key, enrolled));
    Result<KeyAnswer> answer = enrol_key(link, {}, statement, agent.provider.provider);
    if (!answer) return answer.error().within("the new key");
    if (answer->refused) return KeyReplacement{.refused = std::move(answer->refused)};
    changed();
    ZKAPEX_CHECK(write_envelope(folder.enrolment(), answer->statement));
    changed();
  }
  std::filesystem::rename(folder.next_key(), folder.key(), failed);
  if (failed) return error("cannot rename {}: {}", folder.next_key().string(), failed.message());
  ZKAPEX_CHECK(flush_folder_of(folder.key()));
  changed();
  agent.key = std::move(next);
  return KeyReplacement{.done = true};
}

}  // namespace zkapex
