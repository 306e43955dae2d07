// What a verifier trusts: logs, witnesses, and how many of these must have seen a checkpoint (C2SP tlog-policy).
#pragma once

#include <optional>

#include "log/checkpoint.h"

namespace zkapex {

class Policy {
 public:
  static constexpr size_t kMaxFileBytes = 65'536, kMaxItems = 64;  // logs, witnesses and groups, each

  struct Log {
    NoteKey key;
    std::string url;  // empty where none is given
  };
  struct Witness {
    std::string name;  // in this file only
    NoteKey key;
    std::string url;
  };

  // Lines `log VKEY [URL]`, `witness NAME VKEY [URL]`, `group NAME all|any|K MEMBER…`, `quorum NAME|none`.
  [[nodiscard]] static Result<Policy> parse(std::string_view text);
  [[nodiscard]] static Result<Policy> read(const Path& file);
  // One log and no witnesses.
  [[nodiscard]] static Policy of_log(const NoteKey& log, std::string url = {});
  [[nodiscard]] std::string text() const;

  [[nodiscard]] const std::vector<Log>& logs() const { return logs_; }
  [[nodiscard]] const std::vector<Witness>& witnesses() const { return witnesses_; }

  struct Opened {
    TreeHead checkpoint;
    size_t log;                              // which of logs()
    std::vector<VerifiedSignature> seen_by;  // of witnesses()
  };
  // The note is a checkpoint of one of the logs, and as many witnesses as the quorum asks for have cosigned it.
  [[nodiscard]] Result<Opened> open(const Note& note) const;
  // Whether these witnesses are enough.
  [[nodiscard]] bool enough(std::span<const VerifiedSignature> seen_by) const;

 private:
  friend class PolicyReader;

  // A witness, or a group of what was named before it.
  struct Member {
    std::string name;
    std::optional<size_t> witness;  // which
    size_t threshold = 0;           // of a group: so many of its members
    std::vector<size_t> members;
  };

  std::vector<Log> logs_;
  std::vector<Witness> witnesses_;
  std::vector<Member> members_;   // in the order of the file
  std::optional<size_t> quorum_;  // which member; none: no cosignature is needed
};

}  // namespace zkapex
