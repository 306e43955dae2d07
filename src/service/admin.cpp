#include "service/admin.h"

#include <charconv>

#include "base/names.h"
#include "exchange/paths.h"
#include "log/strict_json.h"

namespace zkapex {

namespace {

constexpr uint64_t kMaxForm = 4096;
constexpr uint64_t kMaxRequestFile = uint64_t{64} << 20;
constexpr uint64_t kDefaultCodeDays = 14, kMostCodeDays = 3650;

HttpResponse json_response(const nlohmann::ordered_json& json, unsigned status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

ApiResult<HttpResponse> list_windows(const AdminContext& context, const HttpRequest&) {
  auto list = nlohmann::ordered_json::array();
  ZKAPEX_CHECK(ours(context.api.stores.with([&](Store& store) -> Status {
    ZKAPEX_TRY(const std::vector<WindowInfo> windows, store.windows());
    for (const WindowInfo& window : windows) {
      ZKAPEX_TRY(const WindowTally tally, store.tally(window.id));
      nlohmann::ordered_json entry{{"window", window.id},
                                   {"mask", to_hex(window.mask)},
                                   {"opens", to_rfc3339(window.opens)},
                                   {"deadline", to_rfc3339(window.deadline)},
                                   {"due", tally.due},
                                   {"received", tally.received},
                                   {"accepted", tally.accepted},
                                   {"rejected", tally.rejected}};
      if (window.index) entry["index"] = *window.index;
      list.push_back(std::move(entry));
    }
    return Done{};
  })));
  return json_response({{"windows", std::move(list)}});
}

ApiResult<WindowInfo> find_window(const AdminContext& context, const std::string& id) {
  ZKAPEX_TRY(auto window, ours(context.api.stores.with([&](Store& store) { return store.window(id); })));
  if (!window) return ApiFailure{ProblemKind::kNotFound, "there is no such window"};
  return std::move(*window);
}

ApiResult<HttpResponse> get_compliance_json(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const WindowInfo window, find_window(context, request.parameters[0]));
  ZKAPEX_TRY(const auto json,
             ours(context.api.stores.with([&](Store& store) { return compliance_json(store, window); })));
  return json_response(json);
}

ApiResult<HttpResponse> get_compliance_csv(const AdminContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const WindowInfo window, find_window(context, request.parameters[0]));
  HttpResponse response;
  ZKAPEX_TRY(response.body, ours(context.api.stores.with([&](Store& store) { return compliance_csv(store, window); })));
  response.type = "text/csv; charset=utf-8; header=present";
  response.headers = {{"Cache-Control", "no-store"},
                      {"Content-Disposition", fmt::format("attachment; filename=\"{}.csv\"", file_name_of(window.id))}};
  return response;
}

// A time of a query: RFC 3339.
ApiResult<UnixTime> time_of(const HttpRequest& request, const std::string& name) {
  const auto given = request.query.find(name);
  if (given == request.query.end()) return ApiFailure{ProblemKind::kMalformed, fmt::format("give {}=TIME", name)};
  return theirs(ProblemKind::kMalformed, from_rfc3339(given->second));
}

ApiResult<HttpResponse> post_window(const AdminContext& context, const HttpRequest& request) {
  if (!context.access.may_change(request, {})) return ApiFailure{ProblemKind::kSignature, "the admin token is missing"};
  const UnixTime now = context.api.clock();
  WindowRequest window{Bytes(request.body.begin(), request.body.end()), now, 0};
  if (request.query.contains("opens")) {
    ZKAPEX_TRY(window.opens, time_of(request, "opens"));
  }
  ZKAPEX_TRY(window.deadline, time_of(request, "deadline"));
  // Whatever is wrong is the operator's to read.
  ZKAPEX_TRY(const WindowInfo published, theirs(ProblemKind::kMalformed, context.api.stores.with([&](Store& store) {
               return publish_request(context.api.provider, store, window, now);
             })));
  return json_response({{"window", published.id}, {"mask", to_hex(published.mask)}}, 201);
}

ApiResult<HttpResponse> post_code(const AdminContext& context, const HttpRequest& request) {
  if (!context.access.may_change(request, {})) return ApiFailure{ProblemKind::kSignature, "the admin token is missing"};
  ZKAPEX_TRY(const nlohmann::json json, theirs(ProblemKind::kMalformed, parse_strict_json(request.body)));
  ZKAPEX_TRY(JsonObject object, theirs(ProblemKind::kMalformed, JsonObject::open(json, "the body")));
  std::string person;
  uint64_t days = kDefaultCodeDays;
  if (object.has("person")) {
    ZKAPEX_TRY(person, theirs(ProblemKind::kMalformed, object.name("person")));
  }
  if (object.has("days")) {
    ZKAPEX_TRY(days, theirs(ProblemKind::kMalformed, object.number("days")));
  }
  ZKAPEX_CHECK(theirs(ProblemKind::kMalformed, object.finish()));
  if (days == 0 || days > kMostCodeDays)
    return ApiFailure{ProblemKind::kMalformed, fmt::format("days are 1 to {}", kMostCodeDays)};
  ZKAPEX_TRY(const std::string code, ours(random_code()));
  const UnixTime now = context.api.clock(), expires = now + static_cast<UnixTime>(days) * 86'400;
  ZKAPEX_CHECK(ours(
      context.api.stores.with([&](Store& store) { return store.add_code(code_digest(code), person, expires, now); })));
  return json_response({{"code", code}, {"expires", to_rfc3339(expires)}}, 201);
}

HttpResponse get_readiness(const AdminContext& context) {
  if (!context.ready.load()) return problem(ProblemKind::kBusy, "the service is starting, or ending");
  const Status answers = context.api.stores.with([](Store& store) { return store.ping(); });
  if (!answers.ok()) return problem(ProblemKind::kBusy, "the store does not answer");
  const auto checkpoint = context.api.provider.published_checkpoint();
  if (!checkpoint.ok() || !*checkpoint) return problem(ProblemKind::kBusy, "the log has no checkpoint yet");
  return json_response({{"status", "ready"}});
}

}  // namespace

HttpHandler for_readers(const AdminContext& context,
                        ApiResult<HttpResponse> (*handle)(const AdminContext&, const HttpRequest&)) {
  return [context, handle](const HttpRequest& request) {
    if (!context.access.may_read(request))
      return answer(context.api, ApiFailure{ProblemKind::kSignature,
                                            "give the token of the provider's folder, or come by the link that "
                                            "`zkapex provider status` prints"});
    return answer(context.api, handle(context, request));
  };
}

void add_admin(Router& router, const AdminContext& context) {
  router.get("/healthz", [](const HttpRequest&) { return json_response({{"status", "alive"}}); });
  router.get("/readyz", [context](const HttpRequest&) { return get_readiness(context); });
  router.get("/metrics", [context](const HttpRequest&) {
    const auto text = metrics_text(context);
    if (!text.ok()) return answer(context.api, ours(Result<HttpResponse>(text.error())));
    HttpResponse response;
    response.type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = *text;
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
  });
  router.get("/login",
             [context](const HttpRequest& request) { return context.access.log_in(request, context.api.clock()); });
  router.get("/admin/windows", for_readers(context, list_windows));
  router.get("/admin/windows/{}/compliance.json", for_readers(context, get_compliance_json));
  router.get("/admin/windows/{}/compliance.csv", for_readers(context, get_compliance_csv));
  router.post("/admin/windows", kMaxRequestFile, for_readers(context, post_window));
  router.post("/admin/codes", kMaxForm, for_readers(context, post_code));
}

}  // namespace zkapex
