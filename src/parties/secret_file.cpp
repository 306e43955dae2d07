#include "parties/secret_file.h"

#include "attestation/files.h"
#include "base/file_kind.h"

namespace zkapex {

namespace {

constexpr size_t kMaxHeader = size_t{1} << 30, kMaxPath = 1 << 16, kDigest = 32;

void append(SecretBytes& out, ByteView bytes) {
  for (const uint8_t byte : bytes) out.push_back(byte);
}

void append_scalars(SecretBytes& out, const SecretVector<Scalar>& scalars) {
  ByteWriter count;
  count.u64(scalars.size());
  append(out, count.bytes());
  for (const Scalar& s : scalars) {
    auto bytes = s.to_bytes();
    append(out, bytes);
    wipe(std::span<uint8_t>(bytes));
  }
}

Result<SecretVector<Scalar>> get_scalars(ByteReader& in) {
  ZKAPEX_TRY(const uint64_t count, in.u64());
  if (count > in.left() / 32) return error("truncated: {} scalars do not fit", count);
  SecretVector<Scalar> out;
  out.reserve(count);
  for (uint64_t k = 0; k < count; ++k) {
    ZKAPEX_TRY(const ByteView bytes, in.raw(32));
    ZKAPEX_TRY(const Scalar s, Scalar::from_bytes(bytes));
    out.push_back(s);
  }
  return out;
}

Bytes prefix(size_t header_size) {
  ByteWriter out;
  out.raw(view(ClientSecret::kKind.magic));
  out.u32(ClientSecret::kKind.version);
  out.u64(header_size);
  return out.take();
}

Status check_digest(const FileReader& file) {
  constexpr size_t kPiece = size_t{1} << 20;
  Sha256 hash;
  SecretBytes piece(kPiece);
  for (uint64_t at = 0; at < file.size() - kDigest; at += kPiece) {
    const auto part = std::span(piece.data(), std::min<uint64_t>(kPiece, file.size() - kDigest - at));
    ZKAPEX_CHECK(file.read_at(at, part));
    hash.update(part);
  }
  std::array<uint8_t, kDigest> digest{};
  ZKAPEX_CHECK(file.read_at(file.size() - kDigest, digest));
  if (digest != hash.finish()) return error("the file is damaged: its digest does not match");
  return Done{};
}

// What stands before the weights, and where they begin.
struct Start {
  ClientSecret secret;
  uint64_t weights_at = 0;
};

Result<Start> read_start(const FileReader& file) {
  constexpr FileKind kKind = ClientSecret::kKind;
  Bytes fixed(prefix(0).size());
  if (file.size() < fixed.size() + kDigest) return error("this is not {} file", kKind.name);
  ZKAPEX_CHECK(file.read_at(0, fixed));
  ByteReader in(fixed);
  ZKAPEX_TRY(const ByteView magic, in.raw(kKind.magic.size()));
  if (!std::ranges::equal(magic, view(kKind.magic))) return wrong_kind(fixed, kKind.name);
  ZKAPEX_TRY(const uint32_t version, in.u32());
  if (version != kKind.version)
    return error("this is {} file of version {}; version {} is supported", kKind.name, version, kKind.version);
  ZKAPEX_TRY(const uint64_t size, in.u64());
  if (size > kMaxHeader || size > file.size() - fixed.size() - kDigest) return error("the file is truncated");
  ZKAPEX_CHECK(check_digest(file));
  SecretBytes header(size);
  ZKAPEX_CHECK(file.read_at(fixed.size(), {header.data(), header.size()}));
  ZKAPEX_TRY(ClientSecret secret, decode_secret_header({header.data(), header.size()}));
  return Start{std::move(secret), fixed.size() + size};
}

}  // namespace

SecretBytes encode_secret_header(const ClientSecret& secret) {
  ByteWriter open;
  open.raw(secret.deployment);
  open.raw(secret.registration);
  open.raw(secret.update);
  open.text(secret.client);
  open.text(secret.model_file);
  open.text(secret.store_file);
  put_history(open, secret.windows);
  open.u64(secret.rows.size());
  for (const EncodedPoint& row : secret.rows) open.raw(row);
  open.u64(secret.uncovered.size());
  for (const TensorDigest& tensor : secret.uncovered) {
    open.text(tensor.name);
    open.raw(tensor.digest);
  }
  SecretBytes out;
  append(out, open.bytes());
  append_scalars(out, secret.model_blindings);
  append_scalars(out, secret.curvature_blindings);
  append_scalars(out, secret.uncovered_blindings);
  return out;
}

Result<ClientSecret> decode_secret_header(ByteView bytes) {
  ByteReader in(bytes);
  ClientSecret out;
  ZKAPEX_TRY(out.deployment, in.array<32>());
  ZKAPEX_TRY(out.registration, in.array<32>());
  ZKAPEX_TRY(out.update, in.array<32>());
  ZKAPEX_TRY(out.client, in.text(kMaxClientName));
  ZKAPEX_TRY(out.model_file, in.text(kMaxPath));
  ZKAPEX_TRY(out.store_file, in.text(kMaxPath));
  ZKAPEX_TRY(out.windows, get_history(in));
  ZKAPEX_TRY(const uint64_t rows, in.u64());
  if (rows > in.left() / 32) return error("truncated: {} rows do not fit", rows);
  out.rows.resize(rows);
  for (EncodedPoint& row : out.rows) {
    ZKAPEX_TRY(row, in.array<32>());
  }
  ZKAPEX_TRY(const uint64_t uncovered, in.u64());
  if (uncovered > Layout::kMaxTensors) return error("more than {} tensors", Layout::kMaxTensors);
  for (uint64_t k = 0; k < uncovered; ++k) {
    TensorDigest& tensor = out.uncovered.emplace_back();
    ZKAPEX_TRY(tensor.name, in.text(Layout::kMaxName));
    ZKAPEX_TRY(tensor.digest, in.array<32>());
  }
  ZKAPEX_TRY(out.model_blindings, get_scalars(in));
  ZKAPEX_TRY(out.curvature_blindings, get_scalars(in));
  ZKAPEX_TRY(out.uncovered_blindings, get_scalars(in));
  ZKAPEX_CHECK(in.finish());
  return out;
}

Result<ClientSecret> read_secret_header(const Path& path) {
  ZKAPEX_TRY(const FileReader file, FileReader::open(path));
  Result<Start> start = read_start(file);
  if (!start) return start.error().within(path.string());
  return std::move(start->secret);
}

Result<OpenSecret> OpenSecret::open(const Path& path, const Deployment& deployment) {
  ZKAPEX_TRY(FileReader file, FileReader::open(path));
  Result<Start> start = read_start(file);
  if (!start) return start.error().within(path.string());
  const ClientSecret& secret = start->secret;
  const auto refuse = [&](std::string_view reason) { return error("{}: {}", path.string(), reason); };
  if (secret.deployment != deployment.digest()) return refuse("it belongs to another deployment");
  const Layout& layout = deployment.layout();
  const unsigned width = deployment.parameters().weights.width;
  if (file.size() != start->weights_at + layout.coordinates() * packed_bytes(width) + kDigest)
    return refuse("its length does not fit the deployment");
  if (secret.rows.size() != layout.rows() || secret.model_blindings.size() != layout.rows() ||
      secret.curvature_blindings.size() != layout.rows() * layout.geometry().stride() ||
      secret.uncovered_blindings.size() != layout.unchanged_rows()) {
    return refuse("its rows do not fit the deployment");
  }
  return OpenSecret(std::move(start->secret), std::move(file), start->weights_at, width);
}

Status OpenSecret::read(uint64_t first, std::span<int64_t> out) const {
  SecretBytes bytes(out.size() * packed_bytes(width_));
  ZKAPEX_CHECK(file_.read_at(weights_at_ + first * packed_bytes(width_), {bytes.data(), bytes.size()}));
  unpack_weights(bytes.data(), width_, out);
  return Done{};
}

Result<SecretWriter> SecretWriter::create(const Path& path, const ClientSecret& secret, unsigned width,
                                          bool overwrite) {
  ZKAPEX_TRY(FileWriter file, FileWriter::create(path, {.overwrite = overwrite, .secret = true}));
  SecretWriter out(std::move(file), width);
  const SecretBytes header = encode_secret_header(secret);
  ZKAPEX_CHECK(out.put(prefix(header.size())));
  ZKAPEX_CHECK(out.put({header.data(), header.size()}));
  return out;
}

Status SecretWriter::put(ByteView bytes) {
  hash_.update(bytes);
  return file_.write(bytes);
}

Status SecretWriter::write(std::span<const int64_t> weights) {
  SecretBytes bytes(weights.size() * packed_bytes(width_));
  pack_weights(weights, width_, bytes.data());
  return put({bytes.data(), bytes.size()});
}

Status SecretWriter::finish() {
  if (finished_) return Done{};
  const Sha256::Digest digest = hash_.finish();
  ZKAPEX_CHECK(file_.write(digest));
  ZKAPEX_CHECK(file_.flush());
  finished_ = true;
  return Done{};
}

Status SecretWriter::commit() {
  ZKAPEX_CHECK(finish());
  return file_.commit();
}

Result<SecretWriter> prepare_secret(const Path& path, const ClientSecret& secret, const Deployment& deployment,
                                    const CoordinateReader& read, bool overwrite) {
  ZKAPEX_TRY(SecretWriter writer, SecretWriter::create(path, secret, deployment.parameters().weights.width, overwrite));
  SecretVector<int64_t> theta;
  for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
    const Layout::Block block = deployment.layout().block(b);
    theta.resize(block.count);
    ZKAPEX_CHECK(read(block.first_coordinate, {theta.data(), theta.size()}));
    ZKAPEX_CHECK(writer.write({theta.data(), theta.size()}));
  }
  ZKAPEX_CHECK(writer.finish());
  return writer;
}

}  // namespace zkapex
