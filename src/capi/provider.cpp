// Deployments, requests and verdicts.
#include "attestation/inputs.h"
#include "capi/call.h"
#include "parties/base_model.h"
#include "parties/describe.h"
#include "parties/inbox.h"
#include "parties/ledger.h"
#include "parties/report_values.h"
#include "parties/verdict_values.h"

namespace zkapex::capi {

namespace {

Result<std::vector<std::string>> list_of(const char* const* texts, size_t count, std::string_view what) {
  if (texts == nullptr && count > 0) return error("{} is NULL, with a count of {}", what, count);
  std::vector<std::string> out;
  for (size_t k = 0; k < count; ++k) {
    ZKAPEX_TRY(out.emplace_back(), required(texts[k], what));
  }
  return out;
}

Result<DeployRequest> deploy_request(const zkapex_deploy_options& options) {
  DeployRequest out;
  ZKAPEX_TRY(out.model, required(options.model, "the model"));
  ZKAPEX_TRY(out.out, required(options.output, "the output"));
  out.base = optional(options.base);
  out.preset = optional(options.preset);
  ZKAPEX_TRY(out.cover, list_of(options.covers, options.cover_count, "a pattern of covered tensors"));
  ZKAPEX_TRY(out.free, list_of(options.frees, options.free_count, "a pattern of free tensors"));
  put(options.block, out.block);
  put(options.row_length, out.row_length);
  put(options.bits, out.parameters.curvature_bits);
  put(options.floor, out.parameters.floor);
  put(options.fraction_bits, out.parameters.weights.fraction_bits);
  put(options.width, out.parameters.weights.width);
  put(options.error, out.error);
  put(options.cap, out.cap);
  put(options.anchor, out.ratio);
  put(options.drift, out.drift);
  put(options.added, out.added);
  out.no_anchor = options.no_anchor != 0;
  out.allow_loose = options.allow_loose != 0;
  return out;
}

Result<RequestOptions> request_options(const zkapex_request_options& options) {
  RequestOptions out;
  ZKAPEX_TRY(out.deployment, required(options.deployment, "the deployment"));
  ZKAPEX_TRY(out.out, required(options.output, "the output"));
  ZKAPEX_TRY(out.window, required(options.window, "the window's name"));
  out.scores = optional(options.scores);
  out.ratio = optional(options.ratio);
  out.after = optional(options.after);
  out.op = optional(options.operation);
  out.guide_from = optional(options.guide_from);
  out.guide_base = optional(options.guide_base);
  put(options.method, out.method);
  put(options.guide_scale, out.guide_scale);
  put(options.pull, out.pull);
  put(options.progress, out.progress);
  put(options.distance, out.distance);
  put(options.distance_removed, out.distance_removed);
  put(options.nonce, out.nonce);
  return out;
}

Result<Bytes, Rejection> handed_in(ByteView file, size_t longest) {
  if (file.size() > longest) {
    return Rejection{Reason::kLength,
                     fmt::format("the file has {} bytes, and no valid one has more than {}", file.size(), longest)};
  }
  return Bytes(file.begin(), file.end());
}

struct Provider {
  Use use;
  const Deployment* deployment;
  Path ledger, base;

  static Result<Provider> take_from(const zkapex_provider* given) {
    ZKAPEX_TRY(const zkapex_provider provider, take(given));
    ZKAPEX_TRY(Use use, capi::use(provider.deployment, Kind::kDeployment));
    ZKAPEX_TRY(Path ledger, required(provider.ledger, "the ledger"));
    return Provider{std::move(use), &provider.deployment->deployment, std::move(ledger), optional(provider.base)};
  }
};

template <class Admit>
Result<Answer> admit_with(const zkapex_session& session, const zkapex_provider* given, const zkapex_buffer& file,
                          const Admit& admit_file) {
  ZKAPEX_TRY(const Provider provider, Provider::take_from(given));
  ZKAPEX_TRY(const ByteView bytes, bytes_of(file, "the file"));
  ZKAPEX_TRY(const std::optional<BaseRows> base,
             open_base_option(provider.base, *provider.deployment, *session.settings.pool));
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(provider.ledger, *provider.deployment));
  WorkProgress progress(session.settings, "verifying", "files", 1);
  ZKAPEX_CHECK(progress.advance(0));
  ZKAPEX_TRY(const auto admission, admit_file(ledger, base ? &*base : nullptr, bytes));
  return Answer{as_json(*provider.deployment, admission), admission.rejection.has_value()};
}

// Where requests are published and answered.
Result<Ledger> open_ledger(const Provider& provider, const Mask& mask) {
  ZKAPEX_TRY(Ledger ledger, Ledger::open(provider.ledger));
  if (ledger.deployment().digest() != provider.deployment->digest())
    return error("{} is the ledger of another deployment", provider.ledger.string());
  ZKAPEX_CHECK(mask.check_for(ledger.deployment()));
  return ledger;
}

Result<std::vector<Judgement>> judge_all(const zkapex_session& session, const Provider& provider, const Mask& mask,
                                         std::span<const zkapex_buffer> proofs) {
  ZKAPEX_TRY(const Ledger ledger, open_ledger(provider, mask));
  ZKAPEX_TRY(const size_t longest, longest_proof_file(ledger.deployment(), mask));
  std::vector<Submission> submissions;
  for (const zkapex_buffer& proof : proofs) {
    ZKAPEX_TRY(const ByteView bytes, bytes_of(proof, "the proof"));
    submissions.push_back([bytes, longest] { return handed_in(bytes, longest); });
  }
  WorkProgress progress(session.settings, "verifying", "clients", proofs.size());
  ZKAPEX_CHECK(progress.advance(0));
  ZKAPEX_TRY(std::vector<Judgement> judgements, judge(ledger, mask, submissions, session.settings));
  ZKAPEX_CHECK(record(ledger, mask, judgements));
  return judgements;
}

Result<Answer> describe_handle(const void* handle) {
  Answer out;
  if (check_handle(handle, Kind::kDeployment)) {
    const Deployment& deployment = static_cast<const zkapex_deployment*>(handle)->deployment;
    describe(deployment, out.report);
    auto& tensors = out.report["covered_tensors"] = nlohmann::ordered_json::array();
    for (const size_t k : deployment.layout().covered()) {
      const LayoutTensor& t = deployment.layout().tensors()[k];
      tensors.push_back({{"name", t.name},
                         {"shape", t.shape},
                         {"weights", t.count},
                         {"first_block", t.first_block},
                         {"blocks", t.full_blocks + (t.rest > 0 ? 1 : 0)}});
    }
    return out;
  }
  if (check_handle(handle, Kind::kRequest)) {
    const auto* request = static_cast<const zkapex_request*>(handle);
    out.report["mask"] = to_hex(request->mask.digest());
    describe(request->mask, request->covered, out.report);
    return out;
  }
  ZKAPEX_CHECK(check_handle(handle, Kind::kCurvature));
  const auto* curvature = static_cast<const zkapex_curvature*>(handle);
  out.report = {{"blocks", curvature->writer.header().blocks},
                {"written", curvature->writer.blocks()},
                {"blocks_from_an_earlier_run", curvature->resumed}};
  return out;
}

}  // namespace

}  // namespace zkapex::capi

using namespace zkapex;
using namespace zkapex::capi;

zkapex_status zkapex_describe(zkapex_session* session, const void* handle) {
  return call(session, [&]() -> Result<Answer> {
    const Kind kind = handle == nullptr ? Kind::kNone : static_cast<const Handle*>(handle)->kind.load();
    const bool described = kind == Kind::kDeployment || kind == Kind::kRequest;
    ZKAPEX_TRY(const Use used, use(handle, described ? kind : Kind::kCurvature));
    return describe_handle(handle);
  });
}

zkapex_status zkapex_deploy(zkapex_session* session, const zkapex_deploy_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_deploy_options options, take(given));
    ZKAPEX_TRY(const DeployRequest request, deploy_request(options));
    ZKAPEX_TRY(const DeployReport done, deploy(request, settings_of(*session, options.force)));
    return Answer{as_json(done)};
  });
}

zkapex_status zkapex_deployment_open(zkapex_session* session, const char* path, zkapex_deployment** out) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_CHECK(check_place(out));
    ZKAPEX_TRY(const Path file, required(path, "the deployment's file"));
    ZKAPEX_TRY(Deployment deployment, read_deployment(file));
    auto handle = std::make_unique<zkapex_deployment>(std::move(deployment));
    ZKAPEX_TRY(Answer answer, describe_handle(handle.get()));
    *out = handle.release();
    return answer;
  });
}

zkapex_status zkapex_request_make(zkapex_session* session, const zkapex_request_options* given) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const zkapex_request_options options, take(given));
    ZKAPEX_TRY(const RequestOptions request, request_options(options));
    ZKAPEX_TRY(const RequestReport done, make_request(request, settings_of(*session, options.force)));
    Answer answer{as_json(done)};
    if (!done.warnings.empty()) answer.report["warnings"] = done.warnings;
    return answer;
  });
}

zkapex_status zkapex_request_open(zkapex_session* session, const char* path, const zkapex_deployment* deployment,
                                  zkapex_request** out) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_CHECK(check_place(out));
    ZKAPEX_TRY(const Path file, required(path, "the request's file"));
    ZKAPEX_TRY(const Use used, use(deployment, Kind::kDeployment));
    ZKAPEX_TRY(Mask mask, read_mask(file, deployment->deployment));
    auto handle = std::make_unique<zkapex_request>(std::move(mask), deployment->deployment.layout().coordinates());
    ZKAPEX_TRY(Answer answer, describe_handle(handle.get()));
    *out = handle.release();
    return answer;
  });
}

zkapex_status zkapex_publish(zkapex_session* session, const zkapex_provider* given, const zkapex_request* request) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Provider provider, Provider::take_from(given));
    ZKAPEX_TRY(const Use used, use(request, Kind::kRequest));
    ZKAPEX_TRY(const Ledger ledger, open_ledger(provider, request->mask));
    ZKAPEX_TRY(const bool first, ledger.publish(request->mask));
    return Answer{published_as_json(request->mask, first)};
  });
}

zkapex_status zkapex_admit(zkapex_session* session, const zkapex_provider* provider, zkapex_buffer file) {
  return call(session, [&] {
    return admit_with(*session, provider, file,
                      [&](const Ledger& ledger, const BaseRows* base, ByteView bytes) -> Result<Admission> {
                        ZKAPEX_TRY(const size_t longest, longest_registration_file(ledger.deployment()));
                        return admit(ledger, base, handed_in(bytes, longest), session->settings);
                      });
  });
}

zkapex_status zkapex_admit_update(zkapex_session* session, const zkapex_provider* provider, zkapex_buffer file) {
  return call(session, [&] {
    return admit_with(*session, provider, file,
                      [&](const Ledger& ledger, const BaseRows* base, ByteView bytes) -> Result<UpdateAdmission> {
                        ZKAPEX_TRY(const size_t windows, ledger.window_count());
                        ZKAPEX_TRY(const size_t longest, longest_update_file(ledger.deployment(), windows));
                        return admit_update(ledger, base, handed_in(bytes, longest), session->settings);
                      });
  });
}

zkapex_status zkapex_verify(zkapex_session* session, const zkapex_provider* given, const zkapex_request* request,
                            zkapex_buffer proof) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Provider provider, Provider::take_from(given));
    ZKAPEX_TRY(const Use used, use(request, Kind::kRequest));
    ZKAPEX_TRY(const std::vector<Judgement> judgements, judge_all(*session, provider, request->mask, {&proof, 1}));
    const Judgement& judgement = judgements.front();
    return Answer{as_json(*provider.deployment, request->mask, judgement), judgement.rejection.has_value()};
  });
}

zkapex_status zkapex_verify_batch(zkapex_session* session, const zkapex_provider* given, const zkapex_request* request,
                                  const zkapex_buffer* proofs, size_t count, zkapex_status* verdicts) {
  return call(session, [&]() -> Result<Answer> {
    ZKAPEX_TRY(const Provider provider, Provider::take_from(given));
    ZKAPEX_TRY(const Use used, use(request, Kind::kRequest));
    if (proofs == nullptr || count == 0) return error("there are no proofs");
    ZKAPEX_TRY(const std::vector<Judgement> judgements, judge_all(*session, provider, request->mask, {proofs, count}));
    size_t rejected = 0;
    auto list = nlohmann::ordered_json::array();
    for (size_t k = 0; k < count; ++k) {
      const bool refused = judgements[k].rejection.has_value();
      rejected += refused ? 1 : 0;
      if (verdicts != nullptr) verdicts[k] = refused ? ZKAPEX_REJECTED : ZKAPEX_OK;
      list.push_back(as_json(*provider.deployment, request->mask, judgements[k]));
    }
    return Answer{{{"window", request->mask.window},
                   {"accepted", count - rejected},
                   {"rejected", rejected},
                   {"clients", std::move(list)}},
                  rejected > 0};
  });
}
