#include "exchange/signed_file.h"

#include "attestation/files.h"

namespace zkapex {

namespace {

SignedFor said_by(const RegistrationFile& file) { return {file.client, file.digest()}; }
SignedFor said_by(const UpdateFile& file) {
  return {file.client, file.registration, file.model, file.digest(), file.curvature};
}
SignedFor said_by(const ProofFile& file) { return {file.client, file.registration, file.model}; }

template <class File>
std::optional<Rejection> compare(ByteView bytes, const SignedFor& said) {
  const Result<File> decoded = File::decode(bytes);
  if (!decoded) return std::nullopt;
  const SignedFor own = said_by(*decoded);
  if (own.client != said.client)
    return Rejection{Reason::kClient, "the file is of another client than the one that signed for it"};
  if (own.registration != said.registration)
    return Rejection{Reason::kRegistration, "the file is under another registration than its statement says"};
  if (own.start != said.start)
    return Rejection{Reason::kModel, "the file starts from another model than its statement says"};
  if (own.update != said.update) return Rejection{Reason::kFile, "the file is another update than its statement says"};
  if (own.curvature != said.curvature)
    return Rejection{Reason::kFile, "the update's curvature is not what its statement says"};
  return std::nullopt;
}

}  // namespace

SignedFor signed_for(const RegistrationNotice& notice) { return {notice.client, notice.registration}; }
SignedFor signed_for(const UpdateNotice& notice) {
  return {notice.client, notice.registration, notice.starts_from, notice.update, notice.curvature};
}
SignedFor signed_for(const SubmissionNotice& notice) {
  return {notice.client, notice.registration, notice.starts_from};
}

std::optional<Rejection> not_what_was_signed(StatementKind of, ByteView file, const SignedFor& said) {
  if (of == StatementKind::kRegistration) return compare<RegistrationFile>(file, said);
  if (of == StatementKind::kUpdate) return compare<UpdateFile>(file, said);
  return compare<ProofFile>(file, said);
}

Rejection accepted_before() { return {Reason::kModel, "this very update was accepted before"}; }

}  // namespace zkapex
