// What anybody may read.
#include "exchange/paths.h"
#include "log/receipt.h"
#include "log/strict_json.h"
#include "service/api.h"
#include "service/http_static.h"

namespace zkapex {

namespace {

constexpr std::string_view kForGood = "public, max-age=31536000, immutable", kForAMinute = "public, max-age=60",
                           kAskAgain = "no-cache";

HttpResponse json_answer(const HttpRequest& request, std::string body, std::string_view cache_control) {
  HttpResponse response;
  response.body = std::move(body);
  response.headers.emplace_back("Cache-Control", cache_control);
  const std::string etag = to_hex(sha256(view(response.body))).substr(0, 32);  // before the body is moved away
  return with_etag(request, etag, std::move(response));
}

ApiResult<LoggedEnvelope> logged(const Bytes& entry, std::optional<uint64_t> index) {
  ZKAPEX_TRY(Envelope envelope, ours(Envelope::decode(text_of(entry))));
  return LoggedEnvelope{std::move(envelope), index};
}

// A published blob; its name is the ETag.
ApiResult<HttpResponse> blob_answer(const ApiContext& context, const HttpRequest& request, const BlobName& blob) {
  HttpResponse response;
  response.type = paths::kBinary;
  response.headers.emplace_back("Cache-Control", kForGood);
  response = with_etag(request, to_hex(blob.sha256), std::move(response));
  if (response.status == 304) return response;
  ZKAPEX_TRY(const Bytes bytes, ours(context.provider.blobs().read(blob)));
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

ApiResult<HttpResponse> get_deployment(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const auto info, ours(context.stores.with([](Store& store) { return store.deployment(); })));
  if (!info) return ApiFailure{ProblemKind::kInternal, "the store has no deployment"};
  ZKAPEX_TRY(LoggedEnvelope envelope, logged(info->entry, info->index));
  return json_answer(request, DeploymentAnswer{std::move(envelope)}.encode(), kForAMinute);
}

ApiResult<HttpResponse> get_deployment_file(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const auto info, ours(context.stores.with([](Store& store) { return store.deployment(); })));
  if (!info) return ApiFailure{ProblemKind::kInternal, "the store has no deployment"};
  return blob_answer(context, request, info->file);
}

ApiResult<HttpResponse> get_windows(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const auto windows, ours(context.stores.with([](Store& store) { return store.windows(); })));
  WindowsAnswer out;
  for (const WindowInfo& window : windows) {
    if (!window.index) continue;  // nobody believes it yet
    ZKAPEX_TRY(LoggedEnvelope envelope, logged(window.entry, window.index));
    out.windows.push_back(std::move(envelope));
  }
  return json_answer(request, out.encode(), kAskAgain);
}

ApiResult<HttpResponse> get_window_file(const ApiContext& context, const HttpRequest& request) {
  const auto mask = digest_from_hex(request.parameters[0]);
  ZKAPEX_TRY(const auto windows, ours(context.stores.with([](Store& store) { return store.windows(); })));
  for (const WindowInfo& window : windows) {
    if (mask.ok() && window.index && window.mask == *mask) return blob_answer(context, request, window.psi);
  }
  return ApiFailure{ProblemKind::kNotFound, "there is no such window"};
}

ApiResult<DeliveryInfo> find_delivery(const ApiContext& context, const HttpRequest& request) {
  const auto id = digest_from_hex(request.parameters[0]);
  if (id.ok()) {
    ZKAPEX_TRY(auto delivery, ours(context.stores.with([&](Store& store) { return store.delivery(*id); })));
    if (delivery) return std::move(*delivery);
  }
  return ApiFailure{ProblemKind::kNotFound, "nothing was announced under this identifier"};
}

SubmissionState state_of(DeliveryState state) {
  switch (state) {
    case DeliveryState::kAnnounced:
      return SubmissionState::kAnnounced;
    case DeliveryState::kReceived:
      return SubmissionState::kReceived;
    case DeliveryState::kAccepted:
      return SubmissionState::kAccepted;
    case DeliveryState::kRejected:
      return SubmissionState::kRejected;
  }
  return SubmissionState::kAnnounced;
}

ApiResult<HttpResponse> get_submission(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const DeliveryInfo delivery, find_delivery(context, request));
  SubmissionAnswer out{delivery.announced.id, state_of(delivery.state), std::nullopt};
  if (delivery.verdict) {
    ZKAPEX_TRY(out.verdict, logged(delivery.verdict->entry, delivery.verdict->index));
  }
  if (delivery.state == DeliveryState::kReceived && context.provider.notice().carried) {
    // The provider has lost what came along: who hears this sends it once more.
    ZKAPEX_TRY(const auto missing,
               ours(context.stores.with([&](Store& store) { return store.missing_state(delivery.announced); })));
    if (!missing.empty()) out.state = SubmissionState::kAnnounced;
  }
  return json_answer(request, out.encode(), kAskAgain);
}

ApiResult<HttpResponse> get_receipt(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(const DeliveryInfo delivery, find_delivery(context, request));
  ZKAPEX_TRY(const SeenTree tree, ours(context.provider.published_tree()));
  if (!delivery.verdict || !delivery.verdict->index || *delivery.verdict->index >= tree.size)
    return ApiFailure{ProblemKind::kNotFound, "the verdict is not in the published log yet"};
  ZKAPEX_TRY(const std::optional<Note> checkpoint, ours(context.provider.published_checkpoint()));
  TileFolder files(context.provider.log());
  ZKAPEX_TRY(Receipt receipt, ours(make_receipt(files, *delivery.verdict->index, *checkpoint)));
  receipt.entry = delivery.verdict->entry;
  HttpResponse response;
  response.type = paths::kText;
  response.body = receipt.encode();
  response.headers.emplace_back("Cache-Control", kAskAgain);
  return response;
}

HttpResponse get_log_file(const ApiContext& context, const HttpRequest& request) {
  const std::string& path = request.parameters[0];
  if (path == "checkpoint") return serve_file(context.provider.log(), path, std::string(paths::kText), kAskAgain);
  if (!TileName::parse(path).ok()) return problem(ProblemKind::kNotFound, "there is no such file");
  return serve_file(context.provider.log(), path, std::string(paths::kBinary), kForGood);
}

}  // namespace

void add_api_reading(Router& router, const ApiContext& context) {
  const auto reading = [&](std::string pattern,
                           ApiResult<HttpResponse> (*read)(const ApiContext&, const HttpRequest&)) {
    router.get(std::move(pattern),
               [context, read](const HttpRequest& request) { return answer(context, read(context, request)); });
  };
  reading(std::string(paths::kDeployment), get_deployment);
  reading(std::string(paths::kDeploymentFile), get_deployment_file);
  reading(std::string(paths::kWindows), get_windows);
  reading(std::string(paths::kWindows) + "/{}/psi.zka", get_window_file);
  reading(std::string(paths::kSubmissions) + "/{}", get_submission);
  reading(std::string(paths::kSubmissions) + "/{}/receipt", get_receipt);
  router.get(std::string(paths::kPolicy), [context](const HttpRequest&) {
    HttpResponse response;
    response.type = paths::kText;
    response.body = context.provider.policy().text();
    response.headers.emplace_back("Cache-Control", kForAMinute);
    return response;
  });
  router.get(std::string(paths::kLog) + "/*", [context](const HttpRequest& r) { return get_log_file(context, r); });
}

}  // namespace zkapex
