#include "parties/admission.h"

#include "base/names.h"

namespace zkapex {

namespace {

// Fills in what is known, and says what is wrong with the file. Registered: to be added to the ledger.
Result<std::optional<Registered>, Rejection> examine(const Ledger& ledger, const RegistrationFile& file,
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
  ZKAPEX_TRY(CheckedRegistration checked, check_registration_file(ledger.deployment(), file, *settings.pool));
  const Generators generators = load_generators(checked.sum.generators(), settings);
  ZKAPEX_CHECK(verdict_var(checked.sum, generators, *settings.pool));
  return std::optional(std::move(checked.registered));
}

}  // namespace

Result<Admission> admit(const Ledger& ledger, const Result<Bytes, Rejection>& file, const WorkSettings& settings) {
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
  ZKAPEX_TRY(const std::optional<ClientRecord> present, ledger.find(out.client));
  const auto registered = examine(ledger, *decoded, present, settings, out);
  if (!registered) {
    out.rejection = registered.error();
  } else if (*registered) {
    ZKAPEX_CHECK(ledger.add(*decoded, **registered));
  }
  return out;
}

}  // namespace zkapex
