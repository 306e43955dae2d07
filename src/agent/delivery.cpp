#include "agent/delivery.h"

#include <algorithm>

#include "attestation/files.h"
#include "exchange/paths.h"
#include "parties/carried_state.h"

namespace zkapex {

namespace {

// What a statement of this agent says of itself, and all that answers to it must repeat.
struct Handed {
  StatementKind kind{};
  Sha256::Digest id{};
  FileReference file;
  std::string client;
  Sha256::Digest deployment{}, registration{};
  std::optional<Sha256::Digest> starts_from = std::nullopt;
  std::string window = {};
  std::optional<Sha256::Digest> mask = std::nullopt;
};

Result<Handed> handed_in(const Envelope& envelope) {
  ZKAPEX_TRY(const Statement statement, decode_statement(envelope.payload));
  const Sha256::Digest id = envelope.payload_digest();
  if (const auto* said = std::get_if<RegistrationNotice>(&statement))
    return Handed{said->kKind, id, said->file, said->client, said->deployment, said->registration};
  if (const auto* said = std::get_if<UpdateNotice>(&statement))
    return Handed{said->kKind, id, said->file, said->client, said->deployment, said->registration, said->starts_from};
  if (const auto* said = std::get_if<SubmissionNotice>(&statement))
    return Handed{said->kKind,       id,           said->file, said->client, said->deployment, said->registration,
                  said->starts_from, said->window, said->mask};
  return error("the statement announces nothing that can be handed in");
}

Result<std::string_view> where_to_announce(StatementKind kind) {
  if (kind == StatementKind::kRegistration) return paths::kRegistrations;
  if (kind == StatementKind::kUpdate) return paths::kUpdates;
  if (kind == StatementKind::kSubmission) return paths::kSubmissions;
  return error("nothing of that kind is handed in");
}

Status check_upload(const UploadNotice& said, const Handed& handed) {
  if (said.of != handed.kind || said.id != handed.id || said.file != handed.file || said.client != handed.client ||
      said.deployment != handed.deployment)
    return error("the provider's receipt is of something else than what was uploaded");
  return Done{};
}

Status check_verdict(const VerdictNotice& said, const Handed& handed) {
  if (said.of != handed.kind || said.id != handed.id || said.file != handed.file || said.client != handed.client ||
      said.deployment != handed.deployment || said.registration != handed.registration ||
      said.starts_from != handed.starts_from || said.window != handed.window || said.mask != handed.mask)
    return error("the provider's verdict is about something else than what was handed in");
  return Done{};
}

}  // namespace

Result<Receipt> prove_logged(const LoggedEnvelope& logged, const LogSight& sight, const Policy& policy,
                             TileSource& log) {
  if (!logged.index || *logged.index >= sight.head.size) return error("it is not in the log yet");
  const std::string entry = logged.envelope.encode();
  Receipt receipt{
      .entry = Bytes(entry.begin(), entry.end()), .index = *logged.index, .proof = {}, .checkpoint = sight.note};
  ZKAPEX_TRY(receipt.proof, inclusion_proof(log, *logged.index, sight.head.size));
  ZKAPEX_CHECK(check_receipt(receipt, view(entry), policy));
  return receipt;
}

Result<bool> Courier::holds(const Sha256::Digest& id) {
  ZKAPEX_TRY(const Reply reply, link_->get(paths::submission(id), 2 * kMaxEntryBytes));
  if (reply.refusal && reply.refusal->kind == ProblemKind::kNotFound) return false;
  if (reply.refusal) return as_error(*reply.refusal);
  ZKAPEX_TRY(const SubmissionAnswer answer, SubmissionAnswer::decode(reply.text()));
  return answer.state != SubmissionState::kAnnounced;
}

Result<Courier::Announced> Courier::ask_for_ticket(const DeliveryFiles& files) {
  ZKAPEX_TRY(Envelope statement, read_envelope(files.statement));
  ZKAPEX_TRY(const Handed handed, handed_in(statement));
  if (!verify_envelope(statement, agent_->key.public_key())) {
    ZKAPEX_TRY(const bool held, holds(handed.id));
    if (held) return Announced{};
    ZKAPEX_TRY(statement, sign_envelope(statement.payload, agent_->key));
    ZKAPEX_CHECK(write_envelope(files.statement, statement));
  }
  ZKAPEX_TRY(const std::string_view path, where_to_announce(handed.kind));
  ZKAPEX_TRY(const Reply reply, link_->post_json(path, statement.encode()));
  if (reply.refusal) return Announced{.refused = reply.refusal};
  ZKAPEX_TRY(UploadTicket ticket, UploadTicket::decode(reply.text()));
  if (ticket.id != handed.id) return error("the provider answers about another statement than the one it was sent");
  return Announced{.ticket = std::move(ticket)};
}

Result<Refused> Courier::announce(const DeliveryFiles& files) {
  ZKAPEX_TRY(Announced announced, ask_for_ticket(files));
  return std::move(announced.refused);
}

Result<Refused> Courier::send_state(const UploadTicket& ticket, Status& known) {
  if (ticket.state.empty()) return Refused();
  ZKAPEX_TRY(std::vector<Bytes> own, carried_state({client_}));
  for (const FileReference& wanted : ticket.state) {
    const auto file = std::ranges::find_if(own, [&](const Bytes& one) { return reference_to(one) == wanted; });
    if (file == own.end()) {
      known = error("the provider asks for a file that is none of this client's state: {}", to_hex(wanted.sha256));
      continue;
    }
    ZKAPEX_TRY(const Reply reply, link_->put_file(paths::upload_state(ticket.id, wanted.sha256), *file));
    if (reply.refusal) return Refused(reply.refusal);
  }
  return Refused();
}

Result<Refused> Courier::upload(const DeliveryFiles& files) {
  ZKAPEX_TRY(const Envelope statement, read_envelope(files.statement));
  ZKAPEX_TRY(const Handed handed, handed_in(statement));
  ZKAPEX_TRY(Bytes file, read_file(files.file, kMaxPublicFile));
  if (reference_to(file) != handed.file)
    return error("{} is not the file that was announced any more", files.file.string());
  Status known = Done{};
  if (agent_->provider.carried) {
    ZKAPEX_TRY(Announced announced, ask_for_ticket(files));
    if (!announced.refused && announced.ticket) {
      ZKAPEX_TRY(announced.refused, send_state(*announced.ticket, known));
    }
    if (announced.refused) return std::move(announced.refused);
  }
  const Result<Reply> sent = link_->put_file(paths::upload(handed.id), std::move(file));
  if (!sent && !known) return error("{}; {}", sent.error().message, known.error().message);
  ZKAPEX_TRY(const Reply reply, sent);
  if (reply.refusal && reply.refusal->kind == ProblemKind::kNotFound) {
    ZKAPEX_TRY(const Refused refused, announce(files));
    if (refused) return refused;
    return error("the provider did not know what was announced; it was announced again");
  }
  if (reply.refusal) return Refused(reply.refusal);
  ZKAPEX_TRY(const Envelope receipt, Envelope::decode(reply.text()));
  ZKAPEX_TRY(const UploadNotice said, open_statement<UploadNotice>(receipt, agent_->provider.provider));
  ZKAPEX_CHECK(check_upload(said, handed));
  ZKAPEX_CHECK(write_envelope(files.received, receipt));
  return Refused();
}

Result<Courier::Outcome> Courier::ask_for_verdict(const DeliveryFiles& files, const LogSight& sight) {
  ZKAPEX_TRY(const Envelope statement, read_envelope(files.statement));
  ZKAPEX_TRY(const Handed handed, handed_in(statement));
  ZKAPEX_TRY(const Reply reply, link_->get(paths::submission(handed.id), 2 * kMaxEntryBytes));
  std::optional<SubmissionAnswer> answer;
  if (!reply.refusal) {
    ZKAPEX_TRY(answer, SubmissionAnswer::decode(reply.text()));
    if (answer->id != handed.id) return error("the provider answers about something else than what was asked for");
  } else if (reply.refusal->kind != ProblemKind::kNotFound) {
    return as_error(*reply.refusal);
  }
  if (!answer || answer->state == SubmissionState::kAnnounced) {
    // It has lost what it signed for: it gets it once more.
    ZKAPEX_TRY(const Refused refused, upload(files));
    return Outcome{.refused = refused};
  }
  if (!answer->verdict || !answer->verdict->index || *answer->verdict->index >= sight.head.size) return Outcome{};
  const Envelope& verdict = answer->verdict->envelope;
  ZKAPEX_TRY(const VerdictNotice said, open_statement<VerdictNotice>(verdict, agent_->provider.provider));
  ZKAPEX_CHECK(check_verdict(said, handed));
  ZKAPEX_TRY(const Receipt receipt, prove_logged(*answer->verdict, sight, agent_->policy, *log_));
  ZKAPEX_CHECK(write_file(files.receipt, view(receipt.encode()), {.overwrite = true, .secret = true}));
  ZKAPEX_CHECK(write_envelope(files.verdict, verdict));
  return Outcome{.verdict = said};
}

Result<VerdictNotice> read_verdict(const DeliveryFiles& files) {
  ZKAPEX_TRY(const Envelope envelope, read_envelope(files.verdict));
  return VerdictNotice::decode(envelope.payload);
}

Result<UploadNotice> read_upload_receipt(const DeliveryFiles& files) {
  ZKAPEX_TRY(const Envelope envelope, read_envelope(files.received));
  return UploadNotice::decode(envelope.payload);
}

}  // namespace zkapex
