// The admin listener: windows, codes, compliance, metrics, health and the dashboard. For loopback, or behind something
// that knows its operators.
#pragma once

#include <atomic>

#include "service/admin_access.h"
#include "service/api.h"
#include "service/metrics.h"

namespace zkapex {

struct AdminContext {
  ApiContext api;
  AdminAccess access;
  const HttpMetrics& metrics;
  const std::atomic<bool>& ready;       // false before the roles run, and while they end
  std::function<size_t()> connections;  // of the public listener
};

void add_admin(Router& router, const AdminContext& context);
void add_dashboard(Router& router, const AdminContext& context);

// A handler for those who may read.
[[nodiscard]] HttpHandler for_readers(const AdminContext& context,
                                      ApiResult<HttpResponse> (*handle)(const AdminContext&, const HttpRequest&));

// Who answered a window, and how: one client a row, as CSV (RFC 4180) with a first line of names. Pages of the store
// are asked for one after the other.
[[nodiscard]] Result<std::string> compliance_csv(Store& store, const WindowInfo& window);
[[nodiscard]] Result<nlohmann::ordered_json> compliance_json(Store& store, const WindowInfo& window);
// "accepted", "rejected", "received", "announced", "missing", or "unverified" where the provider could not verify it.
[[nodiscard]] std::string_view compliance_state(const Compliance& row);

[[nodiscard]] Result<std::string> metrics_text(const AdminContext& context);

}  // namespace zkapex
