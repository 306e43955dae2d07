// Signed notes (C2SP signed-note): a text, an empty line, and lines of signatures; and the keys of logs and witnesses.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "log/keys.h"
#include "log/time.h"

namespace zkapex {

inline constexpr size_t kMaxNoteBytes = 65'536, kMaxNoteSignatures = 64;

using NoteKeyId = std::array<uint8_t, 4>;

struct NoteSignature {
  std::string name;
  NoteKeyId key_id{};
  Bytes signature;  // what follows the key id

  [[nodiscard]] std::string line() const;  // "— NAME base64(key id ‖ signature)\n"
};

struct Note {
  std::string text;  // with its final newline: what is signed
  std::vector<NoteSignature> signatures;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<Note> parse(std::string_view bytes);
};
// The lines that a witness answers with.
[[nodiscard]] Result<std::vector<NoteSignature>> parse_signature_lines(std::string_view lines);

// 1 to 255 bytes of UTF-8 without spaces, control characters and '+'.
[[nodiscard]] Status check_key_name(std::string_view name);

// Type 0x01 signs the text, 0x04 is a witness's cosignature with a time.
enum class NoteKeyType : uint8_t { kLog = 0x01, kWitness = 0x04 };

struct NoteKey {
  std::string name;
  NoteKeyType type;
  PublicKey key;  // Ed25519

  [[nodiscard]] static Result<NoteKey> make(std::string name, NoteKeyType type, PublicKey key);
  // "NAME+hex(key id)+base64(type ‖ key)"
  [[nodiscard]] static Result<NoteKey> parse(std::string_view vkey);
  [[nodiscard]] std::string vkey() const;
  [[nodiscard]] NoteKeyId id() const;
  bool operator==(const NoteKey&) const = default;
};

struct VerifiedSignature {
  size_t key;         // which of those that were asked about
  UnixTime time = 0;  // of a cosignature
};
// Signatures of the given keys, each key once. Other keys are ignored; a false signature of one of these condemns the
// note.
[[nodiscard]] Result<std::vector<VerifiedSignature>> verify_note(const Note& note, std::span<const NoteKey> keys);

// What a log appends to its note, and what a witness answers.
[[nodiscard]] Result<NoteSignature> sign_note(std::string_view text, const std::string& name, const SigningKey& key);
[[nodiscard]] Result<NoteSignature> cosign_note(std::string_view text, const std::string& name, const SigningKey& key,
                                                UnixTime time);

}  // namespace zkapex
