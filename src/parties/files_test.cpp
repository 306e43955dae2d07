// The files of a whole small deployment, made as clients make them; then every byte of them changed.
#include "attestation/files.h"

#include "parties/client_testing.h"
#include "parties/secret_file.h"

namespace zkapex {
namespace {

using testing::World;

// One client that has registered and done one window, in a folder of its own.
class FilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }

  static Result<Registered, Rejection> open(const RegistrationFile& file) {
    return verify_registration_file(world_->deployment, &world_->base, file, world_->generators, world_->pool);
  }
  static Result<ModelCommitment, Rejection> verify(const Mask& mask, const ProofFile& file) {
    const Registered& registered = *world_->registered;
    return verify_window_file(world_->deployment, {registered, registered.model, {}}, mask, file, world_->generators,
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

  // With its digest made right again: every byte before the proof and some hundreds of it, at steps that meet all
  // places within a scalar or a point.
  template <class File, class Check>
  static void expect_flips_rejected(const Bytes& bytes, size_t proof_size, const Check& check) {
    const size_t head = File::kKind.magic.size() + 4;
    const Bytes content(bytes.begin() + static_cast<ptrdiff_t>(head), bytes.end() - 32);
    const size_t step = std::max<size_t>(7, proof_size / 500 | 1);
    size_t read = 0;
    for (size_t at = 0; at < content.size(); at += at < content.size() - proof_size ? 1 : step) {
      Bytes changed = content;
      changed[at] ^= static_cast<uint8_t>(1U << (at % 8));
      const Result<File> file = File::decode(frame(File::kKind, changed));
      if (!file) continue;
      ++read;
      EXPECT_EQ(file->encode(), frame(File::kKind, changed));
      EXPECT_FALSE(check(*file)) << at;
    }
    EXPECT_GE(read, proof_size / step);  // the bytes of the proof are looked at behind the file's own format
  }

  static World* world_;
};
World* FilesTest::world_ = nullptr;

TEST_F(FilesTest, HonestFilesAreAcceptedAndEncodeToThemselves) {
  EXPECT_TRUE(open(world_->registration).ok());
  EXPECT_TRUE(verify(world_->mask, world_->proof).ok());
  EXPECT_EQ(RegistrationFile::decode(world_->registration.encode())->encode(), world_->registration.encode());
  EXPECT_EQ(ProofFile::decode(world_->proof.encode())->encode(), world_->proof.encode());
  const ModelCommitment commitment{world_->registration.digest(), {}, {{"w1", {}}, {"w2", {}}}, {{}, {}}};
  EXPECT_EQ(ModelCommitment::decode(commitment.encode())->encode(), commitment.encode());
  const Registered registered = *Registered::decode(world_->registered->encode());
  EXPECT_EQ(registered.encode(), world_->registered->encode());
  EXPECT_EQ(registered.model.encode(), world_->registered->model.encode());
}

TEST_F(FilesTest, NoChangedByteIsRead) {
  expect_no_flip_is_read<RegistrationFile>(world_->registration.encode());
  expect_no_flip_is_read<ProofFile>(world_->proof.encode());
  expect_no_flip_is_read<Registered>(world_->registered->encode());
  expect_no_flip_is_read<ModelCommitment>(ModelCommitment{{}, {}, {{"w1", {}}}, {{}, {}}}.encode());
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
    const auto verdict = verify(world_->mask, file);
    return verdict.ok() ? "accepted" : name(verdict.error().reason);
  };
  EXPECT_EQ(reason([](ProofFile& f) { f.deployment[0] ^= 1; }), "deployment");
  EXPECT_EQ(reason([](ProofFile& f) { f.registration[0] ^= 1; }), "registration");
  EXPECT_EQ(reason([](ProofFile& f) { f.mask[0] ^= 1; }), "mask");
  EXPECT_EQ(reason([](ProofFile& f) { f.window = "w2"; }), "mask");
  EXPECT_EQ(reason([](ProofFile& f) { f.model[0] ^= 1; }), "model");
  EXPECT_EQ(reason([](ProofFile& f) { f.client = "bob"; }), "client");
  EXPECT_EQ(reason([](ProofFile& f) { f.segmentation.push_back(1); }), "statement");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof.push_back(0); }), "length");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof[0] ^= 1; }), "version");
  EXPECT_EQ(reason([](ProofFile& f) { std::fill_n(f.proof.begin() + 8, 32, 0); }), "point");
  EXPECT_EQ(reason([](ProofFile& f) { std::fill_n(f.proof.end() - 32, 32, 255); }), "scalar");
  EXPECT_EQ(reason([](ProofFile& f) { f.proof[f.proof.size() - 32] ^= 1; }), "equation");
}

TEST_F(FilesTest, SecretsKeepTheirHeaderAndRefuseEveryChange) {
  const Path path = world_->folder / "alice/secret.zka";
  const Bytes bytes = *read_file(path, 1 << 20);
  const Result<ClientSecret> secret = read_secret_header(path);
  ASSERT_TRUE(secret.ok()) << secret.error().message;
  EXPECT_EQ(secret->client, "alice");
  EXPECT_EQ(secret->windows, (History{{"w1", world_->mask.digest()}}));
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

// With a right digest, and yet not a secret of this deployment.
TEST_F(FilesTest, SecretsThatDoNotFitAreRefused) {
  const Path path = world_->folder / "other.zka";
  const auto written = [&](const auto& change, size_t weights) {
    ClientSecret secret = *read_secret_header(world_->folder / "alice/secret.zka");
    change(secret);
    SecretWriter writer = *SecretWriter::create(path, secret, 14, true);
    EXPECT_TRUE(writer.write(std::vector<int64_t>(weights)).ok());
    EXPECT_TRUE(writer.commit().ok());
    const Result<OpenSecret> opened = OpenSecret::open(path, world_->deployment);
    return opened.ok() ? "" : opened.error().message;
  };
  const auto says = [](const std::string& message, std::string_view what) {
    return message.find(what) != std::string::npos;
  };
  EXPECT_EQ(written([](ClientSecret&) {}, 25), "");
  EXPECT_TRUE(says(written([](ClientSecret& s) { s.deployment[0] ^= 1; }, 25), "another deployment"));
  EXPECT_TRUE(says(written([](ClientSecret&) {}, 24), "its length"));
  EXPECT_TRUE(says(written([](ClientSecret&) {}, 26), "its length"));
  EXPECT_TRUE(says(written([](ClientSecret& s) { s.rows.push_back(s.rows[0]); }, 25), "its rows"));
  EXPECT_TRUE(says(written([](ClientSecret& s) { s.model_blindings.push_back(Scalar::one()); }, 25), "its rows"));
  EXPECT_TRUE(says(written([](ClientSecret& s) { s.curvature_blindings.push_back(Scalar::one()); }, 25), "its rows"));
  EXPECT_TRUE(says(written([](ClientSecret& s) { s.uncovered_blindings.push_back(Scalar::one()); }, 25), "its rows"));

  // Not even the beginning of one.
  const auto refusal = [&](const Bytes& bytes) {
    EXPECT_TRUE(write_file(path, bytes, {.overwrite = true}).ok());
    const Result<ClientSecret> secret = read_secret_header(path);
    return secret.ok() ? "" : secret.error().message;
  };
  const auto file = [](std::string_view magic, uint32_t version, uint64_t header) {
    ByteWriter out;
    out.raw(view(magic));
    out.u32(version);
    out.u64(header);
    out.raw(sha256(out.bytes()));
    return out.take();
  };
  EXPECT_TRUE(says(refusal({}), "not a client's secret"));
  EXPECT_TRUE(says(refusal(file("ZKAPEXSD", 1, 0)), "not a client's secret"));
  EXPECT_TRUE(says(refusal(file("ZKAPEXSC", 2, 0)), "version 2"));
  EXPECT_TRUE(says(refusal(file("ZKAPEXSC", 3, 1)), "the file is truncated"));
  EXPECT_TRUE(says(refusal(file("ZKAPEXSC", 3, ~uint64_t{0})), "the file is truncated"));
  Bytes damaged = file("ZKAPEXSC", 3, 0);
  damaged.back() ^= 1;
  EXPECT_TRUE(says(refusal(damaged), "damaged"));
}

// Contents with a right digest that are not what the format says.
class MalformedContent : public ::testing::Test {
 protected:
  template <class File>
  static std::string refusal(const ByteWriter& content) {
    const Result<File> file = File::decode(frame(File::kKind, content.bytes()));
    return file.ok() ? "" : file.error().message;
  }
  // A registration up to its cut, with any of its fields changed.
  static ByteWriter registration(std::string_view client = "alice") {
    ByteWriter out;
    out.raw(Sha256::Digest{});
    out.text(client);
    return out;
  }
};

TEST_F(MalformedContent, OfARegistration) {
  const auto end = [](ByteWriter out, uint32_t parts, uint64_t proof) {
    out.u32(parts);
    out.u64(proof);
    return out;
  };
  EXPECT_EQ(refusal<RegistrationFile>(end(registration(), 0, 0)), "");
  EXPECT_NE(refusal<RegistrationFile>(end(registration(""), 0, 0)), "");
  EXPECT_NE(refusal<RegistrationFile>(end(registration("a\nb"), 0, 0)), "");
  EXPECT_NE(refusal<RegistrationFile>(end(registration("m\xff"), 0, 0)), "");
  EXPECT_NE(refusal<RegistrationFile>(end(registration(std::string(256, 'a')), 0, 0)), "");
  // Counts are compared with what is left before anything is allocated.
  EXPECT_NE(refusal<RegistrationFile>(end(registration(), 1 << 22, 0)).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal<RegistrationFile>(end(registration(), 0, 1)).find("are left"), std::string::npos);
  ByteWriter longer = end(registration(), 0, 0);
  longer.u8(0);
  EXPECT_NE(refusal<RegistrationFile>(longer).find("are left"), std::string::npos);
}

TEST_F(MalformedContent, OfAProof) {
  const auto proof = [](std::string_view client, std::string_view window, uint32_t parts, uint64_t bytes) {
    ByteWriter out;
    for (int k = 0; k < 4; ++k) out.raw(Sha256::Digest{});
    out.text(client);
    out.text(window);
    out.u32(parts);
    out.u64(bytes);
    return out;
  };
  EXPECT_EQ(refusal<ProofFile>(proof("a", "w", 0, 0)), "");
  EXPECT_NE(refusal<ProofFile>(proof(std::string(256, 'a'), "w", 0, 0)).find("over the limit"), std::string::npos);
  EXPECT_NE(refusal<ProofFile>(proof("a", std::string(256, 'w'), 0, 0)).find("over the limit"), std::string::npos);
  EXPECT_NE(refusal<ProofFile>(proof("a\n", "w", 0, 0)).find("control characters"), std::string::npos);
  EXPECT_NE(refusal<ProofFile>(proof("a", "w\x1b", 0, 0)).find("control characters"), std::string::npos);
  EXPECT_NE(refusal<ProofFile>(proof("a", "w", 1 << 22, 0)).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal<ProofFile>(proof("a", "w", 0, 1)).find("are left"), std::string::npos);
}

TEST_F(MalformedContent, OfAnUpdate) {
  const auto update = [](std::string_view client, uint8_t curvature, uint32_t parts, uint64_t bytes) {
    ByteWriter out;
    for (int k = 0; k < 3; ++k) out.raw(Sha256::Digest{});
    out.text(client);
    out.u8(curvature);
    out.u32(parts);
    out.u64(bytes);
    return out;
  };
  EXPECT_EQ(refusal<UpdateFile>(update("a", 0, 0, 0)), "");
  EXPECT_EQ(refusal<UpdateFile>(update("a", 1, 0, 0)), "");
  EXPECT_NE(refusal<UpdateFile>(update("a", 2, 0, 0)).find("with a curvature or without"), std::string::npos);
  EXPECT_NE(refusal<UpdateFile>(update("a\nb", 0, 0, 0)), "");
  EXPECT_NE(refusal<UpdateFile>(update(std::string(256, 'a'), 0, 0, 0)).find("over the limit"), std::string::npos);
  EXPECT_NE(refusal<UpdateFile>(update("a", 0, 1 << 22, 0)).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal<UpdateFile>(update("a", 0, 0, 1)).find("are left"), std::string::npos);
}

TEST_F(MalformedContent, OfASecret) {
  const auto refusal_of = [](std::string_view client, uint32_t windows, uint64_t rows, uint64_t scalars, uint8_t last,
                             uint64_t tensors = 0) {
    ByteWriter out;
    for (int k = 0; k < 3; ++k) out.raw(Sha256::Digest{});
    for (const std::string_view text : {client, std::string_view("m"), std::string_view("s")}) out.text(text);
    out.u32(windows);
    out.u64(rows);
    out.u64(tensors);
    for (uint64_t k = 0; k < std::min<uint64_t>(tensors, 2); ++k) {
      out.text("t");
      out.raw(Sha256::Digest{});
    }
    out.u64(0);
    out.u64(0);
    out.u64(scalars);
    std::array<uint8_t, 32> scalar{};
    scalar[31] = last;
    out.raw(scalar);
    const Result<ClientSecret> secret = decode_secret_header(out.bytes());
    return secret.ok() ? "" : secret.error().message;
  };
  EXPECT_EQ(refusal_of("alice", 0, 0, 1, 0), "");
  EXPECT_NE(refusal_of(std::string(256, 'a'), 0, 0, 1, 0), "");
  EXPECT_NE(refusal_of("alice", kMaxWindows + 1, 0, 1, 0).find("more than"), std::string::npos);
  EXPECT_NE(refusal_of("alice", 0, 1 << 20, 1, 0).find("do not fit"), std::string::npos);
  EXPECT_NE(refusal_of("alice", 0, 0, 1 << 20, 0).find("do not fit"), std::string::npos);
  EXPECT_EQ(refusal_of("alice", 0, 0, 1, 0, 2), "");
  EXPECT_NE(refusal_of("alice", 0, 0, 1, 0, Layout::kMaxTensors + 1).find("more than"), std::string::npos);
  EXPECT_NE(refusal_of("alice", 0, 0, 1, 255), "");  // not canonical
  EXPECT_NE(refusal_of("alice", 0, 0, 0, 0), "");    // bytes behind the last scalar
}

TEST_F(MalformedContent, OfAModelCommitment) {
  const auto commitment = [](uint32_t windows, size_t names, uint64_t points) {
    ByteWriter out;
    out.raw(Sha256::Digest{});
    out.raw(Sha256::Digest{});
    out.u32(windows);
    for (size_t k = 0; k < names; ++k) {
      out.text("");
      out.raw(Sha256::Digest{});
    }
    out.u64(points);
    return out;
  };
  EXPECT_EQ(refusal<ModelCommitment>(commitment(kMaxWindows, kMaxWindows, 0)), "");
  EXPECT_NE(refusal<ModelCommitment>(commitment(kMaxWindows + 1, kMaxWindows + 1, 0)).find("more than"),
            std::string::npos);
  EXPECT_NE(refusal<ModelCommitment>(commitment(0, 0, 1 << 20)).find("do not fit"), std::string::npos);
  ByteWriter longer = commitment(0, 0, 0);
  longer.u8(0);
  EXPECT_NE(refusal<ModelCommitment>(longer), "");
}

TEST_F(MalformedContent, OfAVerifiedRegistration) {
  const auto registered = [](uint64_t points) {
    ByteWriter out;
    out.raw(Sha256::Digest{});
    out.raw(Sha256::Digest{});
    out.text("alice");
    out.u64(points);
    out.u64(0);
    out.u64(0);
    return out;
  };
  EXPECT_EQ(refusal<Registered>(registered(0)), "");
  EXPECT_NE(refusal<Registered>(registered(1 << 20)).find("do not fit"), std::string::npos);
  ByteWriter longer = registered(0);
  longer.u8(0);
  EXPECT_NE(refusal<Registered>(longer), "");
}

}  // namespace
}  // namespace zkapex
