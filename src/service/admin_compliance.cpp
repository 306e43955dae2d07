#include "service/admin.h"

namespace zkapex {

namespace {

constexpr size_t kPage = 1000;

// Quoted where it has to be; a cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv_cell(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view("=+-@\t\r").find(out.front()) != std::string_view::npos) out.insert(0, "'");
  if (out.find_first_of(",\"\r\n") == out.npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string number_or_nothing(const std::optional<uint64_t>& number) { return number ? std::to_string(*number) : ""; }

template <class Each>
Status for_each_client(Store& store, const WindowInfo& window, const Each& each) {
  std::string after;
  for (;;) {
    ZKAPEX_TRY(const std::vector<Compliance> page, store.compliance(window.id, after, kPage));
    for (const Compliance& row : page) each(row);
    if (page.size() < kPage) return Done{};
    after = page.back().client;
  }
}

}  // namespace

std::string_view compliance_state(const Compliance& row) {
  if (!row.delivery) return "missing";
  if (row.delivery->dead) return "unverified";
  return name(row.delivery->state);
}

Result<std::string> compliance_csv(Store& store, const WindowInfo& window) {
  std::string out =
      "window,client,state,reason,detail,received,verdict,bytes,submission,statement_index,verdict_index\r\n";
  ZKAPEX_CHECK(for_each_client(store, window, [&](const Compliance& row) {
    const DeliveryInfo* delivery = row.delivery ? &*row.delivery : nullptr;
    const VerdictInfo* verdict = delivery != nullptr && delivery->verdict ? &*delivery->verdict : nullptr;
    const std::vector<std::string> cells = {
        window.id,
        row.client,
        std::string(compliance_state(row)),
        verdict != nullptr ? verdict->reason : "",
        verdict != nullptr ? verdict->detail : "",
        delivery != nullptr && delivery->received_at ? to_rfc3339(*delivery->received_at) : "",
        verdict != nullptr ? to_rfc3339(verdict->at) : "",
        delivery != nullptr ? std::to_string(delivery->announced.file.bytes) : "",
        delivery != nullptr ? to_hex(delivery->announced.id) : "",
        delivery != nullptr ? number_or_nothing(delivery->index) : "",
        verdict != nullptr ? number_or_nothing(verdict->index) : "",
    };
    for (size_t k = 0; k < cells.size(); ++k) out += (k == 0 ? "" : ",") + csv_cell(cells[k]);
    out += "\r\n";
  }));
  return out;
}

Result<nlohmann::ordered_json> compliance_json(Store& store, const WindowInfo& window) {
  ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
  auto clients = nlohmann::ordered_json::array();
  ZKAPEX_CHECK(for_each_client(store, window, [&](const Compliance& row) {
    nlohmann::ordered_json entry{{"client", row.client}, {"state", compliance_state(row)}};
    if (row.delivery) {
      const DeliveryInfo& delivery = *row.delivery;
      entry["submission"] = to_hex(delivery.announced.id);
      entry["bytes"] = delivery.announced.file.bytes;
      if (delivery.received_at) entry["received"] = to_rfc3339(*delivery.received_at);
      if (delivery.index) entry["statement_index"] = *delivery.index;
      if (delivery.verdict) {
        entry["verdict"] = to_rfc3339(delivery.verdict->at);
        if (!delivery.verdict->accepted) {
          entry["reason"] = delivery.verdict->reason;
          entry["detail"] = delivery.verdict->detail;
        }
        if (delivery.verdict->index) entry["verdict_index"] = *delivery.verdict->index;
      }
    }
    clients.push_back(std::move(entry));
  }));
  return nlohmann::ordered_json{{"window", window.id},
                                {"mask", to_hex(window.mask)},
                                {"opens", to_rfc3339(window.opens)},
                                {"deadline", to_rfc3339(window.deadline)},
                                {"due", tally.due},
                                {"received", tally.received},
                                {"accepted", tally.accepted},
                                {"rejected", tally.rejected},
                                {"clients", std::move(clients)}};
}

}  // namespace zkapex
