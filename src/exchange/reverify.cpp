#include "exchange/reverify.h"

#include "exchange/signed_file.h"
#include "parties/admission.h"
#include "parties/base_model.h"

namespace zkapex {

Status Reverifier::add(uint64_t index, ByteView entry, const Statement& statement) {
  if (const auto* update = std::get_if<UpdateNotice>(&statement)) {
    ZKAPEX_TRY(const Envelope envelope, Envelope::decode({reinterpret_cast<const char*>(entry.data()), entry.size()}));
    updates_.insert_or_assign(envelope.payload_digest(), *update);
  }
  if (const auto* deployment = std::get_if<DeploymentNotice>(&statement)) return open_deployment(index, *deployment);
  if (const auto* window = std::get_if<WindowNotice>(&statement)) return keep_mask(index, *window);
  if (const auto* verdict = std::get_if<VerdictNotice>(&statement)) return judge_again(index, *verdict);
  return Done{};
}

// The file with that digest; none where it is not at hand. One of that name with other bytes is none either.
Result<std::optional<Bytes>> Reverifier::file(const FileReference& reference, size_t most) const {
  const std::string hex = to_hex(reference.sha256);
  for (const Path& path : {files_ / hex, files_ / "sha256" / hex.substr(0, 2) / hex.substr(2, 2) / hex}) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    ZKAPEX_TRY(Bytes bytes, read_file(path, most));
    if (reference_to(bytes) == reference) return std::optional(std::move(bytes));
  }
  return std::optional<Bytes>();
}

Status Reverifier::open_deployment(uint64_t index, const DeploymentNotice& notice) {
  ZKAPEX_TRY(const std::optional<Bytes> bytes, file(notice.file, Deployment::kMaxFileBytes));
  if (!bytes) return error("the deployment, {}, is not in {}", to_hex(notice.file.sha256), files_.string());
  const Result<Deployment> deployment = Deployment::parse(*bytes);
  if (!deployment || deployment->digest() != notice.deployment || deployment->anchor().has_value() != notice.anchored ||
      deployment->parameters().error.text() != notice.certified_error) {
    findings_.push_back({index, "the deployment's file is not the deployment that is named"});
    return Done{};
  }
  ZKAPEX_TRY(Ledger ledger, Ledger::open_or_create(scratch_, *deployment));
  ledger_.emplace(std::move(ledger));
  // Refers to the deployment, which has to stay where it is.
  ZKAPEX_TRY(base_, open_base_option(base_path_, ledger_->deployment(), *settings_.pool));
  return Done{};
}

Status Reverifier::keep_mask(uint64_t index, const WindowNotice& notice) {
  ZKAPEX_TRY(const std::optional<Bytes> bytes, file(notice.file, Mask::kMaxFileBytes));
  if (!bytes) return Done{};  // its verdicts are missing then
  Result<Mask> mask = Mask::parse(*bytes);
  if (!mask || mask->digest() != notice.mask || mask->window != notice.window || mask->nonce != notice.nonce ||
      mask->predecessor != notice.predecessor || mask->op != notice.op || mask->deployment != notice.deployment) {
    findings_.push_back({index, "the window's file is not the request that is named"});
    return Done{};
  }
  masks_.emplace(notice.mask, *std::move(mask));
  return Done{};
}

Status Reverifier::judge_again(uint64_t index, const VerdictNotice& verdict) {
  std::optional<Outcome> outcome;
  const auto update = updates_.extract(verdict.id);  // there is one verdict on it
  if (ledger_ && !lost_.contains(verdict.client)) {
    ZKAPEX_TRY(std::optional<Bytes> bytes, file(verdict.file, kMaxPublicFile));
    if (bytes) {
      ZKAPEX_TRY(outcome, outcome_of(verdict, update ? &update.mapped() : nullptr, *std::move(bytes)));
    }
  }
  if (!outcome) {
    ++missing_;
    if (verdict.passed()) lost_.insert(verdict.client);
    return Done{};
  }
  ++verified_;
  compare(index, verdict, *outcome);
  return Done{};
}

// None where the window's mask is not at hand.
Result<std::optional<Reverifier::Outcome>> Reverifier::outcome_of(const VerdictNotice& verdict,
                                                                  const UpdateNotice* update, Bytes bytes) {
  const BaseRows* base = base_ ? &*base_ : nullptr;
  Outcome out;
  // The verdict has what the client signed; that it does was looked at before. Of an update it does not have all.
  SignedFor said{verdict.client, verdict.registration, verdict.starts_from};
  if (update != nullptr) said = signed_for(*update);
  if (auto other = not_what_was_signed(verdict.of, bytes, said)) {
    out = {std::move(other), verdict.client, std::nullopt};
  } else if (verdict.of == StatementKind::kRegistration) {
    ZKAPEX_TRY(const Admission admission, admit(*ledger_, base, std::move(bytes), settings_));
    out = {admission.rejection, admission.client, std::nullopt};
    if (!out.rejection) {
      ZKAPEX_TRY(const std::optional<ClientRecord> record, ledger_->find(admission.client));
      out.next = record->current.digest();
    }
  } else if (verdict.of == StatementKind::kUpdate) {
    ZKAPEX_TRY(UpdateAdmission admission, admit_update(*ledger_, base, std::move(bytes), settings_));
    if (admission.known) admission.rejection = accepted_before();
    out = {admission.rejection, admission.client, admission.next};
  } else {
    const auto mask = masks_.find(*verdict.mask);
    if (mask == masks_.end()) return std::optional<Outcome>();
    const Submission submission = [&] { return Result<Bytes, Rejection>(bytes); };
    ZKAPEX_TRY(const std::vector<Judgement> judged, judge(*ledger_, mask->second, {&submission, 1}, settings_));
    ZKAPEX_CHECK(record(*ledger_, mask->second, judged));
    out = {judged[0].rejection, judged[0].client, std::nullopt};
    if (judged[0].next) out.next = judged[0].next->digest();
  }
  return std::optional(std::move(out));
}

void Reverifier::compare(uint64_t index, const VerdictNotice& verdict, const Outcome& outcome) {
  const auto find = [&](std::string what) { findings_.push_back({index, std::move(what)}); };
  if (outcome.rejection && verdict.passed()) {
    find(fmt::format("accepted, and rejected here ({}): {}", name(outcome.rejection->reason),
                     outcome.rejection->detail));
  } else if (!outcome.rejection && !verdict.passed()) {
    find(fmt::format("rejected ({}), and accepted here", name(verdict.rejection->reason)));
  } else if (verdict.passed() && outcome.client != verdict.client) {
    find("the file that was accepted is another client's");
  } else if (verdict.passed() && outcome.next != verdict.leads_to->commitment) {
    find("the file that was accepted leads to another commitment");
  }
}

}  // namespace zkapex
