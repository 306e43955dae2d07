// A file that a client handed in, against what the client signed about it.
#pragma once

#include "argument/verdict.h"
#include "exchange/statement.h"

namespace zkapex {

struct SignedFor {
  std::string client;
  Sha256::Digest registration{};
  std::optional<Sha256::Digest> start = {};   // of an update or a submission
  std::optional<Sha256::Digest> update = {};  // of an update: UpdateFile::digest
  bool curvature = false;                     // with a new one
};
[[nodiscard]] SignedFor signed_for(const RegistrationNotice& notice);
[[nodiscard]] SignedFor signed_for(const UpdateNotice& notice);
[[nodiscard]] SignedFor signed_for(const SubmissionNotice& notice);

// Why a file that can be read is not the one that was signed for; none where it is, or cannot be read. Provider and
// auditors ask the same, or they would come to different verdicts on the same bytes.
[[nodiscard]] std::optional<Rejection> not_what_was_signed(StatementKind of, ByteView file, const SignedFor& said);

// An update that was accepted before is no second one.
[[nodiscard]] Rejection accepted_before();

}  // namespace zkapex
