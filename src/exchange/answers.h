// The JSON bodies of the provider's HTTP interface. Each is decoded strictly; none is believed: what counts are the
// envelopes in them, and their places in the log.
#pragma once

#include "exchange/statement.h"

namespace zkapex {

inline constexpr size_t kMaxAnswerBytes = size_t{1} << 24;

// An envelope and its place in the log, once it has one.
struct LoggedEnvelope {
  Envelope envelope;
  std::optional<uint64_t> index;
  bool operator==(const LoggedEnvelope&) const = default;
};

struct DeploymentAnswer {
  LoggedEnvelope deployment;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<DeploymentAnswer> decode(std::string_view json);
};

// All windows that are logged, oldest first.
struct WindowsAnswer {
  std::vector<LoggedEnvelope> windows;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<WindowsAnswer> decode(std::string_view json);
};

// A rotation needs no code: its text is empty.
struct EnrolmentRequest {
  static constexpr size_t kMaxCode = 128;
  std::string code;
  Envelope client;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<EnrolmentRequest> decode(std::string_view json);
};

// The client/v1 envelope with the provider's signature added.
struct EnrolmentAnswer {
  Envelope client;
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<EnrolmentAnswer> decode(std::string_view json);
};

// To a registration, an update or a submission that was announced.
struct UploadTicket {
  Sha256::Digest id{};  // Envelope::payload_digest
  std::string upload;   // where to PUT the file: a path of this server
  // Where clients carry their state: what of it is asked for, before the file. Each is put below `upload`.
  std::vector<FileReference> state = {};
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<UploadTicket> decode(std::string_view json);
};

enum class SubmissionState {
  kAnnounced,  // the file has not come yet
  kReceived,   // it waits for its verdict
  kAccepted,
  kRejected,
};
[[nodiscard]] std::string_view name(SubmissionState state);  // "announced"

struct SubmissionAnswer {
  Sha256::Digest id{};
  SubmissionState state = SubmissionState::kAnnounced;
  std::optional<LoggedEnvelope> verdict;  // of the last two states
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<SubmissionAnswer> decode(std::string_view json);
};

}  // namespace zkapex
