#include "service/findings.h"

#include <algorithm>

#include "base/first_error.h"
#include "base/threads.h"
#include "exchange/signed_file.h"
#include "parties/admission.h"
#include "parties/judge.h"

namespace zkapex {

namespace {

// The verdict repeats it, whatever the file turns out to be.
Result<SignedFor> said_of(const Case& one) {
  const Announcement& announced = one.job.delivery.announced;
  const Bytes& entry = announced.entry;
  ZKAPEX_TRY(const Envelope envelope, Envelope::decode({reinterpret_cast<const char*>(entry.data()), entry.size()}));
  ZKAPEX_TRY(const Statement statement, decode_statement(envelope.payload));
  if (const auto* notice = std::get_if<RegistrationNotice>(&statement)) return signed_for(*notice);
  if (const auto* notice = std::get_if<UpdateNotice>(&statement)) return signed_for(*notice);
  if (const auto* notice = std::get_if<SubmissionNotice>(&statement)) return signed_for(*notice);
  return error("what waits for a verdict was announced by no statement of a client");
}

StatementKind statement_kind(DeliveryKind kind) {
  switch (kind) {
    case DeliveryKind::kRegistration:
      return StatementKind::kRegistration;
    case DeliveryKind::kUpdate:
      return StatementKind::kUpdate;
    case DeliveryKind::kSubmission:
      break;
  }
  return StatementKind::kSubmission;
}

Result<Bytes, Rejection> own_file(const Case& one, const SignedFor& said) {
  if (auto rejection = not_what_was_signed(statement_kind(one.job.delivery.announced.kind), one.file, said))
    return *std::move(rejection);
  return one.file;
}

Result<Finding> examine_registration(const StoreRecords& records, const BaseRows* base, const Case& one,
                                     const WorkSettings& settings) {
  ZKAPEX_TRY(const SignedFor said, said_of(one));
  ZKAPEX_TRY(Admission admission, admit(records, base, own_file(one, said), settings));
  if (admission.known) return error("a registration that waits for its verdict is in the records already");
  return Finding{std::move(admission.rejection), said.registration, said.start};
}

Result<Finding> examine_update(const StoreRecords& records, const BaseRows* base, const Case& one,
                               const WorkSettings& settings) {
  ZKAPEX_TRY(const SignedFor said, said_of(one));
  ZKAPEX_TRY(UpdateAdmission admission, admit_update(records, base, own_file(one, said), settings));
  if (admission.known) admission.rejection = accepted_before();
  return Finding{std::move(admission.rejection), said.registration, said.start};
}

Result<std::vector<Finding>> examine_submissions(const StoreRecords& records, std::span<const Case> cases,
                                                 const WindowInfo& window, const WorkSettings& settings) {
  ZKAPEX_TRY(const Mask mask, records.mask(window.id, window.mask));
  std::vector<SignedFor> said;
  for (const Case& one : cases) {
    ZKAPEX_TRY(SignedFor signed_for, said_of(one));
    said.push_back(std::move(signed_for));
  }
  std::vector<Submission> submissions;
  for (size_t k = 0; k < cases.size(); ++k)
    submissions.emplace_back([&cases, &said, k] { return own_file(cases[k], said[k]); });
  ZKAPEX_TRY(const std::vector<Judgement> judgements, judge(records, mask, submissions, settings));
  ZKAPEX_CHECK(record(records, mask, judgements));
  std::vector<Finding> out;
  for (size_t k = 0; k < cases.size(); ++k)
    out.push_back({judgements[k].rejection, said[k].registration, said[k].start});
  return out;
}

// As long as a statement may have it, and cut between characters.
std::string short_detail(std::string detail) {
  size_t size = std::min(detail.size(), VerdictNotice::kMaxDetail);
  while (size > 0 && size < detail.size() && (static_cast<unsigned char>(detail[size]) & 0xC0U) == 0x80U) --size;
  detail.resize(size);
  return detail;
}

VerdictNotice notice_of(const StoreRecords& records, const Job& job, const Finding& finding, UnixTime now) {
  const DeliveryInfo& delivery = job.delivery;
  VerdictNotice out;
  out.of = statement_kind(delivery.announced.kind);
  out.id = delivery.announced.id;
  out.file = {delivery.announced.file.sha256, delivery.announced.file.bytes};
  out.client = delivery.announced.client;
  out.deployment = records.deployment().digest();
  out.registration = finding.registration;
  out.starts_from = finding.start;
  out.submission = delivery.index;
  out.certified_error = records.deployment().parameters().error.text();
  out.rejection = finding.rejection;
  out.version = ZKAPEX_VERSION;
  out.received = delivery.received_at.value_or(0);
  out.time = now;
  return out;
}

// What only a submission's verdict says.
Status add_window(const StoreRecords& records, const WindowInfo& window, VerdictNotice& out) {
  ZKAPEX_TRY(const Mask mask, records.mask(window.id, window.mask));
  out.window = window.id;
  out.mask = window.mask;
  out.op = mask.op;
  out.window_index = window.index;
  if (mask.op == Operator::kMaskOnly) out.certified_error = "0";
  return Done{};
}

}  // namespace

Result<std::vector<Finding>> examine_cases(const StoreRecords& records, const BaseRows* base,
                                           std::span<const Case> cases, const std::optional<WindowInfo>& window,
                                           const WorkSettings& settings) {
  if (window) return examine_submissions(records, cases, *window, settings);
  std::vector<Finding> out;
  for (const Case& one : cases) {
    const bool registers = one.job.delivery.announced.kind == DeliveryKind::kRegistration;
    ZKAPEX_TRY(Finding finding, registers ? examine_registration(records, base, one, settings)
                                          : examine_update(records, base, one, settings));
    out.push_back(std::move(finding));
  }
  return out;
}

Result<std::vector<Successors>> keep_successors(const StoreRecords& records, Blobs* blobs, std::span<const Case> cases,
                                                std::span<const Finding> findings) {
  constexpr size_t kWriters = 16;  // each waits for the disk, which flushes many files as fast as one
  std::vector<Successors> out(cases.size());
  FirstError first;
  ThreadPool writers(static_cast<unsigned>(std::clamp<size_t>(cases.size(), 1, kWriters)));
  writers.for_each(cases.size(), [&](size_t k) {
    const StoreRecords::Change* change = records.change(cases[k].job.delivery.announced.client);
    if (findings[k].rejection || change == nullptr) return;
    const auto keep = [&](const Bytes& file) {
      return blobs != nullptr ? put_blob(*blobs, file) : Result<BlobName>(BlobName{sha256(file), file.size()});
    };
    first.take(keep(change->next.encode()), out[k].model);
    if (change->record) first.take(keep(change->record->encode()), out[k].record);
  });
  ZKAPEX_CHECK(first.status());
  return out;
}

Result<Conclusion> conclusion_of(const StoreRecords& records, const Job& job, const Finding& finding,
                                 const Successors& successors, const std::optional<WindowInfo>& window,
                                 const SigningKey& key, UnixTime now) {
  const std::string& client = job.delivery.announced.client;
  VerdictNotice notice = notice_of(records, job, finding, now);
  if (window) {
    ZKAPEX_CHECK(add_window(records, *window, notice));
  }
  Conclusion out;
  out.guided = notice.op == Operator::kGuided;
  out.job = job.id;
  out.token = job.token;
  out.delivery = job.delivery.announced.id;
  out.accepted = !finding.rejection;
  ZKAPEX_TRY(const std::optional<StoreRecords::Standing> standing, records.standing(client));
  out.from = standing ? standing->version : 0;
  if (finding.rejection) {
    notice.rejection->detail = short_detail(finding.rejection->detail);
    out.reason = name(finding.rejection->reason);
    out.detail = notice.rejection->detail;
  } else {
    const StoreRecords::Change* change = records.change(client);
    if (change == nullptr || (!change->record && !standing)) return error("an accepted delivery changes nothing");
    out.commitment = change->next.digest();
    out.model = successors.model;
    out.record = change->record ? successors.record : standing->record;
    notice.leads_to = Successor{{out.model.sha256, out.model.bytes}, out.commitment};
  }
  ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), key));
  const std::string entry = envelope.encode();
  out.entry.assign(entry.begin(), entry.end());
  return out;
}

}  // namespace zkapex
