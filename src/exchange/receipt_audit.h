// What a receipt shows to somebody who has nothing else but a policy.
#pragma once

#include "exchange/statement.h"
#include "log/receipt.h"

namespace zkapex {

struct OpenedReceipt {
  Receipt receipt;
  Bytes entry;
};
// `entry`, unless it is empty, in place of the one in the receipt. An error where it is no receipt, or has no entry.
[[nodiscard]] Result<OpenedReceipt> open_receipt(std::string_view receipt, ByteView entry = {});

struct ReceiptAudit {
  TreeHead checkpoint;
  uint64_t index = 0;
  size_t witnesses = 0;
  Statement statement;
  bool provider_checked = false;  // a verdict, signed by the provider that the deployment names

  [[nodiscard]] const VerdictNotice* verdict() const { return std::get_if<VerdictNotice>(&statement); }
};

// The entry is a statement in a log that the policy trusts. With `deployment`, the receipt of that log's first entry, a
// verdict is signed by the provider that is named there. An error says why the receipt proves nothing.
[[nodiscard]] Result<ReceiptAudit> audit_receipt(const OpenedReceipt& receipt, const Policy& policy,
                                                 const OpenedReceipt* deployment);

// With "verdict" and, of a verdict, what it says.
[[nodiscard]] nlohmann::ordered_json as_json(const ReceiptAudit& audit);
// Of a receipt that proves nothing.
[[nodiscard]] nlohmann::ordered_json rejected_as_json(const std::string& why);

}  // namespace zkapex
