// The public files of attestation: registrations, proofs of windows, and the commitment to a model that a verified
// proof leaves behind. Each is framed (magic, version, digest) and canonical: decode accepts exactly what encode
// writes.
#pragma once

#include "argument/transcript.h"
#include "attestation/registration_plan.h"
#include "attestation/window_plan.h"
#include "base/framed.h"

namespace zkapex {

inline constexpr size_t kMaxClientName = 255;
inline constexpr uint32_t kMaxWindows = 1 << 16;  // of one client since its registration

// 1 to kMaxClientName bytes without control characters.
[[nodiscard]] Status check_client_name(std::string_view name);

struct RegistrationFile {
  static constexpr FileKind kKind{"ZKAPEXRG", 1, "a registration"};

  Sha256::Digest deployment{};
  std::string client;
  bool certificate = false;
  RegistrationCut cut;
  std::vector<EncodedPoint> unchanged;
  std::vector<EncodedPoint> curvature;  // empty with a certificate
  Bytes proof;

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<RegistrationFile> decode(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

struct ProofFile {
  static constexpr FileKind kKind{"ZKAPEXPF", 1, "a proof of a window"};

  Operator op = Operator::kGroupObs;
  Sha256::Digest deployment{}, registration{}, mask{};
  Sha256::Digest model{};  // which commitment it starts from: ModelCommitment::digest
  std::string client, window;
  Segmentation segmentation;
  Bytes proof;

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<ProofFile> decode(ByteView file);

 private:
  [[nodiscard]] Bytes content() const;
};

// Com(θ) of a client's covered tensors at some point of its history.
struct ModelCommitment {
  static constexpr FileKind kKind{"ZKAPEXCM", 1, "a model commitment"};

  Sha256::Digest registration{};
  std::vector<std::string> windows;  // that led here since the registration, in order
  std::vector<EncodedPoint> rows;

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<ModelCommitment> decode(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

// The windows of a client, as its commitment and its secret list them.
void put_windows(ByteWriter& out, const std::vector<std::string>& windows);
[[nodiscard]] Result<std::vector<std::string>> get_windows(ByteReader& in);

inline constexpr size_t kMaxPublicFile = size_t{1} << 31;

}  // namespace zkapex
