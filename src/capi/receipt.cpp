// Receipts of a transparency log.
#include "exchange/receipt_audit.h"

#include "capi/call.h"

namespace zkapex::capi {

namespace {

std::string_view text_in(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Bytes that are no receipt prove as little as one that is damaged.
Result<ReceiptAudit> audit_bytes(ByteView bytes, ByteView entry, const ByteView* deployment_bytes,
                                 const Policy& policy) {
  ZKAPEX_TRY(const OpenedReceipt receipt, open_receipt(text_in(bytes), entry));
  if (deployment_bytes == nullptr) return audit_receipt(receipt, policy, nullptr);
  const Result<OpenedReceipt> deployment = open_receipt(text_in(*deployment_bytes));
  if (!deployment) return deployment.error().within("the deployment's receipt");
  return audit_receipt(receipt, policy, &*deployment);
}

Result<Answer> check(const zkapex_receipt_options* given) {
  ZKAPEX_TRY(const zkapex_receipt_options options, take(given));
  ZKAPEX_TRY(const std::string policy_file, required(options.policy, "the policy"));
  ZKAPEX_TRY(const ByteView receipt_bytes, bytes_of(options.receipt, "the receipt"));
  ZKAPEX_TRY(const ByteView entry, bytes_of(options.entry, "the entry"));
  ZKAPEX_TRY(const ByteView deployment_bytes, bytes_of(options.deployment, "the deployment's receipt"));
  if (options.receipt.data == nullptr) return error("the receipt is NULL");
  if (entry.size() > kMaxEntryBytes) return error("an entry of a log has at most {} bytes", kMaxEntryBytes);
  ZKAPEX_TRY(const Policy policy, Policy::read(policy_file));
  // An empty file of the deployment's receipt was meant to be one.
  const Result<ReceiptAudit> audit =
      audit_bytes(receipt_bytes, entry, options.deployment.data == nullptr ? nullptr : &deployment_bytes, policy);
  if (!audit) return Answer{rejected_as_json(audit.error().message), true};
  return Answer{as_json(*audit)};
}

}  // namespace

}  // namespace zkapex::capi

zkapex_status zkapex_receipt_check(zkapex_session* session, const zkapex_receipt_options* options) {
  return zkapex::capi::call(session, [&] { return zkapex::capi::check(options); });
}
