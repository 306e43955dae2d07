// Statements for tests: one of each kind, that fit together.
#pragma once

#include "exchange/answers.h"
#include "log/log_testing.h"

namespace zkapex::testing {

[[nodiscard]] Sha256::Digest made_up_digest(std::string_view text);
inline const std::string kClient = "0123456789abcdef0123456789abcdef";

[[nodiscard]] DeploymentNotice sample_deployment();  // log key 1, provider's key 2
[[nodiscard]] ClientNotice sample_client(const SigningKey& key = fixed_key(3), const std::string& client = kClient);
[[nodiscard]] RegistrationNotice sample_registration(const std::string& client = kClient);
[[nodiscard]] WindowNotice sample_window();
[[nodiscard]] UpdateNotice sample_update();
[[nodiscard]] SubmissionNotice sample_submission(const std::string& client = kClient);
// On that registration or submission: accepted.
[[nodiscard]] VerdictNotice sample_verdict(const RegistrationNotice& registration);
[[nodiscard]] VerdictNotice sample_verdict(const SubmissionNotice& submission);
[[nodiscard]] UploadNotice sample_upload();

}  // namespace zkapex::testing
