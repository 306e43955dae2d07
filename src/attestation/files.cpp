#include "attestation/files.h"

#include <algorithm>

#include "base/names.h"

namespace zkapex {

namespace {

constexpr size_t kMaxParts = size_t{1} << 24;

void put_segmentation(ByteWriter& out, const Segmentation& parts) {
  out.u32(static_cast<uint32_t>(parts.size()));
  for (const uint64_t rows : parts) out.u64(rows);
}

void put_points(ByteWriter& out, const std::vector<EncodedPoint>& points) {
  out.u64(points.size());
  for (const EncodedPoint& p : points) out.raw(p);
}

// Lists are as long as the bytes that are left allow, checked before anything is allocated.
Result<Segmentation> get_segmentation(ByteReader& in) {
  ZKAPEX_TRY(const uint32_t count, in.u32());
  if (count > kMaxParts || size_t{count} * 8 > in.left())
    return error("truncated: {} parts of a cut do not fit", count);
  Segmentation out(count);
  for (uint64_t& rows : out) {
    ZKAPEX_TRY(rows, in.u64());
  }
  return out;
}

Result<std::vector<EncodedPoint>> get_points(ByteReader& in) {
  ZKAPEX_TRY(const uint64_t count, in.u64());
  if (count > in.left() / 32) return error("truncated: {} points do not fit in {} bytes", count, in.left());
  std::vector<EncodedPoint> out(count);
  for (EncodedPoint& p : out) {
    ZKAPEX_TRY(p, in.array<32>());
  }
  return out;
}

Result<Bytes> get_proof(ByteReader& in) {
  ZKAPEX_TRY(const uint64_t size, in.u64());
  if (size != in.left()) return error("the proof has {} bytes, {} are left", size, in.left());
  ZKAPEX_TRY(const ByteView bytes, in.raw(size));
  return Bytes(bytes.begin(), bytes.end());
}

void put_proof(ByteWriter& out, ByteView proof) {
  out.u64(proof.size());
  out.raw(proof);
}

}  // namespace

Status check_client_name(std::string_view name) { return check_name(name, "a client identifier"); }

bool has_applied(const History& history, std::string_view window) {
  return std::ranges::any_of(history, [&](const AppliedWindow& applied) { return applied.window == window; });
}

void put_history(ByteWriter& out, const History& history) {
  out.u32(static_cast<uint32_t>(history.size()));
  for (const AppliedWindow& applied : history) {
    out.text(applied.window);
    out.raw(applied.mask);
  }
}

Result<History> get_history(ByteReader& in) {
  ZKAPEX_TRY(const uint32_t count, in.u32());
  if (count > kMaxWindows) return error("{} windows are more than {}", count, kMaxWindows);
  History out;
  for (uint32_t k = 0; k < count; ++k) {
    AppliedWindow& applied = out.emplace_back();
    ZKAPEX_TRY(applied.window, in.text(Mask::kMaxWindow));
    ZKAPEX_TRY(applied.mask, in.array<32>());
  }
  return out;
}

Bytes RegistrationFile::content() const {
  ByteWriter out;
  out.raw(deployment);
  out.text(client);
  put_segmentation(out, cut);
  put_proof(out, proof);
  return out.take();
}

Result<RegistrationFile> RegistrationFile::decode(ByteView file) {
  ZKAPEX_TRY(const ByteView content, unframe(kKind, file));
  ByteReader in(content);
  RegistrationFile out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.client, in.text(kMaxClientName));
  ZKAPEX_CHECK(check_client_name(out.client));
  ZKAPEX_TRY(out.cut, get_segmentation(in));
  ZKAPEX_TRY(out.proof, get_proof(in));
  return out;
}

Bytes ProofFile::content() const {
  ByteWriter out;
  out.raw(deployment);
  out.raw(registration);
  out.raw(mask);
  out.raw(model);
  out.text(client);
  out.text(window);
  put_segmentation(out, segmentation);
  put_proof(out, proof);
  return out.take();
}

Result<ProofFile> ProofFile::decode(ByteView file) {
  ZKAPEX_TRY(const ByteView content, unframe(kKind, file));
  ByteReader in(content);
  ProofFile out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.registration, in.array<32>());
  ZKAPEX_TRY(out.mask, in.array<32>());
  ZKAPEX_TRY(out.model, in.array<32>());
  ZKAPEX_TRY(out.client, in.text(kMaxClientName));
  ZKAPEX_CHECK(check_client_name(out.client));
  ZKAPEX_TRY(out.window, in.text(Mask::kMaxWindow));
  ZKAPEX_CHECK(check_name(out.window, "the window identifier"));
  ZKAPEX_TRY(out.segmentation, get_segmentation(in));
  ZKAPEX_TRY(out.proof, get_proof(in));
  return out;
}

Bytes UpdateFile::content() const {
  ByteWriter out;
  out.raw(deployment);
  out.raw(registration);
  out.raw(model);
  out.text(client);
  out.u8(curvature ? 1 : 0);
  put_segmentation(out, cut);
  put_proof(out, proof);
  return out.take();
}

Result<UpdateFile> UpdateFile::decode(ByteView file) {
  ZKAPEX_TRY(const ByteView content, unframe(kKind, file));
  ByteReader in(content);
  UpdateFile out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.registration, in.array<32>());
  ZKAPEX_TRY(out.model, in.array<32>());
  ZKAPEX_TRY(out.client, in.text(kMaxClientName));
  ZKAPEX_CHECK(check_client_name(out.client));
  ZKAPEX_TRY(const uint8_t curvature, in.u8());
  if (curvature > 1) return error("an update is with a curvature or without, not {}", curvature);
  out.curvature = curvature == 1;
  ZKAPEX_TRY(out.cut, get_segmentation(in));
  ZKAPEX_TRY(out.proof, get_proof(in));
  return out;
}

Bytes ModelCommitment::content() const {
  ByteWriter out;
  out.raw(registration);
  out.raw(update);
  put_history(out, windows);
  put_points(out, rows);
  return out.take();
}

Result<ModelCommitment> ModelCommitment::decode(ByteView file) {
  ZKAPEX_TRY(const ByteView content, unframe(kKind, file));
  ByteReader in(content);
  ModelCommitment out;
  ZKAPEX_TRY(out.registration, in.array<32>());
  ZKAPEX_TRY(out.update, in.array<32>());
  ZKAPEX_TRY(out.windows, get_history(in));
  ZKAPEX_TRY(out.rows, get_points(in));
  ZKAPEX_CHECK(in.finish());
  return out;
}

Bytes Registered::encode() const {
  ByteWriter out;
  out.raw(digest);
  out.raw(model.update);
  out.text(client);
  put_points(out, unchanged);
  put_points(out, curvature);
  put_points(out, model.rows);
  return frame(kKind, out.bytes());
}

Result<Registered> Registered::decode(ByteView file) {
  ZKAPEX_TRY(const ByteView content, unframe(kKind, file));
  ByteReader in(content);
  Registered out;
  ZKAPEX_TRY(out.digest, in.array<32>());
  ZKAPEX_TRY(out.model.update, in.array<32>());
  ZKAPEX_TRY(out.client, in.text(kMaxClientName));
  ZKAPEX_TRY(out.unchanged, get_points(in));
  ZKAPEX_TRY(out.curvature, get_points(in));
  out.model.registration = out.digest;
  ZKAPEX_TRY(out.model.rows, get_points(in));
  ZKAPEX_CHECK(in.finish());
  return out;
}

}  // namespace zkapex
