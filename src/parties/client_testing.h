// A small deployment with one client, all of it in files, made as clients make them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "attestation/inputs.h"
#include "curvature/store.h"
#include "parties/base_model.h"
#include "parties/client_window.h"
#include "parties/provider.h"
#include "parties/register_client.h"
#include "unlearning/apply.h"

namespace zkapex::testing {

inline Deployment small_deployment() {
  const std::vector<TensorInfo> tensors = {{.name = "covered", .dtype = Dtype::kF64, .shape = {5, 5}},
                                           {.name = "other", .dtype = Dtype::kF64, .shape = {3}}};
  const Parameters parameters{.curvature_bits = 3,
                              .weights = {.fraction_bits = 10, .width = 14},
                              .floor = 3,
                              .error = {.digits = 5, .places = 1},
                              .cap_numerator = 64,
                              .cap_denominator = 1};
  return *Deployment::make(*Layout::make(tensors, {"covered"}, {.block = 4, .row = 64}), parameters);
}

// The provider's files in a folder; client alice has registered and done one window.
struct World {
  World() {
    std::filesystem::remove_all(folder);  // of a process that crashed and had the same number
    std::filesystem::create_directories(folder);
    settings.pool = &pool;
    write_models();
    deployment = *anchor_deployment(deployment, *Checkpoint::open(base_file()), {}, {}, pool);
    base = *open_base(base_file(), deployment, pool);
    const Bytes bytes = deployment.serialize();
    EXPECT_TRUE(write_file(folder / "deployment.zka", bytes).ok());
    write_store();
    mask.deployment = deployment.digest();
    mask.window = "w1";
    mask.support = {0, 7, 8, 24};
    EXPECT_TRUE(write_file(folder / "psi.zka", mask.serialize()).ok());
    enroll("alice");
    registration = *read_public_file<RegistrationFile>(folder / "alice/registration.zka");
    registered = *assume_registration(deployment, registration);
    proof = *read_public_file<ProofFile>(folder / "alice/proof.zka");
  }
  ~World() { std::filesystem::remove_all(folder); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // A client of that name registers in a folder of that name, does the window, and takes it for settled.
  void enroll(const std::string& client, Operator op = Operator::kGroupObs) {
    begin(client);
    const Status done = apply(client, op);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  void begin(const std::string& client) {
    const auto begun = register_client({.deployment = folder / "deployment.zka",
                                        .model = folder / "model.safetensors",
                                        .store = folder / "store.zka",
                                        .base = base_file(),
                                        .client = client,
                                        .out = folder / client},
                                       settings);
    EXPECT_TRUE(begun.ok()) << begun.error().message;
  }
  Status apply(const std::string& client, Operator op = Operator::kGroupObs) {
    Timings seconds;
    const Path at = folder / client, request = folder / fmt::format("{}.zka", name(op));
    Mask due = mask;
    due.op = op;
    if (op == Operator::kGuided) due.guidance = some_guidance(0.1);
    ZKAPEX_CHECK(write_file(request, due.serialize(), {.overwrite = true}));
    ZKAPEX_TRY(const WindowInputs inputs,
               WindowInputs::open({.client = at, .mask = request, .model = {}, .store = {}}));
    ZKAPEX_TRY(const ComputedWindow computed, compute_window(inputs, at, settings, seconds));
    ZKAPEX_TRY(SecretWriter secret,
               prepare_secret(at / "secret.zka", computed.next, deployment, computed.after.reader(), true));
    ZKAPEX_CHECK(write_file(at / "proof.zka", computed.proof.encode()));
    ZKAPEX_CHECK(write_file(at / "mask.zka", due.serialize(), {.overwrite = true}));
    ZKAPEX_CHECK(secret.commit());
    return Done{};
  }

  // Every weight outside the mask is drawn up by so much; rules that the solution meets.
  [[nodiscard]] Guidance some_guidance(double displacement) const {
    GuideMaker maker(deployment, mask.support);
    for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
      EXPECT_TRUE(maker.add_block(std::vector<double>(deployment.layout().block(b).count, displacement)).ok());
    }
    return {.pull = 50, .progress = 100, .distance = 1000, .distance_removed = 5000, .guide = maker.finish()};
  }

  [[nodiscard]] Path base_file() const { return folder / "base.safetensors"; }

  // The client's, and a base model near it.
  void write_models() {
    std::vector<double> values(25);
    for (double& v : values) v = static_cast<double>(rng() % 2000) / 1000 - 1;
    write_model("model.safetensors", values, {1, 2, 3});
    for (double& v : values) v += static_cast<double>(rng() % 200) / 1000 - 0.1;
    write_model("base.safetensors", values, {1.25, 2, 2.5});
  }
  void write_model(const std::string& file, const std::vector<double>& covered,
                   const std::vector<double>& other) const {
    Bytes weights, others;
    EXPECT_TRUE(append_elements(Dtype::kF64, covered, weights).ok());
    EXPECT_TRUE(append_elements(Dtype::kF64, other, others).ok());
    EXPECT_TRUE(write_checkpoint(folder / file,
                                 {TensorSource::of({"covered", Dtype::kF64, {5, 5}}, weights),
                                  TensorSource::of({"other", Dtype::kF64, {3}}, others)},
                                 {}, {.overwrite = true})
                    .ok());
  }

  void write_store() {
    StoreWriter writer = *StoreWriter::open(folder / "store.zka", store_header_for(deployment), "test");
    for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
      std::vector<int16_t> factor(triangle_size(4));
      const uint64_t real = triangle_size(deployment.layout().block(b).count);
      for (uint64_t k = 0; k < real; ++k) factor[k] = static_cast<int16_t>(static_cast<int>(rng() % 7) - 3);
      EXPECT_TRUE(writer.append(factor).ok());
    }
    EXPECT_TRUE(writer.finish().ok());
  }

  std::mt19937_64 rng{1};
  ThreadPool pool{2};
  Path folder = Path(::testing::TempDir()) / fmt::format("zkapex-world-{}", ::getpid());
  WorkSettings settings;
  Deployment deployment = small_deployment();
  BaseRows base;
  Mask mask;
  RegistrationFile registration;
  std::optional<Registered> registered;
  ProofFile proof;
  Generators generators = Generators::derive(2048, pool);
};

}  // namespace zkapex::testing
