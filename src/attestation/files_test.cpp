// The files of a whole small deployment, made as clients make them; then every byte of them changed.
#include "attestation/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "attestation/client.h"
#include "attestation/inputs.h"
#include "attestation/provider.h"
#include "attestation/secret_file.h"
#include "curvature/store.h"
#include "unlearning/apply.h"

namespace zkapex {
namespace {

Deployment small_deployment() {
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

// One client that has registered and done one window, in a folder of its own.
class FilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }

  struct World {
    World() {
      std::filesystem::create_directories(folder);
      settings.pool = &pool;
      const Bytes bytes = deployment.serialize();
      EXPECT_TRUE(write_file(folder / "deployment.zka", bytes).ok());
      write_model();
      write_store();
      mask.deployment = deployment.digest();
      mask.window = "w1";
      mask.support = {0, 7, 8, 24};
      EXPECT_TRUE(write_file(folder / "psi.zka", mask.serialize()).ok());
      const auto begun = register_client({.deployment = folder / "deployment.zka",
                                          .model = folder / "model.safetensors",
                                          .store = folder / "store.zka",
                                          .client = "alice",
                                          .certificate = true,
                                          .out = folder / "client"},
                                         settings);
      EXPECT_TRUE(begun.ok()) << begun.error().message;
      const auto unlearned = unlearn({.client = folder / "client",
                                      .mask = folder / "psi.zka",
                                      .op = Operator::kGroupObs,
                                      .model_out = folder / "u.safetensors",
                                      .proof_out = folder / "proof.zka",
                                      .model = {},
                                      .store = {}},
                                     settings);
      EXPECT_TRUE(unlearned.ok()) << unlearned.error().message;
      registration = *read_public_file<RegistrationFile>(folder / "client/registration.zka");
      registered = *assume_registration(deployment, registration, pool);
      proof = *read_public_file<ProofFile>(folder / "proof.zka");
    }
    ~World() { std::filesystem::remove_all(folder); }

    void write_model() {
      Bytes weights, others;
      std::vector<double> values(25);
      for (double& v : values) v = static_cast<double>(rng() % 2000) / 1000 - 1;
      EXPECT_TRUE(append_elements(Dtype::kF64, values, weights).ok());
      EXPECT_TRUE(append_elements(Dtype::kF64, std::vector<double>{1, 2, 3}, others).ok());
      EXPECT_TRUE(write_checkpoint(folder / "model.safetensors",
                                   {TensorSource::of({"covered", Dtype::kF64, {5, 5}}, weights),
                                    TensorSource::of({"other", Dtype::kF64, {3}}, others)},
                                   {})
                      .ok());
    }

    void write_store() {
      StoreWriter writer = *StoreWriter::open(folder / "store.zka", store_header_for(deployment));
      for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
        std::vector<int16_t> factor(triangle_size(4));
        const uint64_t real = triangle_size(deployment.layout().block(b).count);
        for (uint64_t k = 0; k < real; ++k) factor[k] = static_cast<int16_t>(static_cast<int>(rng() % 8) - 4);
        EXPECT_TRUE(writer.append(factor).ok());
      }
      EXPECT_TRUE(writer.finish().ok());
    }

    std::mt19937_64 rng{1};
    ThreadPool pool{2};
    Path folder = Path(::testing::TempDir()) / fmt::format("zkapex-files-{}", ::getpid());
    WorkSettings settings;
    Deployment deployment = small_deployment();
    Mask mask;
    RegistrationFile registration;
    std::optional<Registered> registered;
    ProofFile proof;
    Generators generators = Generators::derive(2048, pool);
  };

  static Result<Registered, Rejection> open(const RegistrationFile& file) {
    return open_registration(world_->deployment, file, true, world_->generators, world_->pool);
  }
  static Verdict verify(const Mask& mask, const ProofFile& file) {
    const Registered& registered = *world_->registered;
    return verify_window_file(world_->deployment, registered, registered.model, mask, file, world_->generators,
                              world_->pool);
  }

  // Every byte of the file as it lies on disk.
  template <class File>
  static void expect_no_flip_is_read(const Bytes& bytes) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const uint8_t bit : {uint8_t{1}, uint8_t{128}}) {
        Bytes changed = bytes;
        changed[at] ^= bit;
        EXPECT_FALSE(File::decode(changed).ok()) << at;
      }
    }
    for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(File::decode(ByteView(bytes).first(size)).ok());
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(File::decode(longer).ok());
  }

  // With its digest made right again: every byte before the proof and every seventh of it, so that all places within a
  // scalar or a point are met.
  template <class File, class Check>
  static void expect_flips_rejected(const Bytes& bytes, size_t proof_size, const Check& check) {
    const size_t head = File::kKind.magic.size() + 4;
    const Bytes content(bytes.begin() + static_cast<ptrdiff_t>(head), bytes.end() - 32);
    size_t read = 0;
    for (size_t at = 0; at < content.size(); at += at < content.size() - proof_size ? 1 : 7) {
      Bytes changed = content;
      changed[at] ^= static_cast<uint8_t>(1U << (at % 8));
      const Result<File> file = File::decode(frame(File::kKind, changed));
      if (!file) continue;
      ++read;
      EXPECT_EQ(file->encode(), frame(File::kKind, changed));
      EXPECT_FALSE(check(*file)) << at;
    }
    EXPECT_GE(read, proof_size / 7);  // the bytes of the proof are looked at behind the file's own format
  }

  static World* world_;
};
FilesTest::World* FilesTest::world_ = nullptr;

TEST_F(FilesTest, HonestFilesAreAcceptedAndEncodeToThemselves) {
  EXPECT_TRUE(open(world_->registration).ok());
  EXPECT_TRUE(verify(world_->mask, world_->proof).ok());
  EXPECT_EQ(RegistrationFile::decode(world_->registration.encode())->encode(), world_->registration.encode());
  EXPECT_EQ(ProofFile::decode(world_->proof.encode())->encode(), world_->proof.encode());
  const ModelCommitment commitment{world_->registration.digest(), {"w1", "w2"}, {{}, {}}};
  EXPECT_EQ(ModelCommitment::decode(commitment.encode())->encode(), commitment.encode());
}

TEST_F(FilesTest, NoChangedByteIsRead) {
  expect_no_flip_is_read<RegistrationFile>(world_->registration.encode());
  expect_no_flip_is_read<ProofFile>(world_->proof.encode());
  expect_no_flip_is_read<ModelCommitment>(ModelCommitment{{}, {"w1"}, {{}, {}}}.encode());
  const Bytes mask = world_->mask.serialize();
  for (size_t at = 0; at < mask.size(); ++at) {
    Bytes changed = mask;
    changed[at] ^= 1;
    EXPECT_FALSE(Mask::parse(changed).ok()) << at;
  }
}

TEST_F(FilesTest, ChangedProofsWithARightDigestAreRejected) {
  expect_flips_rejected<ProofFile>(world_->proof.encode(), world_->proof.proof.size(),
                                   [](const ProofFile& file) { return verify(world_->mask, file).ok(); });
}

TEST_F(FilesTest, ChangedRegistrationsWithARightDigestAreRejected) {
  expect_flips_rejected<RegistrationFile>(world_->registration.encode(), world_->registration.proof.size(),
                                          [](const RegistrationFile& file) { return open(file).ok(); });
}

TEST_F(FilesTest, AProofIsBoundToEveryByteOfTheMask) {
  const Bytes bytes = world_->mask.serialize();
  size_t read = 0;
  for (size_t at = 12; at < bytes.size() - 32; ++at) {
    Bytes content(bytes.begin() + 12, bytes.end() - 32);
    content[at - 12] ^= 1;
    const Result<Mask> mask = Mask::parse(frame(Mask::kKind, content));
    if (!mask) continue;
    ++read;
    // Even where the file is made to name the changed mask.
    EXPECT_FALSE(verify(*mask, world_->proof).ok()) << at;
    ProofFile file = world_->proof;
    file.mask = mask->digest();
    file.window = mask->window;
    EXPECT_FALSE(verify(*mask, file).ok()) << at;
  }
  EXPECT_GT(read, 64U);  // nonce and deployment at least
}

TEST_F(FilesTest, WhatAProofNamesIsCheckedWithATypedReason) {
  const auto reason = [](const auto& change) {
    ProofFile file = world_->proof;
    change(file);
    const Verdict verdict = verify(world_->mask, file);
    return verdict.ok() ? "accepted" : name(verdict.error().reason);
  };
  EXPECT_EQ(reason([](ProofFile& f) { f.deployment[0] ^= 1; }), "deployment");
  EXPECT_EQ(reason([](ProofFile& f) { f.registration[0] ^= 1; }), "registration");
  EXPECT_EQ(reason([](ProofFile& f) { f.mask[0] ^= 1; }), "mask");
  EXPECT_EQ(reason([](ProofFile& f) { f.window = "w2"; }), "mask");
  EXPECT_EQ(reason([](ProofFile& f) { f.model[0] ^= 1; }), "model");
  EXPECT_EQ(reason([](ProofFile& f) { f.client = "bob"; }), "client");
  EXPECT_EQ(reason([](ProofFile& f) { f.segmentation.push_back(1); }), "statement");
  EXPECT_EQ(reason([](ProofFile& f) { f.op = Operator::kMaskOnly; }), "length");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof.push_back(0); }), "length");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof[0] ^= 1; }), "version");
  EXPECT_EQ(reason([](ProofFile& f) { std::fill_n(f.proof.begin() + 8, 32, 0); }), "point");
  EXPECT_EQ(reason([](ProofFile& f) { std::fill_n(f.proof.end() - 32, 32, 255); }), "scalar");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof[f.proof.size() - 32] ^= 1; }), "equation");
}

TEST_F(FilesTest, SecretsKeepTheirHeaderAndRefuseEveryChange) {
  const Path path = world_->folder / "client/secret.zka";
  const Bytes bytes = *read_file(path, 1 << 20);
  const Result<ClientSecret> secret = read_secret_header(path);
  ASSERT_TRUE(secret.ok()) << secret.error().message;
  EXPECT_EQ(secret->client, "alice");
  EXPECT_EQ(secret->windows, std::vector<std::string>{"w1"});
  const SecretBytes header = encode_secret_header(*secret);
  const SecretBytes again = encode_secret_header(*decode_secret_header({header.data(), header.size()}));
  EXPECT_TRUE(std::ranges::equal(header, again));
  const Path changed_path = world_->folder / "changed.zka";
  for (size_t at = 0; at < bytes.size(); at += 13) {
    Bytes changed = bytes;
    changed[at] ^= 1;
    ASSERT_TRUE(write_file(changed_path, changed, {.overwrite = true}).ok());
    EXPECT_FALSE(OpenSecret::open(changed_path, world_->deployment).ok()) << at;
  }
  ASSERT_TRUE(write_file(changed_path, bytes, {.overwrite = true}).ok());
  EXPECT_TRUE(OpenSecret::open(changed_path, world_->deployment).ok());
}

}  // namespace
}  // namespace zkapex
