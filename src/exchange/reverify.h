// Verdicts of a log made again, with the files that they are about at hand: the same program on the same bytes, by
// somebody who does not trust the provider's.
#pragma once

#include "exchange/audit.h"
#include "parties/judge.h"
#include "parties/ledger.h"
#include "unlearning/mask.h"

namespace zkapex {

class Reverifier {
 public:
  // `files`: a folder with files under their SHA-256, as HEX or as sha256/ab/cd/HEX (the provider's blobs). `base`: θ0,
  // where the deployment has an anchor. `scratch`: a folder that is not there yet, for a ledger of one's own.
  Reverifier(Path files, Path base, Path scratch, const WorkSettings& settings)
      : files_(std::move(files)), base_path_(std::move(base)), scratch_(std::move(scratch)), settings_(settings) {}

  Reverifier(const Reverifier&) = delete;
  Reverifier& operator=(const Reverifier&) = delete;

  // The next entry of the log, and its statement. Errors are of this machine; what is wrong with the log is a finding.
  [[nodiscard]] Status add(uint64_t index, ByteView entry, const Statement& statement);

  // Updates that have no verdict yet.
  [[nodiscard]] size_t waiting() const { return updates_.size(); }
  [[nodiscard]] uint64_t verified() const { return verified_; }
  // Verdicts that could not be made again: their file, or an earlier one of the client, is not at hand.
  [[nodiscard]] uint64_t missing() const { return missing_; }
  [[nodiscard]] const std::vector<AuditFinding>& findings() const { return findings_; }

 private:
  // What came out here.
  struct Outcome {
    std::optional<Rejection> rejection;
    std::string client;
    std::optional<Sha256::Digest> next;
  };

  [[nodiscard]] Result<std::optional<Bytes>> file(const FileReference& reference, size_t most) const;
  [[nodiscard]] Status open_deployment(uint64_t index, const DeploymentNotice& notice);
  [[nodiscard]] Status keep_mask(uint64_t index, const WindowNotice& notice);
  [[nodiscard]] Status judge_again(uint64_t index, const VerdictNotice& verdict);
  [[nodiscard]] Result<std::optional<Outcome>> outcome_of(const VerdictNotice& verdict, const UpdateNotice* update,
                                                          Bytes bytes);
  void compare(uint64_t index, const VerdictNotice& verdict, const Outcome& outcome);

  Path files_, base_path_, scratch_;
  WorkSettings settings_;
  std::optional<Ledger> ledger_;
  std::optional<BaseRows> base_;
  std::map<Sha256::Digest, Mask> masks_;
  std::map<Sha256::Digest, UpdateNotice> updates_;  // that wait for their verdict, by the digests of their payloads
  std::set<std::string> lost_;                      // clients of whom something is missing
  std::vector<AuditFinding> findings_;
  uint64_t verified_ = 0, missing_ = 0;
};

}  // namespace zkapex
