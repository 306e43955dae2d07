// Who gets which code: some languages for the provider, one more for the client, divided by files.
#pragma once

#include "base/files.h"
#include "learning/dataset.h"

namespace zkapex {

// Numbers are windows of tokens; files are not cut, so sets may be a little larger.
struct CodeDeal {
  std::vector<std::string> languages;           // of the provider: folders of the data
  std::string personal_language;                // of the client
  std::string forget_language;                  // one of the provider's
  double forget_part = 0;                       // of its training windows
  int64_t train = 0, validation = 0, test = 0;  // of each language; no more to train on than there is
  int64_t personal = 0, personal_validation = 0, personal_test = 0;
};

// "train" (all languages), of which "forget" is a part of one language and "retain" the rest; "validation" and "test"
// (all languages), "forget-validation" and "forget-test" (their part in the forgotten language); "personal",
// "personal-validation" and "personal-test".
[[nodiscard]] Result<Splits> deal_code(const CodeDeal& deal, const DataSource& source, const Catalog& catalog,
                                       uint64_t seed);

// The files of these languages under `data`, by name.
[[nodiscard]] Result<std::vector<Path>> code_files(const Path& data, const std::vector<std::string>& languages);

}  // namespace zkapex
