#include "attestation/client.h"

#include <bit>

#include "attestation/client_model.h"
#include "attestation/inputs.h"
#include "attestation/provider.h"
#include "attestation/registration_prover.h"
#include "attestation/secret_file.h"

namespace zkapex {

namespace {

struct RegistrationInputs {
  Deployment deployment;
  Checkpoint model;
  StoreReader store;

  static Result<RegistrationInputs> open(const RegisterRequest& request) {
    ZKAPEX_TRY(Deployment deployment, read_deployment(request.deployment));
    ZKAPEX_TRY(Checkpoint model, Checkpoint::open(request.model));
    ZKAPEX_CHECK(deployment.layout().check_tensors(model.tensors()));
    ZKAPEX_TRY(StoreReader store, open_store(request.store, deployment));
    return RegistrationInputs{std::move(deployment), std::move(model), std::move(store)};
  }
};

Result<RegistrationPlan> plan_registration(const Deployment& deployment, bool certificate,
                                           const WorkSettings& settings) {
  const Layout& layout = deployment.layout();
  RegistrationCut cut{cut_rows(layout.rows(), rows_per_segment(deployment, settings.memory)), {}};
  if (certificate) {
    cut.curvature = cut_rows(curvature_rows(layout), curvature_rows_per_unit(deployment, settings.memory));
  }
  return RegistrationPlan::make(deployment, certificate, cut);
}

// Blindings are hedged with what they hide.
Result<CommittedRows> commit_uncovered_of(const std::string& client, const RegistrationInputs& inputs,
                                          const Generators& generators, ThreadPool& pool) {
  const Layout& layout = inputs.deployment.layout();
  Sha512 uncovered;
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    if (!layout.tensors()[k].covered) uncovered.update(inputs.model.tensors()[k].data());
  }
  ZKAPEX_TRY(Nonces nonces,
             Nonces::create({view("unchanged"), view(client), inputs.deployment.digest(), uncovered.finish()}));
  return commit_uncovered(inputs.deployment, inputs.model, generators, nonces, pool);
}

Result<ProvedRegistration> prove(const RegisterRequest& request, const RegistrationInputs& inputs,
                                 const RegistrationPlan& plan, const CommittedRows& uncovered,
                                 const CoordinateReader& read, const Generators& generators,
                                 const WorkSettings& settings) {
  const ClientModel reader(inputs.deployment, read, inputs.store);
  const RegistrationStatement statement{&inputs.deployment, request.client, uncovered.encoded, {}};
  ZKAPEX_TRY(Scratch scratch, Scratch::in(request.out));
  Progress progress(settings.progress, "registering", "parts", plan.units().size());
  return prove_registration(statement, plan, reader, settings.memory / 2, generators, *settings.pool,
                            {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }});
}

// The secret is on disk before anything is replaced, and gets its name last. What an earlier registration left beside
// it belongs to nobody any more.
Status save(const ClientFolder& folder, const Deployment& deployment, const Bytes& registration,
            const ClientSecret& secret, const CoordinateReader& read, bool force) {
  ZKAPEX_TRY(SecretWriter writer, prepare_secret(folder.secret(), secret, deployment, read, force));
  ZKAPEX_CHECK(write_file(folder.deployment(), deployment.serialize(), {.overwrite = true}));
  ZKAPEX_CHECK(write_file(folder.registration(), registration, {.overwrite = true}));
  for (const Path& old : {folder.mask(), folder.settled_proof(), folder.pending(), folder.settling()}) {
    std::error_code failed;
    std::filesystem::remove_all(old, failed);
    if (failed) return error("cannot remove {}: {}", old.string(), failed.message());
  }
  return writer.commit();
}

}  // namespace

uint64_t rows_per_segment(const Deployment& deployment, uint64_t memory) {
  // Half of the budget: the bits of all rows are in memory too. A segment's sumchecks hold about 200 bytes an index.
  constexpr uint64_t kBytesPerIndex = 200;
  const uint64_t rows = std::max<uint64_t>(1, memory / 2 / (kBytesPerIndex * deployment.layout().geometry().row));
  return std::bit_floor(std::min<uint64_t>(rows, uint64_t{1} << 30));
}

uint64_t curvature_rows_per_unit(const Deployment& deployment, uint64_t memory) {
  // Packed bits, their planes, and tables a 64th as long: about 8 bytes an entry.
  constexpr uint64_t kBytesPerEntry = 8;
  const uint64_t rows = std::max<uint64_t>(1, memory / 2 / (kBytesPerEntry * deployment.layout().geometry().row));
  return std::bit_floor(std::min<uint64_t>(rows, uint64_t{1} << 30));
}

Generators load_generators(size_t count, const WorkSettings& settings) {
  constexpr size_t kUnit = size_t{1} << 14;
  if (count <= kUnit || settings.cache.empty()) return Generators::derive(count, *settings.pool);
  return Generators::cached((count + kUnit - 1) / kUnit * kUnit, settings.cache, *settings.pool);
}

Result<RegisterReport> register_client(const RegisterRequest& request, const WorkSettings& settings) {
  RegisterReport report;
  Stopwatch watch(report.seconds);
  ZKAPEX_CHECK(check_client_name(request.client));
  ZKAPEX_TRY(const RegistrationInputs inputs, RegistrationInputs::open(request));
  const Deployment& deployment = inputs.deployment;
  const ClientFolder folder{request.out};
  if (is_temporary_name(folder.folder.filename().string()) || std::filesystem::exists(folder.folder / "clients"))
    return error("{} cannot be a client's folder: choose a new one", folder.folder.string());
  ZKAPEX_CHECK(make_private_folder(folder.folder));
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  // The secret comes last: files beside none are what an interrupted registration left.
  if (!settings.force && std::filesystem::exists(folder.secret())) {
    return error("{} exists already; choose another folder, or --force to replace this client",
                 folder.secret().string());
  }
  remove_stale_temporaries(folder.folder);
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(deployment, request.certificate, settings));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  watch.lap("prepare");

  ZKAPEX_TRY(CommittedRows uncovered, commit_uncovered_of(request.client, inputs, generators, *settings.pool));
  watch.lap("commit_unchanged");
  const CoordinateReader read = checkpoint_coordinates(deployment, inputs.model);
  ZKAPEX_TRY(ProvedRegistration proved, prove(request, inputs, plan, uncovered, read, generators, settings));
  watch.lap("commit_and_prove");

  const RegistrationFile file{deployment.digest(),  request.client,    request.certificate,
                              plan.cut(),           uncovered.encoded, std::move(proved.curvature),
                              proved.proof.encode()};
  ZKAPEX_TRY(const Registered registered, [&]() -> Result<Registered> {
    auto rows = open_registration(deployment, file, false, generators, *settings.pool);
    if (!rows) return error("{}", rows.error().detail);
    return *std::move(rows);
  }());
  const ClientSecret secret{.deployment = deployment.digest(),
                            .registration = registered.digest,
                            .client = request.client,
                            .model_file = std::filesystem::absolute(request.model).string(),
                            .store_file = std::filesystem::absolute(request.store).string(),
                            .windows = {},
                            .rows = registered.model.rows,
                            .model_blindings = std::move(proved.model_blindings),
                            .curvature_blindings = std::move(proved.curvature_blindings),
                            .uncovered_blindings = std::move(uncovered.blindings),
                            .uncovered = digest_uncovered(deployment.layout(), inputs.model)};
  const Bytes bytes = file.encode();
  ZKAPEX_CHECK(save(folder, deployment, bytes, secret, read, settings.force));
  watch.lap("write");
  report.registration = registered.digest;
  report.registration_sha256 = sha256(bytes);
  report.registration_bytes = bytes.size();
  return report;
}

}  // namespace zkapex
