// A client's steps.
#include "capi/call.h"
#include "parties/report_values.h"

namespace zkapex::capi {

namespace {

// Once before a step begins, so that it can be cancelled however few parts it has.
Status announce(const zkapex_session& session) {
  WorkProgress progress(session.settings, "reading", "files", 1);
  return progress.advance(0);
}

Result<UnlearnRequest> unlearn_request(const zkapex_unlearn_options& options) {
  UnlearnRequest out;
  ZKAPEX_TRY(out.client, required(options.client, "the client's folder"));
  ZKAPEX_TRY(out.mask, required(options.request, "the request"));
  out.model_out = optional(options.model_output);
  out.proof_out = optional(options.proof_output);
  out.model = optional(options.model);
  out.store = optional(options.curvature);
  if (options.max_guide != nullptr) {
    const Result<Decimal> most = Decimal::parse(options.max_guide);
    if (!most) return most.error().within("--max-guide");
    out.max_guide = *most;
  }
  return out;
}

Result<Answer> try_window(const UnlearnRequest& request, const WorkSettings& settings) {
  if (!request.proof_out.empty()) return error("--dry-run makes no proof: leave out --proof");
  ZKAPEX_TRY(const TrialReport tried,
             try_unlearning(
                 {{request.client, request.mask, request.model, request.store, request.max_guide}, request.model_out},
                 settings));
  Answer answer{as_json(tried)};
  answer.report["seconds"] = timings_as_json(tried.seconds);
  return answer;
}

Result<Answer> settle_as(const zkapex_settle_options& options) {
  if ((options.accepted != 0) == (options.rejected != 0))
    return error("say what the provider's verdict was: --accepted or --rejected");
  SettleRequest request{};
  ZKAPEX_TRY(request.client, required(options.client, "the client's folder"));
  request.accepted = options.accepted != 0;
  request.window = optional(options.window);
  request.proof = optional(options.sent);
  request.all = options.all != 0;
  if (options.update != 0) {
    const SettleUpdateRequest update{.client = request.client, .accepted = request.accepted, .update = request.proof};
    ZKAPEX_TRY(const SettleUpdateReport done, settle_update(update));
    return Answer{as_json(update, done)};
  }
  ZKAPEX_TRY(const SettleReport done, settle(request));
  return Answer{as_json(request, done)};
}

}  // namespace

}  // namespace zkapex::capi

using namespace zkapex;
using namespace zkapex::capi;

zkapex_status zkapex_register(zkapex_session* session, const zkapex_register_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_register_options options, take(given));
    RegisterRequest request;
    ZKAPEX_TRY(request.deployment, required(options.deployment, "the deployment"));
    ZKAPEX_TRY(request.model, required(options.model, "the model"));
    ZKAPEX_TRY(request.store, required(options.curvature, "the curvature store"));
    ZKAPEX_TRY(request.client, required(options.client, "the client's identifier"));
    ZKAPEX_TRY(request.out, required(options.output, "the client's folder"));
    request.base = optional(options.base);
    ZKAPEX_CHECK(announce(*session));
    ZKAPEX_TRY(const RegisterReport done, register_client(request, settings_of(*session, options.force)));
    return Answer{as_json(request, done)};
  });
}

zkapex_status zkapex_unlearn(zkapex_session* session, const zkapex_unlearn_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_unlearn_options options, take(given));
    ZKAPEX_TRY(const UnlearnRequest request, unlearn_request(options));
    ZKAPEX_CHECK(announce(*session));
    const WorkSettings settings = settings_of(*session, options.force);
    if (options.dry_run != 0) return try_window(request, settings);
    if (request.model_out.empty() || request.proof_out.empty())
      return error("-o and --proof say where the model and the proof go: give both, or --dry-run");
    ZKAPEX_TRY(const UnlearnReport done, unlearn(request, settings));
    return Answer{as_json(done)};
  });
}

zkapex_status zkapex_update(zkapex_session* session, const zkapex_update_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_update_options options, take(given));
    UpdateRequest request;
    ZKAPEX_TRY(request.client, required(options.client, "the client's folder"));
    ZKAPEX_TRY(request.model, required(options.model, "the model"));
    ZKAPEX_TRY(request.out, required(options.output, "the output"));
    request.store = optional(options.curvature);
    request.base = optional(options.base);
    ZKAPEX_CHECK(announce(*session));
    ZKAPEX_TRY(const UpdateReport done, update(request, settings_of(*session, options.force)));
    return Answer{as_json(request, done)};
  });
}

zkapex_status zkapex_settle(zkapex_session* session, const zkapex_settle_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_settle_options options, take(given));
    return settle_as(options);
  });
}
