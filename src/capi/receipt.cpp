// Receipts of a transparency log.
#include "exchange/receipt_audit.h"

#include "capi/call.h"

namespace zkapex::capi {

namespace {

std::string_view text_in(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Result<Answer> check(const zkapex_receipt_options* given) {
  ZKAPEX_TRY(const zkapex_receipt_options options, take(given));
  ZKAPEX_TRY(const std::string policy_file, required(options.policy, "the policy"));
  ZKAPEX_TRY(const ByteView receipt_bytes, bytes_of(options.receipt, "the receipt"));
  ZKAPEX_TRY(const ByteView entry, bytes_of(options.entry, "the entry"));
  ZKAPEX_TRY(const ByteView deployment_bytes, bytes_of(options.deployment, "the deployment's receipt"));
  ZKAPEX_TRY(const Policy policy, Policy::read(policy_file));
  ZKAPEX_TRY(const OpenedReceipt receipt, open_receipt(text_in(receipt_bytes), entry));
  std::optional<OpenedReceipt> deployment;
  if (options.deployment.data != nullptr) {  // an empty file was meant to be one
    ZKAPEX_TRY(deployment, open_receipt(text_in(deployment_bytes)));
  }
  const Result<ReceiptAudit> audit = audit_receipt(receipt, policy, deployment ? &*deployment : nullptr);
  if (!audit) return Answer{rejected_as_json(audit.error().message), true};
  return Answer{as_json(*audit)};
}

}  // namespace

}  // namespace zkapex::capi

zkapex_status zkapex_receipt_check(zkapex_session* session, const zkapex_receipt_options* options) {
  return zkapex::capi::call(session, [&] { return zkapex::capi::check(options); });
}
