#include "cli/service/bench_clients.h"

#include "base/first_error.h"
#include "cli/made_up_window.h"
#include "parties/client.h"

namespace zkapex::cli {

namespace {

constexpr uint64_t kBenchSeed = 1;

Result<Deployment> bench_deployment(uint64_t width, uint64_t hidden) {
  const std::vector<TensorInfo> tensors = {{"layers.0.fc1.weight", Dtype::kF32, {hidden, width}},
                                           {"layers.0.fc2.weight", Dtype::kF32, {width, hidden}}};
  const Geometry geometry{.block = 16, .row = 1024};
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, {"layers.{i}.fc1.weight", "layers.{i}.fc2.weight"}, geometry));
  return Deployment::make(std::move(layout), Parameters{});
}

struct BenchPlans {
  const Deployment& deployment;
  const Mask& mask;
  const StoreReader& store;
  RegistrationPlan registration;
  WindowPlan window;
  Generators generators;
};

Result<BenchClient> make_bench_client(const BenchPlans& plans, const Path& folder, const WorkSettings& settings) {
  ZKAPEX_TRY(const std::string name, random_pseudonym());
  ZKAPEX_TRY(SigningKey key, SigningKey::generate());
  Client client{};
  client.deployment = &plans.deployment;
  client.read = made_up_weights(plans.deployment, kBenchSeed);
  client.store = &plans.store;
  const ClientModel model(plans.deployment, client.read, plans.store);
  ZKAPEX_TRY(const NewRegistration registered, make_registration(plans.deployment, nullptr, name, plans.registration,
                                                                 model, folder, plans.generators, settings));
  const ProvedRegistration& proved = registered.proved;
  client.record = {registered.registered, registered.registered.model, {}};
  client.openings = {{proved.model_blindings.data(), proved.model_blindings.size()},
                     {proved.curvature_blindings.data(), proved.curvature_blindings.size()}};
  ZKAPEX_TRY(const AppliedOperator applied, apply_operator(client, plans.mask, folder, settings));
  ZKAPEX_TRY(const ProvedWindow window,
             attest_window(client, plans.mask, plans.window, applied.after, folder, plans.generators, settings));
  BenchClient out{name, std::move(key), registered.file.encode(), window.file.encode()};
  out.registered = registered.file.digest();
  out.starts_from = registered.registered.model.digest();
  return out;
}

}  // namespace

Result<BenchWorld> make_bench_world(uint64_t width, uint64_t hidden, size_t clients, const Path& folder,
                                    const WorkSettings& settings) {
  ZKAPEX_TRY(Deployment deployment, bench_deployment(width, hidden));
  ZKAPEX_TRY(Mask mask, made_up_mask(deployment, 0.04, kBenchSeed, false));
  ZKAPEX_CHECK(make_up_store(folder / "store.zka", deployment, kBenchSeed, *settings.pool, ProgressStyle::kSilent));
  ZKAPEX_TRY(const StoreReader store, StoreReader::open(folder / "store.zka"));
  ZKAPEX_TRY(RegistrationPlan registration, plan_registration(deployment, settings));
  ZKAPEX_TRY(WindowPlan window, plan_window(deployment, mask, settings));
  const size_t generators = std::max(registration.shape().generators(), window.shape().generators());
  const BenchPlans plans{deployment,
                         mask,
                         store,
                         std::move(registration),
                         std::move(window),
                         Generators::derive(generators, *settings.pool)};
  std::vector<std::optional<BenchClient>> made(clients);
  FirstError failed;
  Progress progress(settings.progress, "making clients", "clients", clients);
  settings.pool->for_each(clients, [&](size_t k) {
    auto client = make_bench_client(plans, folder, settings);
    if (client.ok()) {
      made[k].emplace(std::move(*client));
    } else {
      failed.note(client.error());
    }
    progress.advance();
  });
  ZKAPEX_CHECK(failed.status());
  BenchWorld out{std::move(deployment), std::move(mask), {}};
  for (auto& client : made) out.clients.push_back(std::move(*client));
  return out;
}

}  // namespace zkapex::cli
