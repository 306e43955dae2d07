// The public files of attestation: registrations, proofs of windows, updates, and the commitment to a model that a
// verified proof leaves behind. Each is framed (magic, version, digest) and canonical: decode accepts exactly what
// encode writes.
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
  static constexpr FileKind kKind{"ZKAPEXRG", 2, "a registration"};

  Sha256::Digest deployment{};
  std::string client;
  Segmentation cut;  // of the covered rows
  Bytes proof;       // with all committed rows

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<RegistrationFile> decode(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

// One step of a client's history.
struct AppliedWindow {
  std::string window;     // its identifier
  Sha256::Digest mask{};  // what it removed
  bool operator==(const AppliedWindow&) const = default;
};
// The windows of a client since its registration, in order.
using History = std::vector<AppliedWindow>;
[[nodiscard]] bool has_applied(const History& history, std::string_view window);
void put_history(ByteWriter& out, const History& history);
[[nodiscard]] Result<History> get_history(ByteReader& in);

struct ProofFile {
  static constexpr FileKind kKind{"ZKAPEXPF", 4, "a proof of a window"};

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

// A client has learned on.
struct UpdateFile {
  static constexpr FileKind kKind{"ZKAPEXUP", 1, "an update"};

  Sha256::Digest deployment{}, registration{};
  Sha256::Digest model{};  // which commitment it goes on from: ModelCommitment::digest
  std::string client;
  bool curvature = false;  // with a new one
  Segmentation cut;        // of the covered rows
  Bytes proof;             // with all committed rows

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<UpdateFile> decode(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

// Com(θ) of a client's covered tensors at some point of its history.
struct ModelCommitment {
  static constexpr FileKind kKind{"ZKAPEXCM", 3, "a model commitment"};

  Sha256::Digest registration{};
  Sha256::Digest update{};  // the last one that led here; zeros where there was none
  History windows;          // that led here
  std::vector<EncodedPoint> rows;

  [[nodiscard]] Bytes encode() const { return frame(kKind, content()); }
  static Result<ModelCommitment> decode(ByteView file);
  [[nodiscard]] Sha256::Digest digest() const { return frame_digest(kKind, content()); }

 private:
  [[nodiscard]] Bytes content() const;
};

// What windows are verified against: a registration without its proof, with the rows that follow from it, or from the
// last update. It is the provider's own record of what it verified.
struct Registered {
  static constexpr FileKind kKind{"ZKAPEXRD", 3, "a verified registration"};

  Sha256::Digest digest{};  // of the registration file
  std::string client;
  std::vector<EncodedPoint> unchanged, curvature;
  ModelCommitment model;  // Com(θ_p) as registered or updated, without windows

  [[nodiscard]] Bytes encode() const;
  static Result<Registered> decode(ByteView file);
};

inline constexpr size_t kMaxPublicFile = size_t{1} << 31;

}  // namespace zkapex
