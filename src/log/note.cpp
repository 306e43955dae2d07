#include "log/note.h"

#include <limits>

#include "base/names.h"
#include "log/base64.h"

namespace zkapex {

namespace {

constexpr std::string_view kMark = "\u2014 ";  // begins a line of signature
constexpr size_t kTimeBytes = 8;

// The text in UTF-8, without control characters but newlines.
Status check_note_characters(std::string_view text) {
  if (!is_utf8(text)) return error("a note must be valid UTF-8");
  for (const char c : text) {
    if (static_cast<uint8_t>(c) < 0x20 && c != '\n') return error("a note has no control characters");
  }
  return Done{};
}

Result<NoteSignature> parse_signature_line(std::string_view line) {
  const Error bad = error("a signature of a note has the form '\u2014 NAME base64'");
  if (!line.starts_with(kMark)) return bad;
  line.remove_prefix(kMark.size());
  const size_t space = line.find(' ');
  if (space == line.npos) return bad;
  NoteSignature out;
  out.name = line.substr(0, space);
  ZKAPEX_CHECK(check_key_name(out.name));
  const Result<Bytes> bytes = from_base64(line.substr(space + 1));
  if (!bytes || bytes->size() <= out.key_id.size()) return bad;
  std::copy_n(bytes->begin(), out.key_id.size(), out.key_id.begin());
  out.signature.assign(bytes->begin() + static_cast<ptrdiff_t>(out.key_id.size()), bytes->end());
  return out;
}

std::string cosigned_message(uint64_t time, std::string_view text) {
  return fmt::format("cosignature/v1\ntime {}\n{}", time, text);
}

// The time of a cosignature that holds, 0 of a log's; none where the signature is false.
std::optional<UnixTime> time_of_signature(const NoteKey& key, std::string_view text, ByteView signature) {
  if (key.type == NoteKeyType::kLog) {
    return key.key.verifies(view(text), signature) ? std::optional<UnixTime>(0) : std::nullopt;
  }
  if (signature.size() < kTimeBytes) return std::nullopt;
  uint64_t time = 0;
  for (const uint8_t byte : signature.first(kTimeBytes)) time = time << 8 | byte;
  if (time > static_cast<uint64_t>(std::numeric_limits<UnixTime>::max())) return std::nullopt;
  if (!key.key.verifies(view(cosigned_message(time, text)), signature.subspan(kTimeBytes))) return std::nullopt;
  return static_cast<UnixTime>(time);
}

}  // namespace

Status check_key_name(std::string_view name) {
  ZKAPEX_CHECK(check_name(name, "the name of a key"));
  // Unicode's spaces beyond ASCII.
  constexpr std::string_view kSpaces[] = {"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                          "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                          "\u2029", "\u202f", "\u205f", "\u3000", " ",      "+"};
  for (const std::string_view space : kSpaces) {
    if (name.find(space) != name.npos) return error("the name of a key has no spaces and no plus sign");
  }
  return Done{};
}

std::string NoteSignature::line() const {
  Bytes bytes(key_id.begin(), key_id.end());
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return fmt::format("{}{} {}\n", kMark, name, to_base64(bytes));
}

std::string Note::encode() const {
  std::string out = text + "\n";
  for (const NoteSignature& signature : signatures) out += signature.line();
  return out;
}

Result<Note> Note::parse(std::string_view bytes) {
  if (bytes.size() > kMaxNoteBytes) return error("a note has at most {} bytes", kMaxNoteBytes);
  ZKAPEX_CHECK(check_note_characters(bytes));
  const size_t split = bytes.rfind("\n\n");
  if (split == bytes.npos) return error("a note is a text, an empty line and signatures");
  Note out;
  out.text = bytes.substr(0, split + 1);
  ZKAPEX_TRY(out.signatures, parse_signature_lines(bytes.substr(split + 2)));
  return out;
}

Result<std::vector<NoteSignature>> parse_signature_lines(std::string_view lines) {
  std::vector<NoteSignature> out;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (end == lines.npos) return error("a line of signature ends with a newline");
    if (out.size() == kMaxNoteSignatures) return error("a note has at most {} signatures", kMaxNoteSignatures);
    ZKAPEX_TRY(NoteSignature signature, parse_signature_line(lines.substr(0, end)));
    out.push_back(std::move(signature));
    lines.remove_prefix(end + 1);
  }
  if (out.empty()) return error("there is no signature");
  return out;
}

Result<NoteKey> NoteKey::make(std::string name, NoteKeyType type, PublicKey key) {
  ZKAPEX_CHECK(check_key_name(name));
  if (key.algorithm() != KeyAlgorithm::kEd25519) return error("notes are signed with Ed25519");
  return NoteKey{std::move(name), type, std::move(key)};
}

NoteKeyId NoteKey::id() const {
  const auto kind = static_cast<uint8_t>(type);
  Sha256 hash;
  hash.update(view(name));
  hash.update(view("\n"));
  hash.update({&kind, 1});
  hash.update(key.raw());
  const Sha256::Digest digest = hash.finish();
  NoteKeyId out;
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

std::string NoteKey::vkey() const {
  Bytes bytes{static_cast<uint8_t>(type)};
  bytes.insert(bytes.end(), key.raw().begin(), key.raw().end());
  return fmt::format("{}+{}+{}", name, to_hex(id()), to_base64(bytes));
}

Result<NoteKey> NoteKey::parse(std::string_view vkey) {
  const Error bad = error("a verifier key has the form NAME+KEYID+BASE64, of a log (type 1) or a witness (type 4)");
  const size_t first = vkey.find('+');
  const size_t second = first == vkey.npos ? first : vkey.find('+', first + 1);
  if (second == vkey.npos) return bad;
  const Result<Bytes> bytes = from_base64(vkey.substr(second + 1));
  if (!bytes || bytes->empty()) return bad;
  const auto type = static_cast<NoteKeyType>((*bytes)[0]);
  if (type != NoteKeyType::kLog && type != NoteKeyType::kWitness) return bad;
  Result<PublicKey> key = PublicKey::from_ed25519(ByteView(*bytes).subspan(1));
  if (!key) return bad;
  ZKAPEX_TRY(NoteKey out, make(std::string(vkey.substr(0, first)), type, *std::move(key)));
  if (vkey.substr(first + 1, second - first - 1) != to_hex(out.id()))
    return error("the verifier key of {} has another key id than its name and key give", in_quotes(out.name));
  return out;
}

Result<std::vector<VerifiedSignature>> verify_note(const Note& note, std::span<const NoteKey> keys) {
  std::vector<VerifiedSignature> out;
  for (size_t k = 0; k < keys.size(); ++k) {
    const NoteKeyId id = keys[k].id();
    bool found = false;
    for (const NoteSignature& signature : note.signatures) {
      if (signature.name != keys[k].name || signature.key_id != id) continue;
      const std::optional<UnixTime> time = time_of_signature(keys[k], note.text, signature.signature);
      if (!time) return error("the note has a false signature of {}", in_quotes(keys[k].name));
      if (!found) out.push_back({.key = k, .time = *time});
      found = true;
    }
  }
  return out;
}

namespace {

Result<NoteSignature> signature_line(const std::string& name, NoteKeyType type, const SigningKey& key,
                                     Bytes signature) {
  ZKAPEX_TRY(const NoteKey made, NoteKey::make(name, type, key.public_key()));
  return NoteSignature{.name = name, .key_id = made.id(), .signature = std::move(signature)};
}

}  // namespace

Result<NoteSignature> sign_note(std::string_view text, const std::string& name, const SigningKey& key) {
  ZKAPEX_TRY(Bytes signature, key.sign(view(text)));
  return signature_line(name, NoteKeyType::kLog, key, std::move(signature));
}

Result<NoteSignature> cosign_note(std::string_view text, const std::string& name, const SigningKey& key,
                                  UnixTime time) {
  const auto stamp = static_cast<uint64_t>(time);
  Bytes out;
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(stamp >> shift));
  ZKAPEX_TRY(const Bytes signature, key.sign(view(cosigned_message(stamp, text))));
  out.insert(out.end(), signature.begin(), signature.end());
  return signature_line(name, NoteKeyType::kWitness, key, std::move(out));
}

}  // namespace zkapex
