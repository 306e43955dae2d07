#include "exchange/receipt_audit.h"

namespace zkapex {

namespace {

Result<Envelope> envelope_in(ByteView entry) {
  return Envelope::decode({reinterpret_cast<const char*>(entry.data()), entry.size()});
}

// The key that signs the provider's statements, out of the first entry of that log of the policy.
Result<PublicKey> provider_key(const OpenedReceipt& deployment, const Policy& policy, size_t log) {
  const Error refused{"the other receipt is no receipt of the deployment, the first entry of the log"};
  const Result<Policy::Opened> opened = check_receipt(deployment.receipt, deployment.entry, policy);
  if (!opened) return refused;
  if (opened->log != log) return refused;
  if (deployment.receipt.index != 0) return refused;
  const Result<Envelope> envelope = envelope_in(deployment.entry);
  if (!envelope) return refused;
  const Result<DeploymentNotice> notice = DeploymentNotice::decode(envelope->payload);
  if (!notice) return refused;
  if (!verify_envelope(*envelope, notice->provider)) return refused;
  return notice->provider;
}

nlohmann::ordered_json as_json(const VerdictNotice& verdict) {
  nlohmann::ordered_json out;
  out["result"] = verdict.passed() ? "PASSED" : "FAILED";
  if (verdict.rejection) out["reason"] = name(verdict.rejection->reason);
  out["of"] = name(verdict.of);
  out["client"] = verdict.client;
  if (!verdict.window.empty()) out["window"] = verdict.window;
  out["file_sha256"] = to_hex(verdict.file.sha256);
  out["received"] = to_rfc3339(verdict.received);
  out["time"] = to_rfc3339(verdict.time);
  out["certified_error"] = verdict.certified_error;
  out["curvature"] = verdict.curvature_proved ? "proved" : "assumed";
  return out;
}

}  // namespace

Result<OpenedReceipt> open_receipt(std::string_view receipt, ByteView entry) {
  if (entry.size() > kMaxEntryBytes) return error("an entry of a log has at most {} bytes", kMaxEntryBytes);
  ZKAPEX_TRY(Receipt parsed, Receipt::parse(receipt));
  if (entry.empty() && !parsed.entry) return error("the receipt has no entry in it: give --entry");
  Bytes own = entry.empty() ? *parsed.entry : Bytes(entry.begin(), entry.end());
  return OpenedReceipt{std::move(parsed), std::move(own)};
}

Result<ReceiptAudit> audit_receipt(const OpenedReceipt& receipt, const Policy& policy,
                                   const OpenedReceipt* deployment) {
  ZKAPEX_TRY(const Policy::Opened opened, check_receipt(receipt.receipt, receipt.entry, policy));
  ZKAPEX_TRY(const Envelope envelope, envelope_in(receipt.entry));
  ZKAPEX_TRY(Statement statement, decode_statement(envelope.payload));
  ReceiptAudit out{opened.checkpoint, receipt.receipt.index, opened.seen_by.size(), std::move(statement)};
  if (deployment != nullptr) {
    ZKAPEX_TRY(const PublicKey provider, provider_key(*deployment, policy, opened.log));
    if (out.verdict() != nullptr && !verify_envelope(envelope, provider))
      return error("the verdict is not signed by the provider");
    out.provider_checked = out.verdict() != nullptr;
  }
  return out;
}

nlohmann::ordered_json as_json(const ReceiptAudit& audit) {
  nlohmann::ordered_json out{{"verdict", "accepted"}, {"log", audit.checkpoint.origin}};
  out["index"] = audit.index;
  out["size"] = audit.checkpoint.size;
  out["witnesses"] = audit.witnesses;
  out["statement"] = std::visit([](const auto& notice) { return name(notice.kKind); }, audit.statement);
  if (audit.verdict() != nullptr) {
    out.update(as_json(*audit.verdict()));
    out["provider_checked"] = audit.provider_checked;
  }
  return out;
}

nlohmann::ordered_json rejected_as_json(const std::string& why) { return {{"verdict", "rejected"}, {"detail", why}}; }

}  // namespace zkapex
