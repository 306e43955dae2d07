// The page of /metrics: what the HTTP server counted, and what the records say now.
#include <unistd.h>

#include <fstream>

#include "service/admin.h"

namespace zkapex {

namespace {

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Status write_records(MetricsPage& page, Store& store, UnixTime now) {
  ZKAPEX_TRY(const uint64_t clients, store.client_count());
  page.begin("zkapex_clients", "gauge", "Clients that are enrolled.");
  page.sample({}, static_cast<double>(clients));
  ZKAPEX_TRY(const QueueCounts queue, store.queue());
  page.begin("zkapex_jobs", "gauge", "Verifications by state; dead ones wait for an operator.");
  page.sample({{"state", "ready"}}, static_cast<double>(queue.ready));
  page.sample({{"state", "leased"}}, static_cast<double>(queue.leased));
  page.sample({{"state", "done"}}, static_cast<double>(queue.done));
  page.sample({{"state", "dead"}}, static_cast<double>(queue.dead));
  page.begin("zkapex_oldest_job_age_seconds", "gauge", "How long the oldest upload has waited for its verdict.");
  page.sample({}, queue.oldest ? static_cast<double>(std::max<UnixTime>(0, now - *queue.oldest)) : 0.0);
  ZKAPEX_TRY(const std::vector<WindowInfo> windows, store.windows());
  page.begin("zkapex_window_deadline_timestamp_seconds", "gauge", "When a window ends.");
  for (const WindowInfo& window : windows) page.sample({{"window", window.id}}, static_cast<double>(window.deadline));
  page.begin("zkapex_window_clients", "gauge", "Clients of a window by what became of their answer.");
  for (const WindowInfo& window : windows) {
    ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
    page.sample({{"window", window.id}, {"state", "due"}}, static_cast<double>(tally.due));
    page.sample({{"window", window.id}, {"state", "received"}}, static_cast<double>(tally.received));
    page.sample({{"window", window.id}, {"state", "accepted"}}, static_cast<double>(tally.accepted));
    page.sample({{"window", window.id}, {"state", "rejected"}}, static_cast<double>(tally.rejected));
  }
  return Done{};
}

}  // namespace

Result<std::string> metrics_text(const AdminContext& context) {
  MetricsPage page;
  page.begin("zkapex_build_info", "gauge", "The program's version.");
  page.sample({{"version", ZKAPEX_VERSION}}, 1);
  context.metrics.write(page);
  page.begin("zkapex_http_connections", "gauge", "Open connections of the public listener.");
  page.sample({}, static_cast<double>(context.connections()));
  page.begin("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
  page.sample({}, resident_bytes());
  ZKAPEX_TRY(const SeenTree tree, context.api.provider.published_tree());
  page.begin("zkapex_log_entries", "gauge", "Size of the published checkpoint.");
  page.sample({}, static_cast<double>(tree.size));
  ZKAPEX_CHECK(context.api.stores.with([&](Store& store) { return write_records(page, store, context.api.clock()); }));
  return page.text();
}

}  // namespace zkapex
