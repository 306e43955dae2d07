#include "exchange/exchange_testing.h"

namespace zkapex::testing {

namespace {

constexpr UnixTime kDay = 86'400, kStart = 1'795'000'000;

FileReference made_up_file(std::string_view text) { return {made_up_digest(text), 1000 + text.size()}; }

Successor made_up_successor(std::string_view text) {
  return {made_up_file(text), made_up_digest(fmt::format("commitment {}", text))};
}

}  // namespace

Sha256::Digest made_up_digest(std::string_view text) { return sha256(view(text)); }

DeploymentNotice sample_deployment() {
  return {.file = made_up_file("deployment file"),
          .deployment = made_up_digest("deployment"),
          .log = log_key("example.com/log", fixed_key(1)),
          .provider = fixed_key(2).public_key(),
          .certified_error = "1e-5",
          .anchored = true,
          .operators = {Operator::kGroupObs, Operator::kGuided},
          .certificate = false,
          .retention_days = 30,
          .verdict_seconds = 3600,
          .time = kStart};
}

ClientNotice sample_client(const SigningKey& key, const std::string& client) {
  return {.client = client,
          .deployment = made_up_digest("deployment"),
          .key = key.public_key(),
          .rotation = 0,
          .replaces = {}};
}

RegistrationNotice sample_registration(const std::string& client) {
  return {.file = made_up_file("registration file of " + client),
          .client = client,
          .deployment = made_up_digest("deployment"),
          .registration = made_up_digest("registration of " + client),
          .certificate = false,
          .seen = {.size = 1, .root = made_up_digest("root")}};
}

WindowNotice sample_window() {
  return {.file = made_up_file("psi file"),
          .window = "window 1",
          .deployment = made_up_digest("deployment"),
          .mask = made_up_digest("mask"),
          .predecessor = {},
          .nonce = made_up_digest("nonce"),
          .op = Operator::kGroupObs,
          .opens = kStart + kDay,
          .deadline = kStart + 8 * kDay,
          .seen = {.size = 4, .root = made_up_digest("root")}};
}

UpdateNotice sample_update() {
  return {.file = made_up_file("update file"),
          .client = kClient,
          .deployment = made_up_digest("deployment"),
          .registration = made_up_digest("registration of " + kClient),
          .update = made_up_digest("update"),
          .starts_from = made_up_digest("commitment model of " + kClient),
          .curvature = true};
}

SubmissionNotice sample_submission(const std::string& client) {
  return {.file = made_up_file("proof of " + client),
          .client = client,
          .window = "window 1",
          .deployment = made_up_digest("deployment"),
          .mask = made_up_digest("mask"),
          .registration = made_up_digest("registration of " + client),
          .starts_from = made_up_digest("commitment model of " + client)};
}

VerdictNotice sample_verdict(const RegistrationNotice& registration) {
  VerdictNotice out;
  out.of = StatementKind::kRegistration;
  out.id = sha256(registration.encode());
  out.file = registration.file;
  out.client = registration.client;
  out.deployment = registration.deployment;
  out.registration = registration.registration;
  out.certified_error = "1e-5";
  out.leads_to = made_up_successor("model of " + registration.client);
  out.version = "0.1.0";
  out.received = kStart + 100;
  out.time = kStart + 200;
  return out;
}

VerdictNotice sample_verdict(const SubmissionNotice& submission) {
  VerdictNotice out;
  out.of = StatementKind::kSubmission;
  out.id = sha256(submission.encode());
  out.file = submission.file;
  out.client = submission.client;
  out.deployment = submission.deployment;
  out.registration = submission.registration;
  out.starts_from = submission.starts_from;
  out.window = submission.window;
  out.mask = submission.mask;
  out.op = Operator::kGroupObs;
  out.certified_error = "1e-5";
  out.leads_to = made_up_successor("next model of " + submission.client);
  out.version = "0.1.0";
  out.received = kStart + 2 * kDay;
  out.time = kStart + 2 * kDay + 60;
  return out;
}

UploadNotice sample_upload() {
  return {.of = StatementKind::kSubmission,
          .id = made_up_digest("id"),
          .file = made_up_file("proof"),
          .client = kClient,
          .deployment = made_up_digest("deployment"),
          .received = kStart,
          .verdict_due = kStart + 3600};
}

}  // namespace zkapex::testing
