#include "parties/admission.h"

#include "base/names.h"

namespace zkapex {

namespace {

// Fills in what is known, and says what is wrong with the file. Registered: to be added to the records.
Result<std::optional<Registered>, Rejection> examine(const Records& records, const BaseRows* base,
                                                     const RegistrationFile& file,
                                                     const std::optional<ClientRecord>& present,
                                                     const WorkSettings& settings, Admission& out) {
  if (present && present->registered.digest == out.registration) {
    out.known = true;
    return std::optional<Registered>();
  }
  if (present) {
    return Rejection{Reason::kClient,
                     fmt::format("client {} is registered already, with another registration", in_quotes(file.client))};
  }
  ZKAPEX_TRY(CheckedRegistration checked, check_registration_file(records.deployment(), base, file, *settings.pool));
  const Generators generators = load_generators(checked.sum.generators(), settings);
  ZKAPEX_CHECK(verdict_var(checked.sum, generators, *settings.pool));
  return std::optional(std::move(checked.registered));
}

}  // namespace

Result<Admission> admit(const Records& records, const BaseRows* base, const Result<Bytes, Rejection>& file,
                        const WorkSettings& settings) {
  Admission out;
  if (!file) {
    out.rejection = file.error();
    return out;
  }
  out.registration_bytes = file->size();
  const Result<RegistrationFile> decoded = RegistrationFile::decode(*file);
  if (!decoded) {
    out.rejection = Rejection{Reason::kFile, decoded.error().message};
    return out;
  }
  out.client = decoded->client;
  out.registration = decoded->digest();
  ZKAPEX_TRY(const std::optional<ClientRecord> present, records.find(out.client));
  const auto registered = examine(records, base, *decoded, present, settings, out);
  if (!registered) {
    out.rejection = registered.error();
  } else if (*registered) {
    ZKAPEX_CHECK(records.add(*decoded, **registered));
  }
  return out;
}

Result<UpdateAdmission> admit_update(const Records& records, const BaseRows* base, const Result<Bytes, Rejection>& file,
                                     const WorkSettings& settings) {
  UpdateAdmission out;
  if (!file) {
    out.rejection = file.error();
    return out;
  }
  out.update_bytes = file->size();
  const Result<UpdateFile> decoded = UpdateFile::decode(*file);
  if (!decoded) {
    out.rejection = Rejection{Reason::kFile, decoded.error().message};
    return out;
  }
  out.client = decoded->client;
  out.update = decoded->digest();
  out.curvature = decoded->curvature;
  ZKAPEX_TRY(const std::optional<ClientRecord> client, records.find(out.client));
  if (!client) {
    out.rejection = Rejection{Reason::kRegistration,
                              fmt::format("no registration of client {} was admitted", in_quotes(out.client))};
    return out;
  }
  out.registration = client->registered.digest;
  out.known = client->current.update == *out.update;
  if (out.known) return out;
  out.start = client->current.digest();
  ZKAPEX_TRY(const std::vector<KeptWindow> windows, records.windows(*client));
  auto checked = check_update_file(records.deployment(), base, *client, windows, *decoded, *settings.pool);
  Verdict verdict = Done{};
  if (checked)
    verdict = verdict_var(checked->sum, load_generators(checked->sum.generators(), settings), *settings.pool);
  if (!checked || !verdict) {
    out.rejection = checked ? verdict.error() : checked.error();
    return out;
  }
  ZKAPEX_CHECK(records.update(checked->registered, checked->next));
  out.next = checked->next.digest();
  return out;
}

}  // namespace zkapex
