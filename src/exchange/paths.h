// Where things are in the provider's HTTP interface. Identifiers in paths are hexadecimal SHA-256.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"

namespace zkapex::paths {

inline constexpr std::string_view kDeployment = "/v1/deployment";          // GET DeploymentAnswer
inline constexpr std::string_view kDeploymentFile = "/v1/deployment.zka";  // GET the file
inline constexpr std::string_view kPolicy = "/v1/policy";                  // GET the policy file that is suggested
inline constexpr std::string_view kWindows = "/v1/windows";                // GET WindowsAnswer, with an ETag
inline constexpr std::string_view kClients = "/v1/clients";                // POST EnrolmentRequest: 201, 200
inline constexpr std::string_view kRegistrations = "/v1/registrations";    // POST an envelope: 201, 200 UploadTicket
inline constexpr std::string_view kUpdates = "/v1/updates";                // the same
inline constexpr std::string_view kSubmissions = "/v1/submissions";        // the same
inline constexpr std::string_view kUploads = "/v1/uploads";                // below it PUT: 202 an upload/v1 envelope
inline constexpr std::string_view kLog = "/log";                           // below it the log's files

// GET: the file of a window, by Mask::digest.
[[nodiscard]] std::string window_file(const Sha256::Digest& mask);
// By Envelope::payload_digest of the statement that announced it.
[[nodiscard]] std::string upload(const Sha256::Digest& id);  // PUT, once or more often: the same answer
[[nodiscard]] std::string upload_state(const Sha256::Digest& id, const Sha256::Digest& file);  // PUT the same way: 200
[[nodiscard]] std::string submission(const Sha256::Digest& id);          // GET SubmissionAnswer, of all three kinds
[[nodiscard]] std::string submission_receipt(const Sha256::Digest& id);  // GET the tlog-proof of the verdict

inline constexpr std::string_view kJson = "application/json", kProblem = "application/problem+json",
                                  kBinary = "application/octet-stream", kText = "text/plain; charset=utf-8";

}  // namespace zkapex::paths
