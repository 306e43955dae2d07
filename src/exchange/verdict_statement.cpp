#include "base/names.h"
#include "exchange/statement_json.h"

namespace zkapex {

namespace {

constexpr std::string_view kCommitmentSubject = "commitment.zka", kHandedInSubject = "handed-in.zka";
constexpr std::string_view kPassed = "PASSED", kFailed = "FAILED", kProved = "proved", kAssumed = "assumed";
constexpr std::string_view kVerifier = "urn:zkapex:verifier", kClientUri = "urn:zkapex:client:";

Result<Reason> reason_named(std::string_view text) {
  for (int k = 0; k <= static_cast<int>(Reason::kFile); ++k) {
    if (name(static_cast<Reason>(k)) == text) return static_cast<Reason>(k);
  }
  return error("there is no reason {}", in_quotes(text));
}

bool may_be_handed_in(StatementKind kind) {
  return kind == StatementKind::kRegistration || kind == StatementKind::kUpdate || kind == StatementKind::kSubmission;
}

Result<StatementKind> judged_kind_in(JsonObject& object) {
  ZKAPEX_TRY(const std::string text, object.name("of"));
  ZKAPEX_TRY(const StatementKind out, kind_named(text));
  if (!may_be_handed_in(out)) return error("a {} is nothing that a client hands in", text);
  return out;
}

// {"sha256": …, "bytes": …}
OrderedJson json_of_file(const FileReference& file) { return {{"sha256", to_hex(file.sha256)}, {"bytes", file.bytes}}; }
Result<FileReference> file_in(JsonObject object) {
  FileReference out;
  ZKAPEX_TRY(out.sha256, object.digest("sha256"));
  ZKAPEX_TRY(out.bytes, file_bytes_in(object, "bytes"));
  ZKAPEX_CHECK(object.finish());
  return out;
}

// The beginning of a sentence that a client's file may have had a part in.
std::string shortened(std::string text) {
  if (text.size() > VerdictNotice::kMaxDetail) {
    size_t end = VerdictNotice::kMaxDetail;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;  // between characters
    text.resize(end);
  }
  return text;
}

void put_outcome(const VerdictNotice& verdict, OrderedJson& out) {
  out["verificationResult"] = verdict.passed() ? kPassed : kFailed;
  if (verdict.leads_to) {
    OrderedJson successor = json_of_file(verdict.leads_to->file);
    successor["commitment"] = to_hex(verdict.leads_to->commitment);
    out["leadsTo"] = std::move(successor);
  }
  if (verdict.rejection) {
    out["reason"] = name(verdict.rejection->reason);
    out["detail"] = shortened(verdict.rejection->detail);
  }
}

Status read_outcome(JsonObject& in, VerdictNotice& out) {
  ZKAPEX_TRY(const std::string result, in.name("verificationResult"));
  if (result == kPassed) {
    ZKAPEX_TRY(JsonObject successor, in.object("leadsTo"));
    out.leads_to.emplace();
    ZKAPEX_TRY(out.leads_to->commitment, successor.digest("commitment"));
    ZKAPEX_TRY(out.leads_to->file, file_in(successor));
    return Done{};
  }
  if (result != kFailed) return error("a verdict is {} or {}", kPassed, kFailed);
  ZKAPEX_TRY(const std::string reason, in.name("reason"));
  ZKAPEX_TRY(const Reason typed, reason_named(reason));
  ZKAPEX_TRY(std::string detail, in.text("detail", VerdictNotice::kMaxDetail));
  out.rejection = Rejection{typed, std::move(detail)};
  return Done{};
}

Result<std::string> version_in(JsonObject& in) {
  ZKAPEX_TRY(JsonObject verifier, in.object("verifier"));
  ZKAPEX_TRY(const std::string id, verifier.name("id"));
  if (id != kVerifier) return error("the verifier is {}, not {}", in_quotes(id), kVerifier);
  ZKAPEX_TRY(JsonObject version, verifier.object("version"));
  ZKAPEX_TRY(std::string out, version.name("zkapex"));
  ZKAPEX_CHECK(version.finish());
  ZKAPEX_CHECK(verifier.finish());
  return out;
}

// Where the verdict belongs: a submission has a window, an update a start, a registration neither.
Status read_place(JsonObject& in, VerdictNotice& out) {
  if (out.of != StatementKind::kRegistration) {
    ZKAPEX_TRY(out.starts_from, in.digest("startsFrom"));
  }
  if (in.has("submissionIndex")) {
    ZKAPEX_TRY(out.submission, in.number("submissionIndex"));
  }
  if (out.of != StatementKind::kSubmission) return Done{};
  ZKAPEX_TRY(out.window, in.name("window"));
  ZKAPEX_TRY(out.mask, in.digest("mask"));
  ZKAPEX_TRY(out.op, operator_in(in, "operator"));
  if (in.has("windowIndex")) {
    ZKAPEX_TRY(out.window_index, in.number("windowIndex"));
  }
  return Done{};
}

}  // namespace

Bytes VerdictNotice::encode() const {
  OrderedJson out;
  out["verifier"] = {{"id", kVerifier}, {"version", {{"zkapex", version}}}};
  out["timeVerified"] = to_rfc3339(time);
  out["resourceUri"] = fmt::format("{}{}", kClientUri, client);
  put_outcome(*this, out);
  out["of"] = name(of);
  out["id"] = to_hex(id);
  out["file"] = json_of_file(file);
  out["client"] = client;
  out["deployment"] = to_hex(deployment);
  out["registration"] = to_hex(registration);
  if (starts_from) out["startsFrom"] = to_hex(*starts_from);
  if (!window.empty()) out["window"] = window;
  if (mask) out["mask"] = to_hex(*mask);
  if (op) out["operator"] = name(*op);
  if (submission) out["submissionIndex"] = *submission;
  if (window_index) out["windowIndex"] = *window_index;
  out["certifiedError"] = certified_error;
  out["curvature"] = curvature_proved ? kProved : kAssumed;
  out["received"] = to_rfc3339(received);
  return write_statement(kKind, leads_to ? kCommitmentSubject : kHandedInSubject,
                         leads_to ? leads_to->file.sha256 : file.sha256, std::move(out));
}

Result<VerdictNotice> VerdictNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload));
  if (statement.kind != kKind) return error("this is a statement of {}, not of {}", name(statement.kind), name(kKind));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  VerdictNotice out;
  ZKAPEX_TRY(out.of, judged_kind_in(in));
  ZKAPEX_TRY(out.version, version_in(in));
  ZKAPEX_TRY(out.time, in.time("timeVerified"));
  ZKAPEX_CHECK(read_outcome(in, out));
  ZKAPEX_TRY(out.id, in.digest("id"));
  ZKAPEX_TRY(JsonObject file, in.object("file"));
  ZKAPEX_TRY(out.file, file_in(file));
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(const std::string resource, in.name("resourceUri"));
  if (resource != fmt::format("{}{}", kClientUri, out.client)) return error("the resource is not the client");
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.registration, in.digest("registration"));
  ZKAPEX_CHECK(read_place(in, out));
  ZKAPEX_TRY(out.certified_error, in.name("certifiedError"));
  ZKAPEX_TRY(const std::string curvature, in.name("curvature"));
  if (curvature != kProved && curvature != kAssumed) return error("the curvature is {} or {}", kProved, kAssumed);
  out.curvature_proved = curvature == kProved;
  ZKAPEX_TRY(out.received, in.time("received"));
  ZKAPEX_CHECK(in.finish());
  if (statement.subject != (out.leads_to ? kCommitmentSubject : kHandedInSubject) ||
      statement.sha256 != (out.leads_to ? out.leads_to->file.sha256 : out.file.sha256))
    return error("the subject is not what the verdict is about");
  return out;
}

bool VerdictNotice::operator==(const VerdictNotice& other) const { return encode() == other.encode(); }

Bytes UploadNotice::encode() const {
  OrderedJson out;
  out["of"] = name(of);
  out["id"] = to_hex(id);
  out["bytes"] = file.bytes;
  out["client"] = client;
  out["deployment"] = to_hex(deployment);
  out["received"] = to_rfc3339(received);
  out["verdictDue"] = to_rfc3339(verdict_due);
  return write_statement(kKind, kHandedInSubject, file.sha256, std::move(out));
}

Result<UploadNotice> UploadNotice::decode(ByteView payload) {
  ZKAPEX_TRY(const StatementJson statement, read_statement(payload, kKind, kHandedInSubject));
  ZKAPEX_TRY(JsonObject in, JsonObject::open(statement.predicate, "the predicate"));
  UploadNotice out;
  out.file.sha256 = statement.sha256;
  ZKAPEX_TRY(out.of, judged_kind_in(in));
  ZKAPEX_TRY(out.id, in.digest("id"));
  ZKAPEX_TRY(out.file.bytes, file_bytes_in(in, "bytes"));
  ZKAPEX_TRY(out.client, pseudonym_in(in));
  ZKAPEX_TRY(out.deployment, in.digest("deployment"));
  ZKAPEX_TRY(out.received, in.time("received"));
  ZKAPEX_TRY(out.verdict_due, in.time("verdictDue"));
  ZKAPEX_CHECK(in.finish());
  return out;
}

}  // namespace zkapex
