// What is found out about a batch of deliveries, and the signed statements that say so.
#pragma once

#include "exchange/statement.h"
#include "parties/work.h"
#include "service/store_records.h"

namespace zkapex {

// A job with the file that was handed in.
struct Case {
  Job job;
  Bytes file;
};

struct Finding {
  std::optional<Rejection> rejection;  // none: accepted, and the records have the change
  Digest registration{};               // RegistrationFile::digest, as the client's statement has it
  std::optional<Digest> start;         // of an update or a submission, as there
};

// In the order of the cases, which are of one kind, and of one window. An error is the provider's trouble and no
// verdict. A file counts only where it is what its client signed: the signature is on the statement.
[[nodiscard]] Result<std::vector<Finding>> examine_cases(const StoreRecords& records, const BaseRows* base,
                                                         std::span<const Case> cases,
                                                         const std::optional<WindowInfo>& window,
                                                         const WorkSettings& settings);

// The files of where an accepted delivery leads: the commitment, and what windows are verified against from then on
// where that changes.
struct Successors {
  BlobName model, record;
};
// On disk, in the order of the cases; many at a time, because each waits for the disk. Without blobs only their names:
// clients have the files.
[[nodiscard]] Result<std::vector<Successors>> keep_successors(const StoreRecords& records, Blobs* blobs,
                                                              std::span<const Case> cases,
                                                              std::span<const Finding> findings);

// With the signed verdict.
[[nodiscard]] Result<Conclusion> conclusion_of(const StoreRecords& records, const Job& job, const Finding& finding,
                                               const Successors& successors, const std::optional<WindowInfo>& window,
                                               const SigningKey& key, UnixTime now);

}  // namespace zkapex
