#include "attestation/client.h"

#include <bit>
#include <chrono>

#include "argument/row_openings.h"
#include "attestation/client_model.h"
#include "attestation/inputs.h"
#include "attestation/provider.h"
#include "attestation/registration_prover.h"
#include "attestation/secret_file.h"
#include "attestation/window_prover.h"

namespace zkapex {

namespace {

class Stopwatch {
 public:
  explicit Stopwatch(Timings& out) : out_(out) {}
  void lap(std::string name) {
    const auto now = std::chrono::steady_clock::now();
    out_.emplace_back(std::move(name), std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  Timings& out_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Rows of the tensors that no operator touches. They are committed, not proved: any integer will do.
Result<CommittedRows> commit_unchanged(const Deployment& deployment, const Checkpoint& model,
                                       const Generators& generators, Nonces& nonces, ThreadPool& pool) {
  const Layout& layout = deployment.layout();
  const uint32_t fraction_bits = deployment.parameters().weights.fraction_bits;
  const uint64_t n = layout.geometry().row;
  CommittedRows out;
  std::vector<int64_t> row(n);
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    const LayoutTensor& tensor = layout.tensors()[k];
    if (tensor.covered) continue;
    for (uint64_t t = 0; t < tensor.rows; ++t) {
      std::fill(row.begin(), row.end(), 0);
      const uint64_t count = std::min(n, tensor.count - t * n);
      ZKAPEX_CHECK(read_unchanged(model.tensors()[k], fraction_bits, t * n, std::span(row).first(count)));
      ZKAPEX_TRY(const CommittedRows committed, commit_integers_var(generators, row, n, nonces, pool));
      out.encoded.push_back(committed.encoded[0]);
      out.blindings.push_back(committed.blindings[0]);
    }
  }
  return out;
}

// Reads covered weights of a checkpoint by coordinate: whole blocks, as provers ask for them.
CoordinateReader checkpoint_coordinates(const Deployment& deployment, const Checkpoint& model) {
  return [&deployment, &model](uint64_t first, std::span<int64_t> out) {
    const Layout::Place place = deployment.layout().place(first);
    return deployment.parameters().weights.read(model.tensors()[place.tensor], place.element, out);
  };
}

Status write_unlearned(const Path& path, const Deployment& deployment, const Checkpoint& model,
                       const PackedWeights& weights, bool force) {
  const Layout& layout = deployment.layout();
  std::vector<TensorSource> sources;
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    const TensorView& view_of = model.tensors()[k];
    const LayoutTensor& tensor = layout.tensors()[k];
    if (!tensor.covered) {
      sources.push_back(TensorSource::of(view_of.info(), view_of.data()));
      continue;
    }
    sources.push_back({view_of.info(), [&, info = view_of.info()](const ByteSink& sink) -> Status {
                         constexpr uint64_t kPiece = 1 << 16;
                         std::vector<int64_t> integers;
                         std::vector<double> values;
                         Bytes bytes;
                         for (uint64_t at = 0; at < tensor.count; at += kPiece) {
                           integers.resize(std::min(kPiece, tensor.count - at));
                           weights.get(tensor.first_coordinate + at, integers);
                           values.clear();
                           for (const int64_t v : integers)
                             values.push_back(deployment.parameters().weights.to_double(v));
                           bytes.clear();
                           ZKAPEX_CHECK(append_elements(info.dtype, values, bytes));
                           ZKAPEX_CHECK(sink(bytes));
                         }
                         return Done{};
                       }});
  }
  return write_checkpoint(path, sources, model.metadata(), {.overwrite = force});
}

// The operator on the client's model.
Result<UnlearnedModel> run_operator(const Deployment& deployment, const Mask& mask, Operator op,
                                    const StoreReader& store, const CoordinateReader& read,
                                    const WorkSettings& settings, ObsSummary& summary) {
  const Layout& layout = deployment.layout();
  UnlearnedModel out(deployment);
  Progress progress(settings.progress, "unlearning", "blocks", layout.blocks());
  if (op == Operator::kMaskOnly) {
    std::vector<int64_t> theta;
    size_t next = 0;
    for (uint64_t b = 0; b < layout.blocks(); ++b) {
      const Layout::Block block = layout.block(b);
      theta.resize(block.count);
      ZKAPEX_CHECK(read(block.first_coordinate, theta));
      for (; next < mask.support.size() && mask.support[next] < block.first_coordinate + block.count; ++next) {
        theta[mask.support[next] - block.first_coordinate] = 0;
      }
      out.set_block(block, theta, 0);
      progress.advance();
    }
    summary.blocks = layout.blocks();
    return out;
  }
  const BlockReader blocks = [&](uint64_t index, std::span<int64_t> theta) {
    return read(layout.block(index).first_coordinate, theta);
  };
  const BlockSink sink = [&](uint64_t index, std::span<const int64_t> theta, const ObsOutcome& outcome) {
    out.set_block(layout.block(index), theta, outcome.residual);
    progress.advance();
    return Status(Done{});
  };
  ZKAPEX_TRY(summary, apply_group_obs(deployment, mask, store, blocks, sink, *settings.pool));
  return out;
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
  ZKAPEX_TRY(const Deployment deployment, read_deployment(request.deployment));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(request.model));
  ZKAPEX_CHECK(deployment.layout().check_tensors(model.tensors()));
  ZKAPEX_TRY(const StoreReader store, open_store(request.store, deployment));
  const ClientFolder folder{request.out};
  std::error_code failed;
  std::filesystem::create_directories(folder.folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder.folder.string(), failed.message());
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  // The secret comes last: files beside none are what an interrupted registration left.
  if (!settings.force && std::filesystem::exists(folder.secret())) {
    return error("{} exists already; choose another folder, or --force to replace this client",
                 folder.secret().string());
  }

  const Layout& layout = deployment.layout();
  const RegistrationCut cut{cut_rows(layout.rows(), rows_per_segment(deployment, settings.memory)),
                            request.certificate
                                ? cut_rows(curvature_rows(layout), curvature_rows_per_unit(deployment, settings.memory))
                                : Segmentation{}};
  ZKAPEX_TRY(const RegistrationPlan plan, RegistrationPlan::make(deployment, request.certificate, cut));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  watch.lap("prepare");

  Sha512 uncovered;
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    if (!layout.tensors()[k].covered) uncovered.update(model.tensors()[k].data());
  }
  ZKAPEX_TRY(Nonces nonces,
             Nonces::create({view("unchanged"), view(request.client), deployment.digest(), uncovered.finish()}));
  ZKAPEX_TRY(const CommittedRows unchanged, commit_unchanged(deployment, model, generators, nonces, *settings.pool));
  watch.lap("commit_unchanged");
  const CoordinateReader read = checkpoint_coordinates(deployment, model);
  const ClientModel reader(deployment, read, store);
  const RegistrationStatement statement{&deployment, request.client, unchanged.encoded, {}};
  ZKAPEX_TRY(Scratch scratch, Scratch::in(folder.folder));
  Progress progress(settings.progress, "registering", "parts", plan.units().size());
  ZKAPEX_TRY(ProvedRegistration proved,
             prove_registration(statement, plan, reader, settings.memory / 2, generators, *settings.pool,
                                {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }}));
  watch.lap("commit_and_prove");

  const RegistrationFile file{
      deployment.digest(),         request.client,       request.certificate, cut, unchanged.encoded,
      std::move(proved.curvature), proved.proof.encode()};
  ZKAPEX_TRY(const Registered registered, [&]() -> Result<Registered> {
    auto rows = open_registration(deployment, file, false, generators, *settings.pool);
    if (!rows) return error("{}", rows.error().detail);
    return *std::move(rows);
  }());
  ClientSecret secret{deployment.digest(),
                      registered.digest,
                      request.client,
                      std::filesystem::absolute(request.model).string(),
                      std::filesystem::absolute(request.store).string(),
                      {},
                      registered.model.rows,
                      std::move(proved.model_blindings),
                      std::move(proved.curvature_blindings)};
  const unsigned width = deployment.parameters().weights.width;
  ZKAPEX_TRY(SecretWriter writer, SecretWriter::create(folder.secret(), secret, width, settings.force));
  std::vector<int64_t> theta;
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    theta.resize(block.count);
    ZKAPEX_CHECK(read(block.first_coordinate, theta));
    ZKAPEX_CHECK(writer.write(theta));
  }
  const Bytes bytes = file.encode();
  ZKAPEX_CHECK(write_file(folder.deployment(), deployment.serialize(), {.overwrite = true}));
  ZKAPEX_CHECK(write_file(folder.registration(), bytes, {.overwrite = true}));
  ZKAPEX_CHECK(writer.commit());
  watch.lap("write");
  report.registration = registered.digest;
  report.registration_bytes = bytes.size();
  return report;
}

Result<UnlearnReport> unlearn(const UnlearnRequest& request, const WorkSettings& settings) {
  UnlearnReport report;
  Stopwatch watch(report.seconds);
  for (const Path& file : {request.model_out, request.proof_out}) {
    if (!settings.force && std::filesystem::exists(file))
      return error("{} exists already; --force replaces it", file.string());
  }
  const ClientFolder folder{request.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));  // two at once would leave one state of two
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(const RegistrationFile registration, read_public_file<RegistrationFile>(folder.registration()));
  ZKAPEX_TRY(const OpenSecret state, OpenSecret::open(folder.secret(), deployment));
  const ClientSecret& secret = state.secret();
  ZKAPEX_TRY(const Mask mask, read_mask(request.mask, deployment));
  if (has_applied(secret.windows, mask.window))
    return error("the window '{}' was applied to this client already", mask.window);
  std::optional<Mask> last_mask;
  if (!secret.windows.empty()) {
    ZKAPEX_TRY(last_mask, read_mask(folder.mask(), deployment));
    if (!mask.contains(*last_mask)) {
      return error(
          "{} leaves out weights that the window '{}' removed from this client: ask the provider for a mask that "
          "was made with mask --after",
          request.mask.string(), secret.windows.back().window);
    }
  }
  if (secret.windows.size() == kMaxWindows) {
    return error("this client has applied {} windows, as many as a registration allows: register it anew", kMaxWindows);
  }
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(request.model.empty() ? Path(secret.model_file) : request.model));
  ZKAPEX_CHECK(deployment.layout().check_tensors(model.tensors()));
  ZKAPEX_TRY(const StoreReader store,
             open_store(request.store.empty() ? Path(secret.store_file) : request.store, deployment));
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(const WindowPlan plan,
             WindowPlan::make(deployment, mask, request.op,
                              cut_rows(layout.rows(), rows_per_segment(deployment, settings.memory))));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  ZKAPEX_TRY(const Registered registered, [&]() -> Result<Registered> {
    auto rows = open_registration(deployment, registration, false, generators, *settings.pool);
    if (!rows) return error("{}: {}", folder.registration().string(), rows.error().detail);
    return *std::move(rows);
  }());
  if (registered.digest != secret.registration)
    return error("{} is not the registration of this secret", folder.registration().string());
  watch.lap("prepare");

  const CoordinateReader read = [&](uint64_t first, std::span<int64_t> out) { return state.read(first, out); };
  const ClientModel before(deployment, read, store);
  ZKAPEX_TRY(const UnlearnedModel after,
             run_operator(deployment, mask, request.op, store, read, settings, report.summary));
  watch.lap("apply");
  ZKAPEX_TRY(const WindowBits bits, WindowBits::make(deployment, plan, before, after, *settings.pool));
  const ClientRecord record{registered, {registered.digest, secret.windows, secret.rows}, std::move(last_mask)};
  const ModelCommitment& current = record.current;
  const WindowStatement statement = window_statement(deployment, registered, current, mask);
  const ModelOpenings openings{{secret.model_blindings.data(), secret.model_blindings.size()},
                               {secret.curvature_blindings.data(), secret.curvature_blindings.size()}};
  ZKAPEX_TRY(Scratch scratch, Scratch::in(request.client));
  Progress progress(settings.progress, "proving", "segments", plan.segments().size());
  ZKAPEX_TRY(WindowProof proved,
             prove_window(statement, plan, bits, before, openings, settings.memory / 6, generators, *settings.pool,
                          {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }}));
  watch.lap("prove");

  const ProofFile file{request.op,    deployment.digest(), registered.digest,   mask.digest(),        current.digest(),
                       secret.client, mask.window,         plan.segmentation(), proved.proof.encode()};
  const Bytes bytes = file.encode();
  // Another store than the registered one, or a machine that errs, must not move the client to where no provider
  // follows.
  const Verdict verdict = verify_window_file(deployment, record, mask, file, generators, *settings.pool);
  if (!verdict) {
    return error("the proof does not hold ({}): is the curvature store the one that was registered?",
                 name(verdict.error().reason));
  }
  watch.lap("verify");
  ZKAPEX_TRY(const ModelCommitment next, [&]() -> Result<ModelCommitment> {
    auto rows = next_model(deployment, current, mask, file, *settings.pool);
    if (!rows) return error("{}", rows.error().detail);
    return *std::move(rows);
  }());
  ClientSecret moved{
      secret.deployment,
      secret.registration,
      secret.client,
      std::filesystem::absolute(request.model.empty() ? Path(secret.model_file) : request.model).string(),
      std::filesystem::absolute(request.store.empty() ? Path(secret.store_file) : request.store).string(),
      next.windows,
      next.rows,
      std::move(proved.blindings),
      secret.curvature_blindings.clone()};
  ZKAPEX_TRY(SecretWriter writer, SecretWriter::create(folder.secret(), moved, plan.width(), true));
  std::vector<int64_t> theta;
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    theta.resize(block.count);
    after.packed().get(block.first_coordinate, theta);
    ZKAPEX_CHECK(writer.write(theta));
  }
  ZKAPEX_CHECK(write_unlearned(request.model_out, deployment, model, after.packed(), settings.force));
  ZKAPEX_CHECK(write_file(request.proof_out, bytes, {.overwrite = settings.force}));
  ZKAPEX_CHECK(write_file(folder.mask(), mask.serialize(), {.overwrite = true}));
  ZKAPEX_CHECK(writer.commit());  // last: until here the client is where it was
  watch.lap("write");
  report.masked = mask.support.size();
  report.proof_bytes = bytes.size();
  return report;
}

}  // namespace zkapex
