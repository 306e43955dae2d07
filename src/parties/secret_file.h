// What a client keeps to itself between windows: its weights as integers and what opens its commitments.
//
//   magic, version │ header │ weights │ SHA-256 of all before
#pragma once

#include "argument/transcript.h"
#include "attestation/files.h"
#include "base/files.h"
#include "base/framed.h"
#include "base/secret.h"
#include "parties/uncovered.h"
#include "unlearning/deployment.h"
#include "weights/packed_weights.h"

namespace zkapex {

struct ClientSecret {
  static constexpr FileKind kKind{"ZKAPEXSC", 3, "a client's secret state"};

  Sha256::Digest deployment{}, registration{};
  Sha256::Digest update{};  // the last one that was accepted; zeros where there was none
  std::string client;
  std::string model_file, store_file;  // where the checkpoint and the curvature store are
  History windows;                     // applied so far
  std::vector<EncodedPoint> rows;      // Com(θ), covered tensors
  SecretVector<Scalar> model_blindings, curvature_blindings, uncovered_blindings;
  std::vector<TensorDigest> uncovered;  // of the registered or updated checkpoint
};

// What stands before the weights.
[[nodiscard]] SecretBytes encode_secret_header(const ClientSecret& secret);
[[nodiscard]] Result<ClientSecret> decode_secret_header(ByteView bytes);
// Of a file whose digest holds, whatever deployment it belongs to.
[[nodiscard]] Result<ClientSecret> read_secret_header(const Path& path);

// The secret with its weights left on disk, read in pieces.
class OpenSecret {
 public:
  // Checks the digest of the whole file, and that it belongs to the deployment.
  static Result<OpenSecret> open(const Path& path, const Deployment& deployment);

  [[nodiscard]] const ClientSecret& secret() const { return secret_; }
  // Coordinates first .. first + out.size() − 1. From any thread.
  Status read(uint64_t first, std::span<int64_t> out) const;

 private:
  OpenSecret(ClientSecret secret, FileReader file, uint64_t weights_at, unsigned width)
      : secret_(std::move(secret)), file_(std::move(file)), weights_at_(weights_at), width_(width) {}

  ClientSecret secret_;
  FileReader file_;
  uint64_t weights_at_;
  unsigned width_;
};

// A file being written: everything before the weights first, then the weights in order, then the digest.
class SecretWriter {
 public:
  static Result<SecretWriter> create(const Path& path, const ClientSecret& secret, unsigned width, bool overwrite);
  Status write(std::span<const int64_t> weights);
  // After the last weight; then `commit` needs no more room on the disk.
  Status finish();
  // Nothing is there under the name before this.
  Status commit();

 private:
  SecretWriter(FileWriter file, unsigned width) : file_(std::move(file)), width_(width) {}
  Status put(ByteView bytes);

  FileWriter file_;
  unsigned width_;
  Sha256 hash_;
  bool finished_ = false;
};

// All of it on disk: what is left is to commit.
[[nodiscard]] Result<SecretWriter> prepare_secret(const Path& path, const ClientSecret& secret,
                                                  const Deployment& deployment, const CoordinateReader& read,
                                                  bool overwrite);

}  // namespace zkapex
