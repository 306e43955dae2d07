// The pages for an operator. What changes something is a form with a value that only these pages have.
#include <charconv>

#include "base/names.h"
#include "service/admin.h"
#include "service/dashboard_html.h"

namespace zkapex {

namespace {

constexpr size_t kClientsOfAPage = 100, kDeadLetters = 50, kDeliveries = 50;

HttpResponse page(const PageFrame& frame) {
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = page_html(frame);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

std::string card(std::string_view label, std::string_view value, std::string_view state = {}) {
  return fmt::format("<div class=\"card {}\"><dt>{}</dt><dd>{}</dd></div>", state, escape_html(label), value);
}

std::string window_path(const std::string& id) { return "/windows/" + encode_segment(id); }
std::string client_path(const std::string& client) { return "/clients/" + encode_segment(client); }

std::string button(const AdminContext& context, std::string_view action, std::string_view text,
                   std::string_view accessible) {
  return fmt::format(
      "<form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"form\" value=\"{}\">"
      "<button aria-label=\"{}\">{}</button></form>",
      escape_html(action), context.access.form_value(), escape_html(accessible), escape_html(text));
}

std::string size_html(uint64_t bytes) { return "<span class=\"size\">" + size_text(bytes) + "</span>"; }

std::string number_html(uint64_t number, bool alarming) {
  return number > 0 && alarming ? fmt::format("<span class=\"alarm\">{}</span>", number) : std::to_string(number);
}

std::string progress_bar(const WindowTally& tally) {
  return fmt::format("<progress max=\"{}\" value=\"{}\" aria-label=\"accepted\"></progress> {} of {}",
                     std::max<uint64_t>(1, tally.due), tally.accepted, tally.accepted, tally.due);
}

// Who has to be asked: clients that are due, and of whom nothing came.
uint64_t without_answer(const WindowTally& tally) {
  return tally.due - std::min(tally.due, tally.accepted + tally.rejected + tally.received);
}

std::string window_state(const WindowInfo& window, UnixTime now) {
  if (!window.index) return "queued";
  if (now < window.opens) return "scheduled";
  return now < window.deadline ? "open" : "closed";
}

Result<std::string> chart_of(Store& store, const WindowInfo& window, const WindowTally& tally, UnixTime now) {
  const UnixTime interval = chart_interval(window.opens, window.deadline);
  ZKAPEX_TRY(std::vector<ProgressPoint> points, store.progress(window.id, interval));
  return progress_chart({std::move(points), interval, window.opens, window.deadline, now, tally.due});
}

Result<std::string> dead_letters(const AdminContext& context, Store& store) {
  ZKAPEX_TRY(const std::vector<DeadJob> dead, store.dead_jobs(kDeadLetters));
  TableHtml table("Dead letters: verifications that failed again and again for a fault of the provider's",
                  {"Job", "Client", "What", "Attempts", "Why", ""});
  for (const DeadJob& job : dead) {
    const Announcement& announced = job.delivery.announced;
    table.row({std::to_string(job.id), link_html(client_path(announced.client), announced.client.substr(0, 12)),
               escape_html(announced.window.empty() ? name(announced.kind) : std::string_view(announced.window)),
               std::to_string(job.attempts), escape_html(job.why),
               button(context, fmt::format("/jobs/{}/revive", job.id), "Try again",
                      fmt::format("Try job {} again", job.id))});
  }
  return "<h2>Dead letters</h2>\n" + table.html("None: every upload was verified, or will be.");
}

Result<std::string> overview(const AdminContext& context, Store& store) {
  const UnixTime now = context.api.clock();
  ZKAPEX_TRY(const QueueCounts queue, store.queue());
  ZKAPEX_TRY(const uint64_t clients, store.client_count());
  ZKAPEX_TRY(const std::vector<WindowInfo> windows, store.windows());
  ZKAPEX_TRY(const SeenTree tree, context.api.provider.published_tree());
  size_t open = 0;
  TableHtml table("Requests, newest first",
                  {"Request", "State", "Opens", "Deadline", "Accepted", "Rejected", "Waiting", "No answer"});
  std::string chart;
  for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
    ZKAPEX_TRY(const WindowTally tally, store.tally(window->id));
    const std::string state = window_state(*window, now);
    if (state == "open") ++open;
    table.row({link_html(window_path(window->id), window->id), state_html(state), time_html(window->opens),
               time_html(window->deadline), progress_bar(tally), number_html(tally.rejected, true),
               std::to_string(tally.received), number_html(without_answer(tally), state == "closed")},
              state);
    if (chart.empty()) {
      ZKAPEX_TRY(chart, chart_of(store, *window, tally, now));
      chart = fmt::format("<h2>Progress of {}</h2>\n{}", escape_html(window->id), chart);
    }
  }
  const uint64_t waiting = queue.ready + queue.leased;
  std::string body = "<dl class=\"cards\">";
  body += card("open requests", std::to_string(open));
  body += card("clients", std::to_string(clients));
  body += card("waiting for a verdict", std::to_string(waiting));
  body += card("oldest waits", queue.oldest ? duration_text(std::max<UnixTime>(0, now - *queue.oldest)) : "–");
  body += card("dead letters", std::to_string(queue.dead), queue.dead > 0 ? "alarm" : "");
  body += card("log entries", std::to_string(tree.size));
  body += "</dl>\n" + chart + "<h2>Requests</h2>\n" + table.html("No request was published yet.");
  ZKAPEX_TRY(const std::string dead, dead_letters(context, store));
  return body + dead;
}

ApiResult<HttpResponse> get_overview(const AdminContext& context, const HttpRequest&) {
  ZKAPEX_TRY(const std::string body,
             ours(context.api.stores.with([&](Store& store) { return overview(context, store); })));
  return page({"Overview", "overview", body});
}

std::string verdict_cell(const DeliveryInfo& delivery) {
  if (!delivery.verdict) return delivery.dead ? "none yet, for a fault of the provider's: a dead letter" : "–";
  std::string out = time_html(delivery.verdict->at);
  if (!delivery.verdict->accepted)
    out += fmt::format("<br><strong>{}</strong>: {}", escape_html(delivery.verdict->reason),
                       escape_html(delivery.verdict->detail));
  return out;
}

std::string receipt_cell(const DeliveryInfo& delivery) {
  if (!delivery.verdict || !delivery.verdict->index) return "–";
  return link_html(fmt::format("/v1/submissions/{}/receipt", to_hex(delivery.announced.id)),
                   fmt::format("entry\u00a0{}", *delivery.verdict->index));
}

std::string pager(const std::string& path, const std::string& last, bool more) {
  if (!more) return {};
  return fmt::format("<p>{}</p>\n", link_html(path + "?after=" + encode_segment(last), "Next page"));
}

std::string after_of(const HttpRequest& request) {
  const auto after = request.query.find("after");
  return after == request.query.end() ? std::string() : after->second;
}

Result<std::string> one_window(const AdminContext& context, Store& store, const WindowInfo& window,
                               const std::string& after) {
  const UnixTime now = context.api.clock();
  ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
  ZKAPEX_TRY(const std::string chart, chart_of(store, window, tally, now));
  ZKAPEX_TRY(const std::vector<Compliance> rows, store.compliance(window.id, after, kClientsOfAPage));
  TableHtml table("Clients that are due", {"Client", "State", "Received", "Verdict", "Size", "Receipt"});
  for (const Compliance& row : rows) {
    const std::string_view state =
        !row.delivery && now >= window.deadline ? std::string_view("late") : compliance_state(row);
    table.row(
        {link_html(client_path(row.client), row.client), state_html(state),
         row.delivery ? time_html(row.delivery->received_at) : "–", row.delivery ? verdict_cell(*row.delivery) : "–",
         row.delivery ? size_html(row.delivery->announced.file.bytes) : "–",
         row.delivery ? receipt_cell(*row.delivery) : "–"},
        state);
  }
  const uint64_t silent = without_answer(tally);
  std::string body = "<dl class=\"cards\">";
  body += card("state", state_html(window_state(window, now)));
  body += card("opens", time_html(window.opens));
  body += card("deadline", time_html(window.deadline));
  body += card("accepted", fmt::format("{} of {}", tally.accepted, tally.due));
  body += card("rejected", std::to_string(tally.rejected), tally.rejected > 0 ? "alarm" : "");
  body += card("no answer", std::to_string(silent), silent > 0 && now >= window.deadline ? "alarm" : "");
  body += "</dl>\n" + chart;
  body += fmt::format("<p>Request {} of {}, log entry {}. {} {}</p>\n", short_hex(window.mask),
                      size_text(window.psi.bytes), window.index ? std::to_string(*window.index) : "not yet",
                      link_html("/admin" + window_path(window.id) + "/compliance.csv", "Compliance as CSV"),
                      link_html("/admin" + window_path(window.id) + "/compliance.json", "as JSON"));
  body += "<h2>Clients</h2>\n<p id=\"filter\" hidden></p>\n" + table.html("No client was due when it was published.");
  body += pager(window_path(window.id), rows.empty() ? "" : rows.back().client, rows.size() == kClientsOfAPage);
  return body;
}

ApiResult<HttpResponse> get_window(const AdminContext& context, const HttpRequest& request) {
  const std::string& id = request.parameters[0];
  ZKAPEX_TRY(const auto window, ours(context.api.stores.with([&](Store& store) { return store.window(id); })));
  if (!window) return ApiFailure{ProblemKind::kNotFound, "there is no such window"};
  ZKAPEX_TRY(const std::string body, ours(context.api.stores.with([&](Store& store) {
               return one_window(context, store, *window, after_of(request));
             })));
  return page({"Request " + window->id, "overview", body});
}

ApiResult<HttpResponse> get_clients(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(
      const auto clients,
      ours(context.api.stores.with([&](Store& store) { return store.clients(after_of(request), kClientsOfAPage); })));
  TableHtml table("Clients, by pseudonym", {"Client", "Person", "Enrolled", "Model", "Since"});
  for (const ClientInfo& client : clients)
    table.row({link_html(client_path(client.name), client.name), escape_html(client.person.value_or("–")),
               time_html(client.enrolled),
               client.model ? fmt::format("version\u00a0{}", client.model->version) : "none",
               client.model ? time_html(client.model->since) : "–"});
  const std::string body =
      table.html("No client is enrolled; zkapex provider code makes an enrolment code.") +
      pager("/clients", clients.empty() ? "" : clients.back().name, clients.size() == kClientsOfAPage);
  return page({"Clients", "clients", body});
}

Result<std::string> one_client(const AdminContext& context, Store& store, const ClientInfo& client) {
  ZKAPEX_TRY(const std::vector<ModelState> models, store.models(client.name));
  ZKAPEX_TRY(const std::vector<DeliveryInfo> deliveries, store.deliveries_of(client.name, kDeliveries));
  std::string body = "<dl class=\"cards\">";
  body += card("person", escape_html(client.person.value_or("not known")));
  body += card("enrolled", time_html(client.enrolled));
  body += card("model", client.model ? fmt::format("version {}", client.model->version) : "none");
  body += "</dl>\n";
  if (client.person)
    body += fmt::format(
        "<details class=\"forget\"><summary>Forget who this is</summary><p>The pseudonym stays, and so does what the "
        "log "
        "has. Whose it is cannot be found out here any more.</p>{}</details>\n",
        button(context, client_path(client.name) + "/forget", "Forget it for good",
               "Forget which person this pseudonym is, for good"));
  TableHtml sent("What it sent, newest first",
                 {"Statement", "What", "State", "Received", "Verdict", "Size", "Receipt"});
  for (const DeliveryInfo& delivery : deliveries) {
    const std::string_view state = delivery.dead ? std::string_view("unverified") : name(delivery.state);
    const Announcement& announced = delivery.announced;
    sent.row({short_hex(announced.id),
              announced.window.empty() ? escape_html(name(announced.kind))
                                       : link_html(window_path(announced.window), announced.window),
              state_html(state), time_html(delivery.received_at), verdict_cell(delivery),
              size_html(announced.file.bytes), receipt_cell(delivery)},
             state);
  }
  body += "<h2>Registrations, updates, submissions</h2>\n" + sent.html("Nothing yet.");
  TableHtml chain("Its models, in order", {"Version", "Commitment", "By", "Since"});
  for (const ModelState& model : models)
    chain.row({std::to_string(model.version), short_hex(model.commitment), short_hex(model.delivery),
               time_html(model.since)});
  return body + "<h2>Chain of models</h2>\n" + chain.html("None before its registration is accepted.");
}

ApiResult<HttpResponse> get_client(const AdminContext& context, const HttpRequest& request) {
  const std::string& id = request.parameters[0];
  ZKAPEX_TRY(const auto client, ours(context.api.stores.with([&](Store& store) { return store.client(id); })));
  if (!client) return ApiFailure{ProblemKind::kNotFound, "there is no such client"};
  ZKAPEX_TRY(const std::string body,
             ours(context.api.stores.with([&](Store& store) { return one_client(context, store, *client); })));
  return page({"Client " + client->name, "clients", body});
}

ApiResult<HttpResponse> get_log(const AdminContext& context, const HttpRequest&) {
  const ProviderFolder& provider = context.api.provider;
  ZKAPEX_TRY(const std::optional<Note> note, ours(provider.published_checkpoint()));
  ZKAPEX_TRY(const SeenTree tree, ours(provider.published_tree()));
  std::string body = "<dl class=\"cards\">";
  body += card("entries", std::to_string(tree.size));
  body += card("origin", escape_html(provider.notice().log.name));
  body += card("witnesses", std::to_string(provider.policy().witnesses().size()));
  body += "</dl>\n<h2>Checkpoint</h2>\n";
  body += note ? fmt::format("<pre>{}</pre>\n", escape_html(note->encode())) : "<p class=\"empty\">None yet.</p>\n";
  TableHtml witnesses("Witnesses of the policy", {"Name", "Key", "This checkpoint"});
  for (const Policy::Witness& witness : provider.policy().witnesses()) {
    const auto seen = note ? verify_note(*note, std::span(&witness.key, 1))
                           : Result<std::vector<VerifiedSignature>>(std::vector<VerifiedSignature>());
    const bool cosigned = seen.ok() && !seen->empty();
    witnesses.row({escape_html(witness.name), "<code>" + escape_html(witness.key.vkey()) + "</code>",
                   !seen.ok() ? state_html("rejected")
                   : cosigned ? time_html(seen->front().time)
                              : "not cosigned"});
  }
  body += "<h2>Witnesses</h2>\n" + witnesses.html("The policy names no witness.");
  body += fmt::format("<h2>Policy</h2>\n<pre>{}</pre>\n", escape_html(provider.policy().text()));
  return page({"Log", "log", body});
}

HttpResponse see_other(std::string location) {
  HttpResponse response;
  response.status = 303;
  response.headers = {{"Location", std::move(location)}, {"Cache-Control", "no-store"}};
  return response;
}

ApiResult<Done> check_form(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const auto form, theirs(ProblemKind::kMalformed, parse_form(request.body)));
  const auto value = form.find("form");
  if (!context.access.may_change(request, value == form.end() ? std::string_view() : std::string_view(value->second)))
    return ApiFailure{ProblemKind::kSignature, "this form did not come from a page of this server"};
  return Done{};
}

ApiResult<HttpResponse> post_revive(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_CHECK(check_form(context, request));
  const std::string& text = request.parameters[0];
  int64_t job = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), job);
  if (failed != std::errc() || end != text.data() + text.size())
    return ApiFailure{ProblemKind::kNotFound, "there is no such job"};
  ZKAPEX_TRY(const bool revived,
             ours(context.api.stores.with([&](Store& store) { return store.revive(job, context.api.clock()); })));
  if (!revived) return ApiFailure{ProblemKind::kNotFound, "there is no such dead job"};
  return see_other("/");
}

ApiResult<HttpResponse> post_forget(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_CHECK(check_form(context, request));
  ZKAPEX_CHECK(ours(context.api.stores.with([&](Store& store) { return store.forget_person(request.parameters[0]); })));
  return see_other(client_path(request.parameters[0]));
}

HttpResponse asset(std::string_view type, std::string_view text) {
  HttpResponse response;
  response.type = type;
  response.body = text;
  response.headers.emplace_back("Cache-Control", "no-cache");
  return response;
}

}  // namespace

void add_dashboard(Router& router, const AdminContext& context) {
  constexpr uint64_t kMaxForm = 4096;
  router.get("/style.css", [](const HttpRequest&) { return asset("text/css; charset=utf-8", kDashboardStyle); });
  router.get("/dashboard.js",
             [](const HttpRequest&) { return asset("text/javascript; charset=utf-8", kDashboardScript); });
  router.get("/", for_readers(context, get_overview));
  router.get("/windows/{}", for_readers(context, get_window));
  router.get("/clients", for_readers(context, get_clients));
  router.get("/clients/{}", for_readers(context, get_client));
  router.get("/log", for_readers(context, get_log));
  router.post("/jobs/{}/revive", kMaxForm, for_readers(context, post_revive));
  router.post("/clients/{}/forget", kMaxForm, for_readers(context, post_forget));
}

}  // namespace zkapex
