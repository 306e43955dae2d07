// The operator with its proof, as a client and its provider would have it, and what that costs.
#include "base/memory.h"
#include "base/stopwatch.h"
#include "experiments/unlearn_once.h"
#include "parties/admission.h"
#include "parties/base_model.h"
#include "parties/judge.h"
#include "parties/ledger.h"
#include "parties/register_client.h"
#include "parties/unlearn.h"
#include "tables/folders.h"

namespace zkapex {

using nlohmann::ordered_json;

namespace {

Status require(const std::optional<Rejection>& rejection, std::string_view what) {
  if (!rejection) return Done{};
  return error("an honest {} was rejected ({}): {}", what, name(rejection->reason), rejection->detail);
}

// Verified alone: the registration, then the window.
Result<ordered_json> verify(const Published& published, const Path& base, const Path& folder, const Path& state,
                            const Path& proof, const WorkSettings& work) {
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(folder / "ledger", published.deployment));
  const Stopwatch whole;
  ZKAPEX_TRY(const BaseRows rows, open_base(base, published.deployment, *work.pool));
  ZKAPEX_TRY(const Bytes registration, read_file(state / "registration.zka", kMaxPublicFile));
  ZKAPEX_TRY(const Admission admission, admit(ledger, &rows, registration, work));
  ZKAPEX_CHECK(require(admission.rejection, "registration"));
  const Stopwatch window;
  ZKAPEX_TRY(const Bytes bytes, read_file(proof, kMaxPublicFile));
  const Submission submission = [&] { return bytes; };
  ZKAPEX_TRY(const std::vector<Judgement> judgements, judge(ledger, published.mask, {&submission, 1}, work));
  ZKAPEX_CHECK(require(judgements.front().rejection, "proof"));
  return ordered_json{{"verify_with_registration_seconds", whole.seconds()}, {"verify_seconds", window.seconds()}};
}

}  // namespace

Result<Proved> proved_model(Vision& vision, const Published& published, const OperatorSettings& settings) {
  const Path folder = vision.work().scratch;
  const WorkSettings& work = vision.work().work;
  ZKAPEX_TRY(const Path original, vision.original());
  const Path base = original / "model.safetensors";
  ZKAPEX_TRY(const Path personal, vision.personal());
  ZKAPEX_TRY(auto model, vision.load(personal));
  const Path deployment = folder / "deployment.zka", mask = folder / "psi.zka", store = folder / "curvature.zka";
  const Path state = folder / "state", unlearned = folder / "unlearned", proof = folder / "proof.zka";
  ZKAPEX_CHECK(write_file(deployment, published.deployment.serialize()));
  ZKAPEX_CHECK(write_file(mask, published.mask.serialize()));
  ZKAPEX_CHECK(personal_curvature(vision, *model, published, settings, store));

  ZKAPEX_TRY(const RegisterReport registered, register_client({.deployment = deployment,
                                                               .model = personal / "model.safetensors",
                                                               .store = store,
                                                               .base = base,
                                                               .client = "client",
                                                               .out = state},
                                                              work));
  ZKAPEX_CHECK(make_folder(unlearned));
  for (const char* file : {"config.json", "adaptformer.json", "adaptformer.safetensors"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(personal / file, ignored)) continue;
    ZKAPEX_CHECK(replace_file(personal / file, unlearned / file));
  }
  const MemoryMeter memory;
  ZKAPEX_TRY(const UnlearnReport done, unlearn({.client = state,
                                                .mask = mask,
                                                .model_out = unlearned / "model.safetensors",
                                                .proof_out = proof,
                                                .model = {},
                                                .store = {}},
                                               work));
  const uint64_t prover_memory = memory.most_added();
  ZKAPEX_TRY(ordered_json figures, verify(published, base, folder, state, proof, work));
  figures["register_seconds"] = registered.seconds.total();
  figures["registration_bytes"] = registered.registration_bytes;
  figures["apply_seconds"] = done.seconds.of("apply");
  figures["prove_seconds"] = done.seconds.of("prove");
  figures["prove_memory_bytes"] = prover_memory;
  figures["proof_bytes"] = done.proof_bytes;
  ZKAPEX_TRY(model, vision.load(unlearned));
  return Proved{std::move(model), std::move(figures)};
}

}  // namespace zkapex
